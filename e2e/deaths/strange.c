/* SPDX-License-Identifier: Apache-2.0 */
/*
 * strange DEED [ARG...]: ends by a signal that only the kernel sends, in a thread or in a signal
 * handler, or by using up memory that belongs to no process.
 */
#include <fcntl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SURVIVED 99
#define MIB ((size_t)1024 * 1024)

static void fault(void)
{
	*(volatile int *)(uintptr_t)16 = 1;
}

static void *abort_later(void *arg)
{
	usleep(300000);
	abort();
	return arg;
}

/* The first thread ends, and the process lives on in another one, which aborts. */
static int deed_leaderless_abort(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, abort_later, NULL) != 0)
		return SURVIVED;
	syscall(SYS_exit, 0);
	return SURVIVED;
}

static void abort_on(int signo)
{
	(void)signo;
	abort();
}

static int deed_handler_abort(char **argv)
{
	(void)argv;
	signal(SIGSEGV, abort_on);
	fault();
	return SURVIVED;
}

static int use_stack(int depth)
{
	volatile char page[4096];

	page[0] = (char)depth;
	return use_stack(depth + 1) + page[0];
}

static void *overflow(void *arg)
{
	(void)arg;
	return (void *)(uintptr_t)use_stack(0);
}

static int deed_thread_stack(char **argv)
{
	pthread_t thread;

	(void)argv;
	if (pthread_create(&thread, NULL, overflow, NULL) == 0)
		pthread_join(thread, NULL);
	return SURVIVED;
}

static int fault_at_once(void *arg)
{
	(void)arg;
	fault();
	return 0;
}

/*
 * A child that shares its parent's memory, as after vfork, crashes before it calls exec. The parent
 * then exits with 3.
 */
static int deed_vfork_crash(char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	int status;
	pid_t pid =
		clone(fault_at_once, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	(void)argv;
	return pid > 0 && waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 3 : SURVIVED;
}

/*
 * In seccomp's strict mode the kernel sends SIGKILL to a process that makes any system call but
 * read, write and exit.
 */
static int deed_strict(char **argv)
{
	(void)argv;
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	syscall(SYS_getppid);
	return SURVIVED;
}

/* rttime SOFT_US HARD_US: the limit on the time that a real-time process runs without a break. */
static int deed_rttime(char **argv)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct rlimit limit = { strtoul(argv[0], NULL, 10), strtoul(argv[1], NULL, 10) };
	volatile int spins = 0;

	if (limit.rlim_cur < limit.rlim_max)
		signal(SIGXCPU, SIG_IGN);
	if (setrlimit(RLIMIT_RTTIME, &limit) < 0 || sched_setscheduler(0, SCHED_FIFO, &first) < 0)
		return SURVIVED;
	while (spins >= 0)
		spins = 1 - spins;
	return SURVIVED;
}

/* A pipe tells by SIGIO that it can be read, as it was asked to: nobody sent it. */
static int deed_sigio(char **argv)
{
	int ends[2];

	(void)argv;
	if (pipe(ends) < 0 || fcntl(ends[0], F_SETOWN, getpid()) < 0 ||
	    fcntl(ends[0], F_SETFL, O_ASYNC) < 0)
		return SURVIVED;
	if (write(ends[1], "x", 1) != 1)
		return SURVIVED;
	sleep(5);
	return SURVIVED;
}

/* timer SIGNO: its own timer, which runs out. */
static int deed_timer(char **argv)
{
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL,
				  .sigev_signo = (int)strtol(argv[0], NULL, 10) };
	const struct itimerspec soon = { .it_value.tv_nsec = 100000000 };
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &event, &timer) < 0 ||
	    timer_settime(timer, 0, &soon, NULL) < 0)
		return SURVIVED;
	sleep(5);
	return SURVIVED;
}

