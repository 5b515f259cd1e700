/* SPDX-License-Identifier: Apache-2.0 */
/* Watches whether the event loop runs. */
#include "sidecar/record/heartbeat.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/outlet.h"
#include "lib/units.h"

#define STACK ((size_t)64 * 1024)

static _Atomic uint64_t beats;
static int64_t last_ns, longest_ns; /* of the event loop */
static struct heartbeat_patience patience;
static pid_t loop_tid;
static bool started;

void heartbeat_beat(int64_t now_ns)
{
	if (last_ns)
		longest_ns = MAX(longest_ns, now_ns - last_ns);
	last_ns = now_ns;
	atomic_fetch_add_explicit(&beats, 1, memory_order_relaxed);
}

int64_t heartbeat_age_ns(int64_t now_ns)
{
	return last_ns ? MAX(now_ns - last_ns, (int64_t)0) : 0;
}

int64_t heartbeat_longest_ns(void)
{
	return longest_ns;
}

/* --- The thread. It allocates nothing, for the loop may hang with the allocator's lock held --- */

/* Reads the first line of /proc/self/task/TID/FILE; "unknown" if the kernel does not give it. */
static const char *task_file(const char *file, char *text, size_t size)
{
	char path[64];
	_cleanup_close_ int fd = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/%s", (int)loop_tid, file);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
	if (n <= 0)
		return "unknown";
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return text;
}

static void say(unsigned int looks, const char *what_follows)
{
	char when[TIME_TEXT_MAX], call[160], place[80], text[400];
	int len = snprintf(
		text, sizeof(text),
		"%s error the event loop has not turned for %lld s; system call %s, in %s%s\n",
		time_format(now_realtime_ns(), when),
		(long long)(looks * patience.look_ns / NS_PER_SEC),
		task_file("syscall", call, sizeof(call)), task_file("wchan", place, sizeof(place)),
		what_follows);

	outlet_write_ready(STDERR_FILENO, text, MIN((size_t)len, sizeof(text) - 1));
}

static void *heartbeat_watch(void *)
{
	const struct timespec pause = { .tv_sec = patience.look_ns / NS_PER_SEC,
					.tv_nsec = patience.look_ns % NS_PER_SEC };
	uint64_t known = 0;
	unsigned int looks = 0;

	for (;;) {
		nanosleep(&pause, NULL);
		uint64_t now = atomic_load_explicit(&beats, memory_order_relaxed);
		looks = now == known ? looks + 1 : 0;
		known = now;
		if (looks == patience.say_after)
			say(looks, "");
		if (looks < patience.end_after)
			continue;
		say(looks, ": the sidecar exits, so that the kubelet starts it again");
		_exit(HEARTBEAT_EXIT);
	}
}

int heartbeat_start(const struct heartbeat_patience *p, struct err *err)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	pthread_t thread;

	if (started)
		return 0;
	patience = *p;
	loop_tid = gettid();
	/* The event loop handles all signals, so the thread blocks them. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attributes);
	/* glibc asks for 128 KiB on arm64, and would give 8 MiB for a size that it refuses. */
	pthread_attr_setstacksize(&attributes, MAX(STACK, (size_t)PTHREAD_STACK_MIN));
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	int rc = pthread_create(&thread, &attributes, heartbeat_watch, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	started = rc == 0;
	return rc ? err_set(err, rc, "the thread that watches the event loop") : 0;
}
