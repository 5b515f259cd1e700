/* SPDX-License-Identifier: Apache-2.0 */
/*
 * die DEED [ARG...]: dies, or fails, in one exact way that a shell cannot bring about. Unlike probe
 * (e2e/kernel) it is linked with glibc as programs are: some deaths are glibc's own.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SURVIVED 99
#define MIB ((size_t)1024 * 1024)

static volatile int sink;

/* glibc's, by which programs are compiled with -D_FORTIFY_SOURCE. */
void *__memcpy_chk(void *to, const void *from, size_t n, size_t room);

static void fault(void)
{
	*(volatile int *)(uintptr_t)16 = 1;
}

static int smash(size_t n)
{
	volatile char small[8];

	for (size_t i = 0; i < n; i++)
		small[i] = 'x';
	return small[0];
}

/* Faults that glibc or the processor finds, beyond those of probe. */
static void fault_of_kind(const char *kind)
{
	static const char text[] = "text";
	static char code[] = { '\xc3' };
	void *(*volatile copy)(void *, const void *, size_t, size_t) = __memcpy_chk;
	volatile int least = INT_MIN, minus = -1;
	char buffer[8];

	if (strcmp(kind, "readonly") == 0)
		*(volatile char *)(uintptr_t)text = 'T';
	else if (strcmp(kind, "jump") == 0)
		__asm__ volatile("jmp *%0" : : "r"((uintptr_t)0));
	else if (strcmp(kind, "data") == 0)
		__asm__ volatile("jmp *%0" : : "r"((uintptr_t)code));
	else if (strcmp(kind, "noncanonical") == 0)
		*(volatile char *)(uintptr_t)0x8000000000001234 = 1;
	else if (strcmp(kind, "privileged") == 0)
		__asm__ volatile("hlt");
	else if (strcmp(kind, "trap") == 0)
		__builtin_trap();
	else if (strcmp(kind, "divide") == 0)
		sink = least / minus;
	else if (strcmp(kind, "smash") == 0)
		sink = smash((size_t)(sink + 200));
	else if (strcmp(kind, "fortify") == 0)
		copy(buffer, text, (size_t)(sink + 200), sizeof(buffer));
}

static int deed_fault(const char *kind)
{
	fault_of_kind(kind);
	return SURVIVED;
}

static void *fault_in_thread(void *arg)
{
	(void)arg;
	fault();
	return NULL;
}

static int deed_thread(const char *arg)
{
	pthread_t thread;

	(void)arg;
	if (pthread_create(&thread, NULL, fault_in_thread, NULL) != 0)
		return SURVIVED;
	pthread_join(thread, NULL);
	return SURVIVED;
}

static void reraise(int signo)
{
	static const char text[] = "die: caught a fault, and dies of it\n";

	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		_exit(SURVIVED);
	signal(signo, SIG_DFL);
	raise(signo);
}

static void leave(int signo)
{
	(void)signo;
	_exit(1);
}

/* Like faulthandler and abseil. */
static int deed_reraise(const char *arg)
{
	(void)arg;
	signal(SIGSEGV, reraise);
	fault();
	return SURVIVED;
}

/* A handler that hides the fault behind an exit code. */
static int deed_catch(const char *arg)
{
	(void)arg;
	signal(SIGSEGV, leave);
	fault();
	return SURVIVED;
}

static int deed_child_fault(const char *arg)
{
	int status;
	pid_t pid = fork();

	(void)arg;
	if (pid == 0)
		fault();
	return waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) ? 1 : SURVIVED;
}

static int use_stack(int depth)
{
	volatile char page[4096];

	page[0] = (char)depth;
	return use_stack(depth + 1) + page[0];
}

static int deed_stack(const char *arg)
{
	(void)arg;
	return use_stack(0);
}

static int deed_double_free(const char *arg)
{
	char *p = malloc(64);
	char *volatile again = p;

	(void)arg;
	free(p);
	free(again);
	return SURVIVED;
}

