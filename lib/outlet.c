/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps stdout and stderr of a program from waiting for their reader. */
#include "lib/outlet.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define OUTLETS 3 /* descriptors 0 to 2; 0 is never used */
#define AGAIN_MS 20

static struct outlet {
	bool guarded;
	struct strbuf kept;
	uint64_t unreported; /* dropped texts that are not yet mentioned in a notice */
} outlets[OUTLETS];
static uint64_t dropped;

void outlet_guard(int fd)
{
	if (fd <= 0 || fd >= OUTLETS || outlets[fd].guarded)
		return;
	outlets[fd].guarded = true;
	strbuf_init(&outlets[fd].kept, OUTLET_KEPT_MAX);
}

/*
 * A pipe that is ready takes PIPE_BUF bytes at once. The pipe is not made non-blocking: that would
 * change the pipe's end for other processes that share it.
 */
size_t outlet_write_ready(int fd, const char *text, size_t len)
{
	size_t done = 0;

	while (done < len) {
		struct pollfd p = { .fd = fd, .events = POLLOUT };
		size_t part = MIN(len - done, (size_t)PIPE_BUF);

		if (poll(&p, 1, 0) <= 0 || !(p.revents & (POLLOUT | POLLERR | POLLHUP | POLLNVAL)))
			break;
		ssize_t n = send(fd, text + done, part, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK)
			n = write(fd, text + done, part);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			break;
		if (n <= 0)
			/* The reader is gone for good, and a lost line is not worth an error. */
			return len;
		done += (size_t)n;
	}
	return done;
}

/* Returns false if a part of the kept text could not be written. */
static bool outlet_drain(int fd, struct outlet *o)
{
	size_t done = outlet_write_ready(fd, strbuf_str(&o->kept), o->kept.len);
	char text[120];

	strbuf_consume(&o->kept, done);
	if (o->kept.len)
		return false;
	strbuf_release(&o->kept);
	strbuf_init(&o->kept, OUTLET_KEPT_MAX);
	if (!o->unreported)
		return true;
	snprintf(text, sizeof(text),
		 "[afterglow] %llu messages were dropped because nothing read this output\n",
		 (unsigned long long)o->unreported);
	o->unreported = 0;
	strbuf_addf(&o->kept, "%s", text);
	return outlet_drain(fd, o);
}

void outlet_write(int fd, const void *text, size_t len)
{
	struct outlet *o = fd > 0 && fd < OUTLETS && outlets[fd].guarded ? &outlets[fd] : NULL;
	size_t done = 0;

	if (!o) {
		fd_write_all(fd, text, len, NULL);
		return;
	}
	if (!o->kept.len || outlet_drain(fd, o))
		done = outlet_write_ready(fd, text, len);
	if (done == len)
		return;
	/*
	 * If the beginning of this text was written, its rest has to follow, or lines would run
	 * into each other.
	 */
	if (done == 0 && o->kept.len + len > OUTLET_KEPT_MAX) {
		o->unreported++;
		dropped++;
		return;
	}
	strbuf_add(&o->kept, (const char *)text + done,
		   MIN(len - done, OUTLET_KEPT_MAX - o->kept.len));
}

void outlet_flush(void)
{
	for (int fd = 1; fd < OUTLETS; fd++)
		if (outlets[fd].guarded && outlets[fd].kept.len)
			outlet_drain(fd, &outlets[fd]);
}

void outlet_finish(int64_t within_ns)
{
	int64_t until = now_boottime_ns() + within_ns;

	outlet_flush();
	while ((outlets[1].kept.len || outlets[2].kept.len) && now_boottime_ns() < until) {
		poll(NULL, 0, AGAIN_MS);
		outlet_flush();
	}
}

void outlet_forget(void)
{
	for (int fd = 1; fd < OUTLETS; fd++)
		strbuf_reset(&outlets[fd].kept);
}

uint64_t outlet_dropped(void)
{
	return dropped;
}
