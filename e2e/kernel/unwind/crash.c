/* SPDX-License-Identifier: Apache-2.0 */
/* crash WAY: dies in one of the ways that backtraces differ in. */
#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))

/* After a call, so that it is no tail call and its frame stays. */
#define STAY() __asm__ volatile("" ::: "memory")

static NOINLINE int deref(const int *p)
{
	int v = *(const volatile int *)p;

	STAY();
	return v;
}

static inline __attribute__((always_inline)) int inlined_inner(const int *p)
{
	return deref(p) + 1;
}

static inline __attribute__((always_inline)) int inlined_outer(const int *p)
{
	return inlined_inner(p) + 2;
}

static NOINLINE int through_null(void)
{
	int r = inlined_outer(NULL);

	STAY();
	return r;
}

static int (*volatile nowhere)(int);

static NOINLINE int call_nowhere(void)
{
	int r = nowhere(1);

	STAY();
	return r;
}

static NOINLINE int recurse(int n)
{
	volatile char room[256];
	int r;

	room[n & 255] = (char)n;
	r = recurse(n + 1);
	STAY();
	return r + room[0];
}

/* Overwrites the word that -fstack-protector puts between the variables and the return address. */
static NOINLINE int overrun_array(int n)
{
	volatile char room[16];

	for (int i = 0; i < n; i++)
		room[i] = 'A';
	return room[0];
}

/* The frame's return address and all above it. */
static NOINLINE int smash(void)
{
	volatile unsigned long *slot = __builtin_frame_address(0);

	for (int i = 1; i < 64; i++)
		slot[i] = 0x4141414141414141ul;
	STAY();
	return 0;
}

/* What smash() leaves of its callers. */
static NOINLINE int before_smash(void)
{
	volatile char room[2048];
	int r;

	room[0] = 1;
	r = smash();
	STAY();
	return r + room[0];
}

static NOINLINE int divide(int by)
{
	int r = 7 / *(volatile int *)&by;

	STAY();
	return r;
}

static NOINLINE int give_up(void)
{
	abort();
}

static NOINLINE int fail_assertion(int n)
{
	assert(n < 0);
	return n;
}

static NOINLINE int free_twice(void)
{
	void *volatile twice = malloc(24);

	free(twice);
	free(twice);
	STAY();
	return 0;
}

static NOINLINE int past_the_file(void)
{
	FILE *file = tmpfile();
	char *data = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
	int r = *(volatile char *)data;

	STAY();
	return r;
}

static NOINLINE int in_the_vdso(void)
{
	int r = clock_gettime(CLOCK_MONOTONIC, (struct timespec *)8);

	STAY();
	return r;
}

static NOINLINE int wild_pointer(void)
{
	int r = deref((const int *)0x4142434445464748);

	STAY();
	return r;
}

/* Handlers as Ray's and Python's: they say something, then raise the signal again. */
static void raise_again(int signo)
{
	signal(signo, SIG_DFL);
	raise(signo);
	STAY();
}

static void raise_again_told(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	raise_again(signo);
	STAY();
}

static int handled(int told)
{
	static char memory[65536];
	const stack_t stack = { .ss_sp = memory, .ss_size = sizeof(memory) };
	struct sigaction action = { .sa_flags = SA_ONSTACK | SA_NODEFER };
	int r;

	sigaltstack(&stack, NULL);
	if (told) {
		action.sa_sigaction = raise_again_told;
		action.sa_flags |= SA_SIGINFO;
	} else
		action.sa_handler = raise_again;
	sigaction(SIGSEGV, &action, NULL);
	r = deref((const int *)0x18);
	STAY();
	return r;
}

static void abort_on(int signo)
{
	(void)signo;
	abort();
}

static void abort_on_told(int signo, siginfo_t *info, void *context)
{
	(void)info;
	(void)context;
	abort_on(signo);
}

/* A watchdog aborts in the handler of its timer. The thread waits meanwhile. */
static int watchdog(int told)
{
	struct sigaction action = { .sa_handler = abort_on };
	const struct itimerval soon = { .it_value.tv_usec = 10000 };

	if (told) {
		action.sa_sigaction = abort_on_told;
		action.sa_flags = SA_SIGINFO;
	}
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		pause();
}

static char *guarded;

static void repair(int signo)
{
	(void)signo;
	mprotect(guarded, 4096, PROT_READ | PROT_WRITE);
}

/*
 * The thread has handled a fault before, as a garbage collector does, and computes when the timer
 * comes.
 */
static int watchdog_after_a_fault(void)
{
	const struct itimerval soon = { .it_value.tv_usec = 10000 };

	guarded = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, repair);
	*(volatile char *)guarded = 1;
	signal(SIGALRM, abort_on);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		STAY();
}

static int divide_handled(void)
{
	signal(SIGFPE, abort_on);
	return divide(0);
}

#define SLEEPERS 7 /* main among them */

static int asleep; /* or about to be: the last instructions before it cannot be seen */

static NOINLINE void *sleeper(void *arg)
{
	__atomic_add_fetch(&asleep, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return arg;
}

static NOINLINE void *crasher(void *arg)
{
	while (__atomic_load_n(&asleep, __ATOMIC_SEQ_CST) < SLEEPERS)
		usleep(1000);
	usleep(100000);
	through_null();
	STAY();
	return arg;
}

static NOINLINE int threads(void)
{
	pthread_t t;

	for (int i = 0; i < SLEEPERS; i++)
		pthread_create(&t, NULL, i == 4 ? crasher : sleeper, NULL);
	__atomic_add_fetch(&asleep, 1, __ATOMIC_SEQ_CST);
	pause();
	STAY();
	return 0;
}

static int sent_by_a_child(void)
{
	pid_t parent = getpid();

	if (fork() == 0) {
		kill(parent, SIGSEGV);
		_exit(0);
	}
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "null";
	int r = 0;

	if (strcmp(way, "null") == 0)
		r = through_null();
	else if (strcmp(way, "nowhere") == 0)
		r = call_nowhere();
	else if (strcmp(way, "overflow") == 0)
		r = recurse(0);
	else if (strcmp(way, "smash") == 0)
		r = before_smash();
	else if (strcmp(way, "divide") == 0)
		r = divide(0);
	else if (strcmp(way, "abort") == 0)
		r = give_up();
	else if (strcmp(way, "assert") == 0)
		return fail_assertion(argc);
	else if (strcmp(way, "free") == 0)
		return free_twice();
	else if (strcmp(way, "overrun") == 0)
		return overrun_array(argc + 30);
	else if (strcmp(way, "bus") == 0)
		r = past_the_file();
	else if (strcmp(way, "vdso") == 0)
		r = in_the_vdso();
	else if (strcmp(way, "wild") == 0)
		r = wild_pointer();
	else if (strcmp(way, "handled") == 0)
		r = handled(0);
	else if (strcmp(way, "handled-told") == 0)
		r = handled(1);
	else if (strcmp(way, "watchdog") == 0)
		r = watchdog(0);
	else if (strcmp(way, "watchdog-told") == 0)
		r = watchdog(1);
	else if (strcmp(way, "watchdog-fault") == 0)
		r = watchdog_after_a_fault();
	else if (strcmp(way, "divide-handled") == 0)
		r = divide_handled();
	else if (strcmp(way, "sent") == 0)
		r = sent_by_a_child();
	else if (strcmp(way, "threads") == 0)
		r = threads();
	STAY();
	return r;
}