static int deed_heap(const char *arg)
{
	char *volatile p = malloc(24), *volatile q = malloc(2000);
	volatile char *end = p;

	(void)arg;
	for (size_t i = 24; i < 64; i++)
		end[i] = 'x';
	free(q);
	free(p);
	return SURVIVED;
}

static int deed_assert(const char *arg)
{
	assert(strcmp(arg, "assert") == 0);
	return SURVIVED;
}

/* A file that somebody makes shorter while it is mapped. */
static int deed_truncated(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	volatile char *map;

	if (fd < 0 || ftruncate(fd, 8192) < 0)
		return SURVIVED;
	map = mmap(NULL, 8192, PROT_READ, MAP_SHARED, fd, 0);
	if (ftruncate(fd, 0) < 0)
		return SURVIVED;
	return map[4096];
}

/*
 * A sparse file in a filesystem that has no room for it, written through a mapping: Ray's object
 * store does so.
 */
static int deed_map_full(const char *path)
{
	size_t size = 64 * MIB;
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	char *map;

	if (fd < 0 || ftruncate(fd, (off_t)size) < 0)
		return SURVIVED;
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	memset(map, 1, size);
	return SURVIVED;
}

/* seccomp kills the process with SIGSYS at getppid(). */
static int deed_seccomp(const char *arg)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = sizeof(filter) / sizeof(*filter), .filter = filter };

	(void)arg;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return SURVIVED;
	syscall(SYS_getppid);
	return SURVIVED;
}

static int deed_spin(const char *arg)
{
	(void)arg;
	while (sink >= 0)
		sink = 1 - sink;
	return SURVIVED;
}

/* Opens files until there are no more. */
static int deed_files(const char *arg)
{
	(void)arg;
	while (open("/dev/null", O_RDONLY) >= 0)
		;
	perror("die: /dev/null");
	return errno == EMFILE ? 1 : SURVIVED;
}

/*
 * forks N: N children that sleep; 1 when a fork fails, which ends them all. In a process group of
 * its own.
 */
static int deed_forks(const char *arg)
{
	long n = strtol(arg, NULL, 10);

	setpgid(0, 0);
	for (long i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("die: fork");
			signal(SIGTERM, SIG_IGN);
			kill(0, SIGTERM);
			return 1;
		}
		if (pid == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				pause();
		}
	}
	return SURVIVED;
}

/*
 * thread-exit: the main thread ends first, and the process lives on in another, which exits with 7.
 */
static void *exit_later(void *arg)
{
	(void)arg;
	usleep(300000);
	exit(7);
}

static int deed_thread_exit(const char *arg)
{
	pthread_t thread;

	(void)arg;
	if (pthread_create(&thread, NULL, exit_later, NULL) != 0)
		return SURVIVED;
	syscall(SYS_exit, 0);
	return SURVIVED;
}

/*
 * A child that ends by SIGNO, whose parent ends likewise, as init programs in containers do: tini,
 * dumb-init.
 */
static int deed_like_child(const char *arg)
{
	int signo = (int)strtol(arg, NULL, 10), status;
	pid_t pid = fork();

	if (pid == 0) {
		raise(signo);
		_exit(SURVIVED);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSIGNALED(status))
		return SURVIVED;
	return 128 + WTERMSIG(status);
}

static const struct {
	const char *name;
	int (*run)(const char *arg);
} deeds[] = {
	{ "thread", deed_thread },
	{ "reraise", deed_reraise },
	{ "catch", deed_catch },
	{ "child-fault", deed_child_fault },
	{ "stack", deed_stack },
	{ "double-free", deed_double_free },
	{ "heap", deed_heap },
	{ "assert", deed_assert },
	{ "truncated", deed_truncated },
	{ "map-full", deed_map_full },
	{ "seccomp", deed_seccomp },
	{ "spin", deed_spin },
	{ "files", deed_files },
	{ "forks", deed_forks },
	{ "fault", deed_fault },
	{ "thread-exit", deed_thread_exit },
	{ "like-child", deed_like_child },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(argv[1], deeds[i].name) == 0)
			return deeds[i].run(argc > 2 ? argv[2] : "");
	fprintf(stderr, "die: no such deed: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
