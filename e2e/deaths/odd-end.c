/* SPDX-License-Identifier: Apache-2.0 */
/*
 * odd-end DEED [ARG...] ends in ways that look like another end: it passes a signal on, hides a
 * fault behind an exit code, or gets a SIGKILL that no process meant for it.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

/* as COMMAND [ARG...]: runs the command, and ends by the same signal as the command. */
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

/* hold MIB COMMAND [ARG...]: does the same while it holds much memory itself. */
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

/*
 * apart COMMAND [ARG...]: runs the command as the init of a PID namespace with its own /proc, and
 * exits as a shell does after it.
 */
static int deed_apart(char **argv)
{
	int status;
	pid_t pid;

	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
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

/*
 * init COMMAND [ARG...]: runs the command as the init programs of containers do: it passes signals
 * on, adopts orphans, and exits as a shell does.
 */
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

/* code: catches its fault in a handler, and exits with the code that a shell would use. */
static int deed_code(char **argv)
{
	(void)argv;
	signal(SIGSEGV, leave_like_a_shell);
	fault();
	return SURVIVED;
}

/*
 * blocked: causes a fault while its signal is blocked. The kernel unblocks the signal and calls no
 * handler.
 */
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

/* tracer: a tracer ends, and the kernel sends SIGKILL to the process that it traced. */
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

/* thread: sends SIGKILL to one thread, which ends all threads. */
static int deed_thread(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, kill_thread, NULL) != 0)
		return SURVIVED;
	for (;;)
		pause();
}

/*
 * Allocates memory and writes to it. A fork shares it with its child until one of them writes to it
 * again.
 */
static char *use(size_t mib, int flags)
{
	char *memory = mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		_exit(SURVIVED);
	memset(memory, 1, mib << 20);
	return memory;
}

/* Ends as the child did: by the same signal, or as a shell does. */
static int end_like(pid_t child, bool by_signal)
{
	int status;

	if (waitpid(child, &status, 0) != child || !WIFSIGNALED(status))
		return SURVIVED;
	if (by_signal)
		kill(getpid(), WTERMSIG(status));
	return 128 + WTERMSIG(status);
}

static int grow_in_child(char **argv, int flags, bool by_signal)
{
	size_t mib = strtoul(argv[0], NULL, 10), more = strtoul(argv[1], NULL, 10);
	volatile char *memory = use(mib, flags);
	pid_t child;
	int seen = 0;

	/* So much time is for a sample of the parent alone. */
	if (argv[2])
		usleep((useconds_t)strtoul(argv[2], NULL, 10) * 1000);
	child = fork();
	if (child == 0) {
		/* Shared memory counts for a process only when that has touched it. */
		for (size_t at = 0; at < mib << 20; at += 4096)
			seen += memory[at];
		use(more, MAP_PRIVATE);
		_exit(seen == 0);
	}
	return end_like(child, by_signal);
}

/*
 * fork MIB MORE [MS]: the child shares those MIB, and uses MORE. The parent ends by the child's
 * signal.
 */
static int deed_fork(char **argv)
{
	return grow_in_child(argv, MAP_PRIVATE, true);
}

/* fork-code: does the same, but the parent exits as a shell does. */
static int deed_fork_code(char **argv)
{
	return grow_in_child(argv, MAP_PRIVATE, false);
}

/* map MIB MORE [MS]: does the same with a mapping that both share for ever. */
static int deed_map(char **argv)
{
	return grow_in_child(argv, MAP_SHARED, true);
}

static pid_t child_of_thread;

static void *fork_and_leave(void *arg)
{
	child_of_thread = fork();
	if (child_of_thread == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	usleep(300000);
	return arg;
}

/*
 * thread-parent: a child asked to be killed with its parent. It is killed when the thread ends that
 * forked it.
 */
static int deed_thread_parent(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, fork_and_leave, NULL) != 0)
		return SURVIVED;
	pthread_join(thread, NULL);
	return end_like(child_of_thread, false);
}

static const struct {
	const char *name;
	int (*run)(char **argv);
	/* clang-format off */
} deeds[] = {
	{ "as", deed_as }, { "hold", deed_hold }, { "apart", deed_apart }, { "code", deed_code }, { "blocked", deed_blocked },
	{ "twice", deed_twice }, { "tracer", deed_tracer }, { "thread", deed_thread }, { "init", deed_init },
	{ "fork", deed_fork }, { "fork-code", deed_fork_code }, { "map", deed_map },
	{ "thread-parent", deed_thread_parent },
};
/* clang-format on */

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(argv[1], deeds[i].name) == 0)
			return deeds[i].run(argv + 2);
	fprintf(stderr, "odd-end: no such deed: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