/* Its terminal goes away. */
static int deed_hangup(char **argv)
{
	int master, slave;
	pid_t pid;

	(void)argv;
	/* The leader of a process group cannot begin a session. */
	if (getpgrp() == getpid()) {
		int status;

		pid = fork();
		if (pid != 0)
			return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ?
				       128 + WTERMSIG(status) :
				       SURVIVED;
	}
	setsid();
	master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
		return SURVIVED;
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	if (slave < 0 || ioctl(slave, TIOCSCTTY, 0) < 0)
		return SURVIVED;
	close(master);
	sleep(5);
	return SURVIVED;
}

/* A huge page of a machine that has none. */
static int deed_huge(char **argv)
{
	char *page = mmap(NULL, 2 * MIB, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	(void)argv;
	if (page == MAP_FAILED)
		return SURVIVED;
	page[0] = 1;
	return SURVIVED;
}

/*
 * locked-file FILE: maps a file and locks it, as programs do that load a model: page cache that
 * cannot be taken back.
 */
static int deed_locked_file(char **argv)
{
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };
	int fd = open(argv[0], O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	char *map;

	setrlimit(RLIMIT_MEMLOCK, &all);
	map = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || map == MAP_FAILED)
		return SURVIVED;
	/* Some at a time: what is locked already is what samples see. */
	for (off_t at = 0; at < size; at += (off_t)MIB) {
		mlock(map + at, MIB);
		usleep(20000);
	}
	sleep(5);
	return SURVIVED;
}

/*
 * traced COMMAND [ARG...]: its child traces it and becomes COMMAND, and the kernel is to end whom
 * it traces at its end.
 */
static int deed_traced(char **argv)
{
	pid_t self = getpid();

	if (fork() == 0) {
		if (ptrace(PTRACE_SEIZE, self, 0, PTRACE_O_EXITKILL) < 0)
			_exit(SURVIVED);
		execvp(argv[0], argv);
		_exit(SURVIVED);
	}
	sleep(20);
	return SURVIVED;
}

static void write_to(const char *directory, const char *file, const char *text)
{
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", directory, file);
	fd = open(path, O_WRONLY);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		_exit(SURVIVED);
	close(fd);
}

static void use(size_t size)
{
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory != MAP_FAILED)
		memset(memory, 1, size);
}

static int wait_elsewhere(void *arg)
{
	write_to(arg, "cgroup.procs", "0");
	for (;;)
		pause();
	return 0;
}

/*
 * elsewhere CGROUP: a child in another cgroup that has its parent's memory, as between vfork and
 * exec. It is the first one to be taken.
 */
static int deed_elsewhere(char **argv)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t pid;

	write_to("/proc/self", "oom_score_adj", "1000");
	use(20 * MIB);
	pid = clone(wait_elsewhere, stack + sizeof(stack), CLONE_VM | SIGCHLD, argv[0]);
	if (pid < 0)
		return SURVIVED;
	printf("neighbour %d\n", (int)pid);
	fflush(stdout);
	sleep(20);
	return SURVIVED;
}

static const struct {
	const char *name;
	int (*run)(char **argv);
	int args;
} deeds[] = {
	{ "leaderless-abort", deed_leaderless_abort, 0 },
	{ "handler-abort", deed_handler_abort, 0 },
	{ "thread-stack", deed_thread_stack, 0 },
	{ "vfork-crash", deed_vfork_crash, 0 },
	{ "strict", deed_strict, 0 },
	{ "rttime", deed_rttime, 2 },
	{ "sigio", deed_sigio, 0 },
	{ "timer", deed_timer, 1 },
	{ "hangup", deed_hangup, 0 },
	{ "huge", deed_huge, 0 },
	{ "locked-file", deed_locked_file, 1 },
	{ "traced", deed_traced, 1 },
	{ "elsewhere", deed_elsewhere, 1 },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(argv[1], deeds[i].name) == 0 && argc - 2 >= deeds[i].args)
			return deeds[i].run(argv + 2);
	fprintf(stderr, "strange: no such deed: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
