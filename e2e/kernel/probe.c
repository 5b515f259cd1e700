/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe DEED [ARG...]: a command that dies, or tells what it was given, in one
 * exact way. Static, and signals by raw system call: a C library hides the ones
 * that it keeps to itself (32 to 34).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static void mask_all(int how)
{
	uint64_t all = ~(uint64_t)0;

	syscall(SYS_rt_sigprocmask, how, &all, NULL, sizeof(all));
}

static void wait_for_eof(void)
{
	char c;

	while (read(STDIN_FILENO, &c, 1) > 0)
		;
}

/* signal N: sends it to itself. 99 when it survives. */
static int deed_signal(int signo)
{
	/* A shell's background job, or nohup, has handed some down as ignored. */
	signal(signo, SIG_DFL);
	mask_all(SIG_UNBLOCK);
	syscall(SYS_kill, getpid(), signo);
	return 99;
}

#if defined(__aarch64__)
#define ILLEGAL "udf #0"
#define BREAKPOINT "brk #0"
#else
#define ILLEGAL "ud2"
#define BREAKPOINT "int3"
#endif

/* Faults that the processor raises, not kill(2). An arm64 processor divides by zero without one. */
static int deed_fault(const char *kind)
{
	static volatile int zero;

	if (strcmp(kind, "segv") == 0)
		*(volatile int *)(uintptr_t)16 = 1;
	else if (strcmp(kind, "fpe") == 0)
		zero = 7 / zero;
	else if (strcmp(kind, "ill") == 0)
		__asm__ volatile(ILLEGAL);
	else if (strcmp(kind, "trap") == 0)
		__asm__ volatile(BREAKPOINT);
	else if (strcmp(kind, "bus") == 0) {
		int fd = (int)syscall(SYS_memfd_create, "empty", 0);
		volatile char *beyond = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);

		return *beyond;
	}
	return 99;
}

/* record LAST: prints the number of each signal that arrives; exits 0 after LAST. */
static int deed_record(int last)
{
	uint64_t all = ~(uint64_t)0;

	mask_all(SIG_BLOCK);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		int signo = (int)syscall(SYS_rt_sigtimedwait, &all, NULL, NULL, sizeof(all));

		if (signo < 0)
			continue;
		printf("%d\n", signo);
		fflush(stdout);
		if (signo == last)
			return 0;
	}
}

/* fds: the open descriptors, but for the one that reads them. */
static int deed_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	struct dirent *entry;

	if (!dir)
		return 1;
	while ((entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strtol(entry->d_name, NULL, 10) != dirfd(dir))
			printf("%s ", entry->d_name);
	return 0;
}

/* strings LIST: each with a line end, so that empty ones and blanks show. */
static int deed_strings(char **list)
{
	while (*list)
		printf("<%s>\n", *list++);
	return 0;
}

/* status: the signal masks, from the kernel. */
static int deed_status(void)
{
	char line[256];
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "SigBlk", 6) == 0 || strncmp(line, "SigIgn", 6) == 0)
			fputs(line, stdout);
	return f ? 0 : 1;
}

#define TAKEN 7
#define NOT_TAKEN 3

static void on_signal(int signo)
{
	(void)signo;
	_exit(TAKEN);
}

/* Handlers for all signals that allow one. */
static void handle_all(void)
{
	for (int signo = 1; signo <= 31; signo++)
		signal(signo, on_signal);
}

/* Waits for all signals but SIGUSR2, or for SIGUSR2 alone, as tini does: again and again. */
static int wait_in_sigwait(bool others)
{
	const uint64_t usr2 = (uint64_t)1 << (SIGUSR2 - 1), set = others ? usr2 : ~usr2;
	const struct timespec moment = { .tv_nsec = 20000000 };
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &set, NULL, sizeof(set));
	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 0) == 0)
		if (syscall(SYS_rt_sigtimedwait, &set, NULL, &moment, sizeof(set)) > 0)
			return TAKEN;
	return NOT_TAKEN;
}

static int wait_at_signalfd(void)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN }, { .events = POLLIN } };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	fds[1].fd = signalfd(-1, &all, 0);
	puts("ready");
	fflush(stdout);
	poll(fds, 2, -1);
	return fds[1].revents ? TAKEN : NOT_TAKEN;
}

/* Blocks all signals now and then for a moment, as a shell does around fork(2). */
static int block_for_moments(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	puts("ready");
	fflush(stdout);
	while (poll(&in, 1, 0) == 0) {
		mask_all(SIG_BLOCK);
		usleep(2000);
		mask_all(SIG_UNBLOCK);
		usleep(4000);
	}
	return NOT_TAKEN;
}

static void *take_one(void *arg)
{
	uint64_t all = ~(uint64_t)0;

	(void)arg;
	while (syscall(SYS_rt_sigtimedwait, &all, NULL, NULL, sizeof(all)) < 0)
		;
	_exit(TAKEN);
}

