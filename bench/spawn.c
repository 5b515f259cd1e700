/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spawn [--least] N COMMAND [ARG...]: runs COMMAND N times, one after the other, and prints the
 * median of the times in microseconds. With --least it prints the shortest time, which other load
 * on the machine disturbs less.
 */
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "lib/units.h"

#define RUNS_MAX 100000

extern char **environ;

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	static int64_t took[RUNS_MAX];
	bool least = argc > 1 && strcmp(argv[1], "--least") == 0;
	long n;

	argc -= least;
	argv += least;
	n = argc > 2 ? strtol(argv[1], NULL, 10) : 0;

	if (n <= 0 || n > RUNS_MAX) {
		fputs("usage: spawn [--least] N COMMAND [ARG...]\n", stderr);
		return 2;
	}
	for (long i = 0; i < n; i++) {
		int64_t begin = now_boottime_ns();
		int status;
		pid_t pid;

		if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 ||
		    waitpid(pid, &status, 0) != pid || status)
			return 1;
		took[i] = now_boottime_ns() - begin;
	}
	qsort(took, (size_t)n, sizeof(took[0]), compare);
	printf("%lld\n", (long long)(took[least ? 0 : n / 2] / 1000));
	return 0;
}
