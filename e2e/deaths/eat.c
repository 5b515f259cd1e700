/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eat DEED [ARG...] uses up memory in ways that hog (e2e/kernel) does not have. Sizes are in MiB.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SURVIVED 99
#define MIB ((size_t)1024 * 1024)
/* If a deed does not meet its limit, it ends here, before it has used up the machine's memory. */
#define MOST (1024 * MIB)

static volatile int sink;

/*
 * bad-alloc STEP_MIB: ends as a C++ program does that gets NULL from malloc and does not catch
 * std::bad_alloc.
 */
static int deed_bad_alloc(const char *arg)
{
	size_t step = (size_t)strtoul(arg, NULL, 10) * MIB;

	for (size_t used = 0; used + step <= MOST; used += step) {
		char *p = malloc(step);

		if (!p) {
			fputs("terminate called after throwing an instance of 'std::bad_alloc'\n",
			      stderr);
			abort();
		}
		memset(p, 1, step);
		sink += p[step / 2];
	}
	return SURVIVED;
}

/* memory-error STEP_MIB: ends as a Python program does that gets NULL from malloc. */
static int deed_memory_error(const char *arg)
{
	size_t step = (size_t)strtoul(arg, NULL, 10) * MIB;

	for (size_t used = 0; used + step <= MOST; used += step) {
		char *p = malloc(step);

		if (!p) {
			fputs("MemoryError\n", stderr);
			return 1;
		}
		memset(p, 1, step);
		sink += p[step / 2];
	}
	return SURVIVED;
}

/*
 * bomb N: starts N children of 1 MiB each, as fast as possible. They end by themselves only some
 * seconds after one of them was killed, however slow the machine is.
 */
static int deed_bomb(const char *arg)
{
	long n = strtol(arg, NULL, 10);
	int status, worst = 0, hold[2];

	if (pipe(hold) < 0)
		return 2;
	for (long i = 0; i < n; i++)
		if (fork() == 0) {
			close(hold[1]);
			memset(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0),
			       1, MIB);
			_exit(read(hold[0], &status, 1) != 0);
		}
	while (wait(&status) > 0) {
		if (status != 0)
			worst = 1;
		if (hold[1] >= 0) {
			sleep(7);
			close(hold[1]);
			hold[1] = -1;
		}
	}
	return worst;
}

/*
 * mapped FILE SIZE_MIB: reads a file again and again through a private mapping. The kernel can
 * drop the pages of that mapping at any time.
 */
static int deed_mapped(const char *path)
{
	int fd = open(path, O_RDONLY);
	off_t size = lseek(fd, 0, SEEK_END);
	volatile char *map = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, fd, 0);

	for (int round = 0; round < 3; round++)
		for (off_t at = 0; at < size; at += 4096)
			sink += map[at];
	return 3;
}

/* locked SIZE_MIB: locks memory, so that the kernel cannot reclaim it. */
static int deed_locked(const char *arg)
{
	size_t size = (size_t)strtoul(arg, NULL, 10) * MIB;
	const struct rlimit all = { RLIM_INFINITY, RLIM_INFINITY };

	setrlimit(RLIMIT_MEMLOCK, &all);
	mmap(NULL, size, PROT_READ | PROT_WRITE,
	     MAP_PRIVATE | MAP_ANONYMOUS | MAP_LOCKED | MAP_POPULATE, -1, 0);
	pause();
	return SURVIVED;
}

/*
 * pipes SIZE_MIB: fills kernel memory, with pipes that nobody reads. The process itself stays
 * small.
 */
static int deed_pipes(const char *arg)
{
	static char page[65536];
	const struct rlimit many = { 65536, 65536 };
	long pipes = strtol(arg, NULL, 10) * (long)(MIB / sizeof(page));
	int ends[2];

	setrlimit(RLIMIT_NOFILE, &many);
	for (long i = 0; i < pipes; i++) {
		if (pipe2(ends, O_NONBLOCK) < 0)
			return SURVIVED;
		if (write(ends[1], page, sizeof(page)) < 0)
			return 1;
	}
	return 0;
}

/* sockets SIZE_MIB: fills kernel memory, with sockets that nobody reads. */
static int deed_sockets(const char *arg)
{
	static char page[65536];
	const struct rlimit many = { 65536, 65536 };
	size_t size = (size_t)strtoul(arg, NULL, 10) * MIB, used = 0;
	int ends[2];

	setrlimit(RLIMIT_NOFILE, &many);
	while (used < size) {
		ssize_t n;

		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) < 0)
			return SURVIVED;
		while ((n = write(ends[1], page, sizeof(page))) > 0)
			used += (size_t)n;
	}
	return 0;
}

/*
 * tables SIZE_MIB: fills page tables, each page of which maps 2 MiB. The process only reads, so all
 * pages are the kernel's page of zeros, which is charged to nobody: the process itself has hardly
 * any memory.
 */