/* take WAY: exits with TAKEN when a signal arrives, with NOT_TAKEN at the end of its input. */
static int deed_take(const char *way)
{
	pthread_t thread;

	if (strcmp(way, "sigwait") == 0 || strcmp(way, "others") == 0)
		return wait_in_sigwait(way[0] == 'o');
	if (strcmp(way, "signalfd") == 0)
		return wait_at_signalfd();
	if (strcmp(way, "moments") == 0)
		return block_for_moments();
	if (strcmp(way, "handler") == 0)
		handle_all();
	if (strcmp(way, "thread") == 0) {
		mask_all(SIG_BLOCK);
		pthread_create(&thread, NULL, take_one, NULL);
	}
	puts("ready");
	fflush(stdout);
	wait_for_eof();
	if (strcmp(way, "late") == 0) {
		handle_all();
		usleep(50000);
	}
	return NOT_TAKEN;
}

static int deed_session(void)
{
	printf("%s of its session and %s\n", getsid(0) == getpid() ? "leader" : "member",
	       getpgrp() == getpid() ? "group" : "in a group");
	return 0;
}

static int deed_cat(void)
{
	char buffer[4096];
	ssize_t n;

	while ((n = read(STDIN_FILENO, buffer, sizeof(buffer))) > 0)
		if (write(STDOUT_FILENO, buffer, (size_t)n) < 0)
			return 1;
	return 0;
}

/* orphans N: leaves N grandchildren to whoever adopts them, then waits for the end of its stdin. */
static int deed_orphans(long n)
{
	for (long i = 0; i < n; i++) {
		pid_t child = fork();

		if (child == 0) {
			if (fork() == 0)
				usleep(20000);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	printf("ready\n");
	fflush(stdout);
	wait_for_eof();
	return 0;
}

/* family N: N children that stay, deaf to all but SIGKILL; their parent stays too. */
_Noreturn static void deed_family(long n)
{
	mask_all(SIG_BLOCK);
	for (long i = 0; i < n; i++)
		if (fork() == 0)
			for (;;)
				pause();
	printf("ready\n");
	fflush(stdout);
	for (;;)
		pause();
}

/*
 * old-kernel COMMAND...: COMMAND, and whatever it starts, without the system calls that Linux 4.18
 * does not have.
 */
static int deed_old_kernel(char **command)
{
	/* The kernel's struct sock_filter and sock_fprog; musl has no headers of the kernel's. */
	static const struct {
		uint16_t code;
		uint8_t if_true, if_false;
		uint32_t k;
	} filter[] = {
		{ 0x20, 0, 0, 0 }, /* load the call's number */
		/* at least 424: pidfd_send_signal, of 5.1. openat2 is 437, of 5.6 */
		{ 0x35, 0, 1, 424 },
		{ 0x06, 0, 0, 0x00050000 | ENOSYS },
		{ 0x06, 0, 0, 0x7fff0000 }, /* allowed */
	};
	const struct {
		unsigned short len;
		const void *filter;
	} program = { sizeof(filter) / sizeof(*filter), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, 2, &program) < 0)
		return 99;
	execvp(command[0], command);
	return 98;
}

/* user COMMAND...: runs it as another user, as gosu does. */
static int deed_user(char **command)
{
	/* That user may not be allowed to enter the directory of the program. */
	int program = open(command[0], O_RDONLY | O_CLOEXEC);

	if (program < 0 || setgroups(0, NULL) < 0 || setgid(4712) < 0 || setuid(4711) < 0)
		return 99;
	fexecve(program, command, environ);
	return 98;
}

int main(int argc, char **argv)
{
	const char *deed = argc > 1 ? argv[1] : "", *arg = argc > 2 ? argv[2] : "";
	long n = strtol(arg, NULL, 10);

	if (strcmp(deed, "exit") == 0)
		return (int)n;
	if (strcmp(deed, "signal") == 0)
		return deed_signal((int)n);
	if (strcmp(deed, "fault") == 0)
		return deed_fault(arg);
	if (strcmp(deed, "abort") == 0)
		abort();
	if (strcmp(deed, "record") == 0)
		return deed_record((int)n);
	if (strcmp(deed, "take") == 0)
		return deed_take(arg);
	if (strcmp(deed, "session") == 0)
		return deed_session();
	if (strcmp(deed, "fds") == 0)
		return deed_fds();
	if (strcmp(deed, "args") == 0)
		return deed_strings(argv + 2);
	if (strcmp(deed, "env") == 0)
		return deed_strings(environ);
	if (strcmp(deed, "status") == 0)
		return deed_status();
	if (strcmp(deed, "cat") == 0)
		return deed_cat();
	if (strcmp(deed, "orphans") == 0)
		return deed_orphans(n);
	if (strcmp(deed, "family") == 0)
		deed_family(n);
	if (strcmp(deed, "old-kernel") == 0 && argc > 2)
		return deed_old_kernel(argv + 2);
	if (strcmp(deed, "user") == 0 && argc > 2)
		return deed_user(argv + 2);
	if (strcmp(deed, "sleep") == 0) {
		usleep((useconds_t)n * 1000);
		return 0;
	}
	fprintf(stderr, "probe: no such deed: %s\n", deed);
	return 2;
}
