/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep N: the sidecar's sweep over a PID namespace of N processes that rest, and one that reads
 * each of them, beside a loop that does nothing but getdents and one pread each. The processes are
 * in a PID namespace of their own, as in a container. The loops take turns, and the bench compares
 * the medians of their processor times, which other load disturbs least. Needs root.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/units.h"
#include "sidecar/sample/processes.h"

#define READS 200000 /* processes in all rounds together, but */
#define ROUNDS_MIN 40
#define ROUNDS_MAX 1000
#define WARM_UP 6 /* sweeps until those that rest are known to */

/* The floor: directory and one read of each file, all descriptors open. */
static struct {
	DIR *proc;
	int fds[PROCESSES_MAX];
	size_t n;
} bare;

static int64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * NS_PER_SEC + t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static double median_us(int64_t *took, size_t n)
{
	qsort(took, n, sizeof(took[0]), compare);
	return (double)took[n / 2] / 1e3;
}

static void bare_open(void)
{
	const struct dirent *d;

	bare.proc = opendir("/proc");
	while ((d = readdir(bare.proc)) && bare.n < ARRAY_SIZE(bare.fds)) {
		char path[300];

		if (!isdigit((unsigned char)d->d_name[0]))
			continue;
		snprintf(path, sizeof(path), "/proc/%s/statm", d->d_name);
		bare.fds[bare.n] = open(path, O_RDONLY | O_CLOEXEC);
		if (bare.fds[bare.n++] < 0) {
			perror(path);
			exit(1);
		}
	}
}

static void bare_look(void)
{
	char text[128];

	rewinddir(bare.proc);
	while (readdir(bare.proc))
		;
	for (size_t i = 0; i < bare.n; i++)
		if (pread(bare.fds[i], text, sizeof(text), 0) < 0)
			exit(1);
}

static void table_sweep(struct process_table *t,
			int (*how)(struct process_table *t, int64_t now_ns, struct err *err))
{
	struct process top[10];

	how(t, now_boottime_ns(), NULL);
	process_table_top(t, now_boottime_ns(), top, ARRAY_SIZE(top));
}

static int measure(long n)
{
	static int64_t looks[ROUNDS_MAX], sweeps[ROUNDS_MAX], whole[ROUNDS_MAX];
	size_t rounds = (size_t)MIN(MAX(READS / n, ROUNDS_MIN), ROUNDS_MAX);
	struct process_table *t;
	double bare_us, us, whole_us;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0) {
		perror("mount");
		return 1;
	}
	for (long i = 1; i < n; i++) {
		pid_t pid = fork();

		if (pid < 0) {
			perror("fork");
			return 1;
		}
		if (pid == 0)
			for (;;)
				pause();
	}
	t = process_table_new(open("/", O_PATH | O_CLOEXEC), 1, NULL);
	if (!t)
		return 1;
	bare_open();
	for (int i = 0; i < WARM_UP; i++)
		table_sweep(t, process_table_sweep);
	for (size_t i = 0; i < rounds; i++) {
		int64_t at[4] = { processor_ns() };

		bare_look();
		at[1] = processor_ns();
		table_sweep(t, process_table_sweep_active);
		at[2] = processor_ns();
		table_sweep(t, process_table_sweep);
		at[3] = processor_ns();
		looks[i] = at[1] - at[0];
		sweeps[i] = at[2] - at[1];
		whole[i] = at[3] - at[2];
	}
	bare_us = median_us(looks, rounds);
	us = median_us(sweeps, rounds);
	whole_us = median_us(whole, rounds);
	printf("sweep: %zu processes: %.1f us, %.2f us each; getdents and pread alone %.1f us, ratio %.2f (aim <= 1.2); with all read %.1f us, "
	       "ratio %.2f\n",
	       process_table_count(t), us, us / (double)n, bare_us, us / bare_us, whole_us,
	       whole_us / bare_us);
	fflush(stdout);
	return 0;
}

int main(int argc, char **argv)
{
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	const struct rlimit files = { PROCESSES_MAX + 1000, PROCESSES_MAX + 1000 };
	int status;
	pid_t pid;

	if (n <= 0 || n >= PROCESSES_MAX) {
		fprintf(stderr, "usage: sweep N, less than %d\n", PROCESSES_MAX);
		return 2;
	}
	if (setrlimit(RLIMIT_NOFILE, &files) < 0 || unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
		perror("sweep");
		return 1;
	}
	pid = fork();
	if (pid == 0)
		_exit(measure(n)); /* the end of PID 1 ends the others */
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
