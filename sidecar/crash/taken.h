/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers in a file, also for the next sidecar, which cores were processed: a
 * launcher sends all cores that it finds whenever it connects, and a core in a volume
 * outlives its container.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define TAKEN_MAX 256 /* cores that are remembered; the oldest is forgotten */
#define TAKEN_PATH_MAX 1024

/* Identifies a core. Another core under the same name has another time or inode. */
struct core_key {
	uint64_t dev, ino;
	int64_t mtime_ns;
	uint64_t size;
};

struct taken_core {
	struct core_key key;
	bool done; /* the core itself was kept too, or given up; false: only its report was kept */
	char *bundle; /* the bundle with the report, from the root; NULL: none was kept */
};

struct taken;

/*
 * Reads the list. dirfd, the directory of the file, stays the caller's; -1: the list is only in
 * memory. A file that is not such a list counts as empty. Returns NULL if there is no memory.
 */
struct taken *taken_new(int dirfd);
void taken_free(struct taken *t);

/* Whether the next sidecar will know what this one notes. */
bool taken_remembers(const struct taken *t);

struct core_key taken_key(int core_fd);
/* Finds a core in the list; NULL if it is not there. Valid until the next taken_note. */
const struct taken_core *taken_find(const struct taken *t, const struct core_key *key);
/*
 * Notes a core, durably if there is a file. If bundle is NULL, the bundle that was noted before
 * stays.
 */
void taken_note(struct taken *t, const struct core_key *key, bool done, const char *bundle);

/* Parses a line of the file. Pure. */
bool taken_parse_line(const char *line, struct taken_core *ret_core);