static int deed_tables(const char *arg)
{
	size_t pages = (size_t)strtoul(arg, NULL, 10) * MIB / 4096, step = 2 * MIB;
	volatile char *memory = mmap(NULL, pages * step, PROT_READ,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (memory == MAP_FAILED ||
	    madvise((void *)(uintptr_t)memory, pages * step, MADV_NOHUGEPAGE) < 0)
		return SURVIVED;
	for (size_t i = 0; i < pages; i++)
		sink += memory[i * step];
	return 0;
}

/*
 * names DIRECTORY: makes empty files in a tmpfs. Their inodes and names are kernel memory that
 * cannot be reclaimed.
 */
static int deed_names(const char *directory)
{
	char path[256];

	for (unsigned int i = 0; i < 2000000; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%u", directory, i);
		fd = open(path, O_CREAT | O_WRONLY, 0600);
		if (fd < 0)
			return SURVIVED;
		close(fd);
	}
	return 0;
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* threads-abort N: starts threads until that fails, and then aborts as a C++ program does. */
static int deed_threads_abort(const char *arg)
{
	unsigned long n = strtoul(arg, NULL, 10);
	pthread_t thread;

	for (unsigned long i = 0; i < n; i++)
		if (pthread_create(&thread, NULL, wait_for_ever, NULL) != 0) {
			fputs("terminate called after throwing an instance of 'std::system_error'\n",
			      stderr);
			abort();
		}
	return SURVIVED;
}

static char *shared_memory;
static size_t shared_size;

static int use_shared(void *arg)
{
	(void)arg;
	memset(shared_memory, 1, shared_size);
	return 0;
}

/*
 * vfork SIZE_MIB: the child uses up memory before it calls exec, while it still shares its parent's
 * memory.
 */
static int deed_vfork(const char *arg)
{
	size_t size = (size_t)strtoul(arg, NULL, 10) * MIB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/*
	 * This is done by clone, because a child of vfork must not return from the function in
	 * which it was started.
	 */
	static char stack[65536] __attribute__((aligned(16)));

	shared_memory = memory;
	shared_size = size;
	if (clone(use_shared, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL) < 0)
		return SURVIVED;
	return SURVIVED;
}

/* lazy SIZE_MIB: uses memory that the kernel may reclaim at any time (MADV_FREE). */
static int deed_lazy(const char *arg)
{
	size_t size = (size_t)strtoul(arg, NULL, 10) * MIB;
	char *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (size_t at = 0; at < size; at += MIB) {
		memset(memory + at, 1, MIB);
		madvise(memory + at, MIB, MADV_FREE);
	}
	return 0;
}

static void *use_all(void *arg)
{
	size_t size = *(size_t *)arg;

	usleep(200000);
	for (size_t at = 0; at < size; at += MIB) {
		memset(mmap(NULL, MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
		       1, MIB);
		usleep(2000);
	}
	pause();
	return NULL;
}

static int use_in_thread(const char *arg, bool leave)
{
	static size_t size;
	pthread_t thread;

	size = (size_t)strtoul(arg, NULL, 10) * MIB;
	if (pthread_create(&thread, NULL, use_all, &size) != 0)
		return SURVIVED;
	if (leave)
		syscall(SYS_exit, 0);
	pthread_join(thread, NULL);
	return SURVIVED;
}

/*
 * leaderless SIZE_MIB: uses memory in a thread after the first thread has ended, so that /proc/PID
 * shows a zombie.
 */
static int deed_leaderless(const char *arg)
{
	return use_in_thread(arg, true);
}

static int deed_threads(const char *arg)
{
	return use_in_thread(arg, false);
}

static const struct {
	const char *name;
	int (*run)(const char *arg);
} deeds[] = {
	{ "bad-alloc", deed_bad_alloc }, { "memory-error", deed_memory_error },
	{ "bomb", deed_bomb },		 { "mapped", deed_mapped },
	{ "locked", deed_locked },	 { "pipes", deed_pipes },
	{ "vfork", deed_vfork },	 { "leaderless", deed_leaderless },
	{ "threads", deed_threads },	 { "lazy", deed_lazy },
	{ "sockets", deed_sockets },	 { "tables", deed_tables },
	{ "names", deed_names },	 { "threads-abort", deed_threads_abort },
};

int main(int argc, char **argv)
{
	if (argc > 2 && argv[2][0] != '/' && strtoul(argv[2], NULL, 10) > MOST / MIB) {
		fputs("eat: that is too much\n", stderr);
		return 2;
	}
	for (size_t i = 0; argc > 1 && i < sizeof(deeds) / sizeof(*deeds); i++)
		if (strcmp(argv[1], deeds[i].name) == 0)
			return deeds[i].run(argc > 2 ? argv[2] : "");
	fprintf(stderr, "eat: no such deed: %s\n", argc > 1 ? argv[1] : "");
	return 2;
}
