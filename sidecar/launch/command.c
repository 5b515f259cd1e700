/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the command, from fork to exec. */
#include "sidecar/launch/command.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "lib/oom_score.h"
#include "sidecar/launch/clock.h"
#include "sidecar/launch/core_limit.h"

#define WAIT_TCP_REPORT_S 10

/*
 * Sets the soft limit for cores. If it is already higher, but not unlimited, somebody chose it and
 * it stays. Unlimited is what runtimes start containers with: without us cores would be written
 * there, too, so it is lowered, but not to 0.
 */
static void limit_cores(const struct options *o, struct command_report *ret_report)
{
	rlim_t most = (rlim_t)o->cores_max, bound = core_limit_here(most, o->cores_in_memory);
	struct rlimit limit;

	if (getrlimit(RLIMIT_CORE, &limit) < 0)
		return;
	if (ret_report && !o->cores_in_memory && limit.rlim_cur == 0)
		ret_report->core_limit = bound < limit.rlim_max ? bound : limit.rlim_max;
	if (limit.rlim_cur == RLIM_INFINITY)
		limit.rlim_cur = bound > 0 ? bound : most;
	else if (limit.rlim_cur < bound)
		limit.rlim_cur = bound < limit.rlim_max ? bound : limit.rlim_max;
	setrlimit(RLIMIT_CORE, &limit);
}

static void allow_cores(const struct options *o, struct command_report *ret_report)
{
	int fd = open("/proc/self/coredump_filter", O_WRONLY | O_CLOEXEC);

	limit_cores(o, ret_report);
	if (fd < 0)
		return;
	if (write(fd, COREDUMP_FILTER, sizeof(COREDUMP_FILTER) - 1) < 0)
		fprintf(stderr, PROGRAM "coredump_filter: %s\n", strerror(errno));
	close(fd);
}

static bool tcp_accepts(const char *host, const char *port)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	bool accepted = false;

	if (getaddrinfo(host, port, &hints, &list) != 0)
		return false;
	for (struct addrinfo *a = list; a && !accepted; a = a->ai_next) {
		int fd = socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
		const struct timeval limit = { .tv_sec = 2 };

		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
		accepted = connect(fd, a->ai_addr, a->ai_addrlen) == 0;
		close(fd);
	}
	freeaddrinfo(list);
	return accepted;
}

static void end_wait(int signo)
{
	raise(signo);
}

/*
 * The wait is ours and not the command's, so a request to stop ends it. A launcher that is process
 * 1 forwards signals only to a process that catches them. exec resets the handlers.
 */
static void let_signals_end_wait(void)
{
	const struct sigaction once = { .sa_handler = end_wait,
					.sa_flags = SA_RESETHAND | SA_NODEFER };
	struct sigaction before;

	for (const int *s = (const int[]){ SIGTERM, SIGINT, SIGHUP, SIGQUIT, 0 }; *s; s++)
		if (sigaction(*s, NULL, &before) == 0 && before.sa_handler == SIG_DFL)
			sigaction(*s, &once, NULL);
}

/* Runs in the child. */
static void wait_for_tcp(const char *address)
{
	const struct timespec pause = { .tv_sec = 1 };
	char host[256];
	const char *colon = strrchr(address, ':');
	int64_t begin = now_ns(), logged = begin;

	let_signals_end_wait();
	snprintf(host, sizeof(host), "%.*s", (int)(colon - address), address);
	while (!tcp_accepts(host, colon + 1)) {
		if (now_ns() - logged >= WAIT_TCP_REPORT_S * NS_PER_SEC) {
			logged = now_ns();
			fprintf(stderr, PROGRAM "waiting for %s since %lld s\n", address,
				(long long)((logged - begin) / NS_PER_SEC));
		}
		nanosleep(&pause, NULL);
	}
}

/*
 * Replaces this child by the command with the prefix in front. It returns if that is impossible;
 * then COMMAND is started without the prefix. A child may allocate.
 */
static void exec_with_prefix(char *prefix, char **command)
{
	size_t n = 0, words = strlen(prefix) / 2 + 1;
	char **argv, *at = NULL;

	while (command[n])
		n++;
	argv = calloc(words + n + 1, sizeof(*argv));
	if (!argv)
		return;
	words = 0;
	for (char *word = strtok_r(prefix, " \t\n", &at); word; word = strtok_r(NULL, " \t\n", &at))
		argv[words++] = word;
	memcpy(argv + words, command, n * sizeof(*argv));
	if (words > 0) {
		execvp(argv[0], argv);
		fprintf(stderr, PROGRAM "--prefix: %s: %s: starting without it\n", argv[0],
			strerror(errno));
	}
	free(argv);
}

struct command_report *command_report_new(void)
{
	void *shared = mmap(NULL, sizeof(struct command_report), PROT_READ | PROT_WRITE,
			    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return shared == MAP_FAILED ? NULL : shared;
}

/* Searches for the program in the places where execvp(3) looks. */
static bool is_there(const char *name)
{
	const char *path = getenv("PATH");
	char file[PATH_MAX];

	if (strchr(name, '/'))
		return access(name, F_OK) == 0;
	if (!path)
		path = "/usr/local/bin:/bin:/usr/bin";
	while (path && *name) {
		size_t len = strcspn(path, ":");

		if (snprintf(file, sizeof(file), "%.*s/%s", (int)len, path, name) <
			    (int)sizeof(file) &&
		    access(file, F_OK) == 0)
			return true;
		path = path[len] ? path + len + 1 : NULL;
	}
	return false;
}

_Noreturn void command_run(const struct options *o, const sigset_t *original_mask,
			   struct command_report *ret_report)
{
	char oom_score[OOM_SCORE_LEN];

	sigprocmask(SIG_SETMASK, original_mask, NULL);
	snprintf(oom_score, sizeof(oom_score), "%d", o->oom_score_adj);
	if (o->oom_score_adj != OOM_SCORE_KEPT && !oom_score_write(oom_score))
		fprintf(stderr, PROGRAM "oom_score_adj: %s\n", strerror(errno));
	if (o->cores)
		allow_cores(o, ret_report);
	if (o->wait_tcp)
		wait_for_tcp(o->wait_tcp);
	if (o->prefix)
		exec_with_prefix((char *)o->prefix, o->argv);
	execvp(o->argv[0], o->argv);
	int error = errno;
	if (ret_report) {
		ret_report->error = error;
		ret_report->there = is_there(o->argv[0]);
	}
	fprintf(stderr, PROGRAM "%s: %s\n", o->argv[0], strerror(error));
	/* the exit codes that a shell uses */
	_exit(error == ENOENT ? 127 : 126);
}
