/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd-end DEED [ARG...]: ends in ways by which one end looks like another: a signal that is passed on, a fault behind an exit
 * code, a SIGKILL that no process sent on purpose.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SURVIVED 99

static void fault(void)
{
	*(volatile int *)(uintptr_t)16 = 1;
}

/* as COMMAND [ARG...]: runs it, and ends by the signal that ended it. */
static int deed_as(char **argv)
{
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return SURVIVED;
	signal(WTERMSIG(status), SIG_DFL);
	kill(getpid(), WTERMSIG(status));
	return SURVIVED;
}

/* hold MIB COMMAND [ARG...]: the same, while it holds much memory itself. */
static int deed_hold(char **argv)
{
	size_t size = strtoul(argv[0], NULL, 10) << 20;
	char *memory = malloc(size);

	if (!memory)
		return SURVIVED;
	memset(memory, 1, size);
	sleep(1);
	return deed_as(argv + 1) + memory[size / 2] - 1;
}

/* apart COMMAND [ARG...]: runs it as the init of a PID namespace that sees its own /proc, and passes its end on as a shell does. */
static int deed_apart(char **argv)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return SURVIVED;
	pid = fork();
	if (pid == 0) {
		if (mount("proc", "/proc", "proc", 0, NULL) == 0)
			execvp(argv[0], argv);
		_exit(127);
	}
	if (waitpid(pid, &status, 0) != pid)
		return SURVIVED;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static volatile pid_t main_child;

static void pass_on(int signo)
{
	if (main_child > 0)
		kill(main_child, signo);
}

/* init COMMAND [ARG...]: runs it as init programs of containers do: passes signals on, adopts orphans, and exits as a shell does. */
static int deed_init(char **argv)
{
	static const int passed[] = { SIGTERM, SIGINT, SIGHUP, SIGQUIT };
	int status;
	pid_t pid;

	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	for (size_t i = 0; i < sizeof(passed) / sizeof(*passed); i++)
		signal(passed[i], pass_on);
	main_child = fork();
	if (main_child == 0) {
		execvp(argv[0], argv);
		_exit(127);
	}
	do
		pid = wait(&status);
	while (pid > 0 && pid != main_child);
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static void leave_like_a_shell(int signo)
{
	_exit(128 + signo);
}

/* A handler that tells of its fault by the exit code of a shell. */
static int deed_code(char **argv)
{
	(void)argv;
	signal(SIGSEGV, leave_like_a_shell);
	fault();
	return SURVIVED;
}

/* A fault while its signal is blocked: the kernel unblocks it, and no handler is called. */
static int deed_blocked(char **argv)
{
	sigset_t set;

	(void)argv;
	signal(SIGSEGV, leave_like_a_shell);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fault();
	return SURVIVED;
}

static void fault_again(int signo)
{
	(void)signo;
	fault();
}

static int deed_twice(char **argv)
{
	(void)argv;
	signal(SIGSEGV, fault_again);
	fault();
	return SURVIVED;
}

/* A tracer ends, and the kernel sends SIGKILL to whom it traced. */
static int deed_tracer(char **argv)
{
	pid_t self = getpid(), tracer;

	(void)argv;
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	tracer = fork();
	if (tracer == 0)
		_exit(ptrace(PTRACE_SEIZE, self, NULL, PTRACE_O_EXITKILL) < 0);
	for (;;)
		pause();
}

static void *kill_thread(void *arg)
{
	syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), SIGKILL);
	return arg;
}

/* SIGKILL to one thread ends all of them. */
static int deed_thread(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, kill_thread, NULL) != 0)
		return SURVIVED;
	for (;;)
		pause();
}

static const struct {
	const char *name;
	int (*run)(char **argv);
} deeds[] = {
	{ "as", deed_as }, { "hold", deed_hold }, { "apart", deed_apart }, { "code", deed_code }, { "blocked", deed_blocked },
	{ "twice", deed_twice }, { "tracer", deed_tracer }, { "thread", deed_thread }, { "init", deed_init },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(argv[1], deeds[i].name) == 0)
			return deeds[i].run(argv + 2);
	fprintf(stderr, "odd-end: no such deed: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
