/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cores whose headers were not read in time, by a machine that is too busy or from a filesystem that
 * does not answer. Each is tried again for a minute, as the one cannot be told from the other.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_UNREAD_CORES_H
#define AFTERGLOW_SIDECAR_RECORD_UNREAD_CORES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/crash/crashes.h"
#include "sidecar/launch/core_pattern.h"

#define UNREAD_CORES_MAX 8

struct unread_core {
	int fd;
	struct core_hint hint;
	char comm[CORE_COMM_MAX + 1]; /* of the hint */
	int64_t since_ns, next_ns;
};

struct unread_cores {
	struct unread_core list[UNREAD_CORES_MAX];
	size_t n;
	bool at_it; /* within unread_cores_retry */
};

/* Takes fd. False: there are UNREAD_CORES_MAX, and fd stays the caller's. now_ns: CLOCK_BOOTTIME. */
bool unread_cores_put(struct unread_cores *u, int fd, const struct core_hint *hint, int64_t now_ns);

/* Takes fd when it returns true; false: it was not read now either. May call unread_cores_retry, which then does nothing. */
typedef bool (*unread_core_fn)(int fd, const struct core_hint *hint, void *arg);

/* Tries those that are due until one is late again, all of them with INT64_MAX, and lets go of those whose minute is over. Returns how many are left. */
size_t unread_cores_retry(struct unread_cores *u, int64_t now_ns, unread_core_fn fn, void *arg);

/* Lets go of all. */
void unread_cores_release(struct unread_cores *u);

#endif
