/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Examines a file that may be a core, and remembers which cores were sent to the sidecar already.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CORE_SENT_MAX 128

/* Identifies a core. A later core under the same name, in the same file, has another time. */
struct core_key {
	dev_t dev;
	ino_t ino;
	int64_t mtime_ns;
};

struct core_sent {
	struct core_key list[CORE_SENT_MAX]; /* a ring */
	size_t count;
};

enum core_found {
	CORE_CLOSED, /* the kernel has just closed it; another process may dump to it by now */
	CORE_FOUND, /* it existed already */
	/* it existed after the command's end, when no process should write to it any more */
	CORE_FOUND_AT_END,
};

/*
 * Opens DIR/NAME for reading if it is a regular file that begins like an ELF core.
 * -EAGAIN: a process may still write to it; -ENOENT: it is not a core. A FIFO, a
 * device or a link is not even opened.
 */
int core_file_open(int dir_fd, const char *name, enum core_found found, struct core_key *ret_key);

/*
 * Adds a core, in place of the oldest if there is no room. Returns false if it is in the list
 * already.
 */
bool core_sent_add(struct core_sent *sent, const struct core_key *key);
void core_sent_clear(struct core_sent *sent);
