/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sweep N: the recorder's sweep over a PID namespace of N processes, beside a
 * loop that does nothing but getdents and one pread each. Both as PID 1 of a
 * namespace of their own, as in a container. Needs root.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/units.h"
#include "sidecar/sample/processes.h"

#define ROUNDS 300
#define FDS_MAX 4096

/* The floor: directory and one read of each file, all descriptors open. */
static int64_t bare_loop_ns(void)
{
	static int fds[FDS_MAX];
	DIR *proc = opendir("/proc");
	const struct dirent *d;
	char text[128];
	size_t n = 0;
	int64_t begin, took;

	while ((d = readdir(proc)) && n < FDS_MAX)
		if (isdigit((unsigned char)d->d_name[0])) {
			char path[300];

			snprintf(path, sizeof(path), "/proc/%s/statm", d->d_name);
			fds[n++] = open(path, O_RDONLY | O_CLOEXEC);
		}
	begin = now_boottime_ns();
	for (int i = 0; i < ROUNDS; i++) {
		rewinddir(proc);
		while (readdir(proc))
			;
		for (size_t f = 0; f < n; f++)
			if (pread(fds[f], text, sizeof(text), 0) < 0)
				return -1;
	}
	took = (now_boottime_ns() - begin) / ROUNDS;
	while (n > 0)
		close(fds[--n]);
	closedir(proc);
	return took;
}

static int64_t sweep_ns(int root_fd)
{
	struct process_table *t = process_table_new(root_fd, 1, NULL);
	int64_t begin;

	if (!t || process_table_sweep(t, now_boottime_ns(), NULL) < 0)
		return -1;
	begin = now_boottime_ns();
	for (int i = 0; i < ROUNDS; i++) {
		struct process top[10];

		process_table_sweep(t, now_boottime_ns(), NULL);
		process_table_top(t, now_boottime_ns(), top, 10);
	}
	begin = (now_boottime_ns() - begin) / ROUNDS;
	process_table_free(t);
	return begin;
}

static int measure(long n)
{
	int64_t bare, swept;
	int root_fd;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 || mount("proc", "/proc", "proc", 0, NULL) < 0) {
		perror("mount");
		return 1;
	}
	for (long i = 1; i < n; i++)
		if (fork() == 0)
			for (;;)
				pause();
	root_fd = open("/", O_PATH | O_CLOEXEC);
	bare = bare_loop_ns();
	swept = sweep_ns(root_fd);
	printf("sweep: %ld processes: %.1f us, %.2f us each; getdents and pread alone %.1f us, ratio %.2f\n", n,
	       (double)swept / 1e3, (double)swept / 1e3 / (double)n, (double)bare / 1e3, (double)swept / (double)bare);
	fflush(stdout);
	return bare < 0 || swept < 0;
}

int main(int argc, char **argv)
{
	long n = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
	int status;
	pid_t pid;

	if (n <= 0 || n >= FDS_MAX) {
		fputs("usage: sweep N\n", stderr);
		return 2;
	}
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0) {
		perror("unshare");
		return 1;
	}
	pid = fork();
	if (pid == 0)
		_exit(measure(n)); /* the end of PID 1 ends the others */
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
