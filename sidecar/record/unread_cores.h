/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps cores that could not be read in time, because the machine is too busy or the filesystem does
 * not answer. These two cases look the same, so each core is tried again for a minute.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/crash/crashes.h"
#include "sidecar/launch/core_pattern.h"

#define UNREAD_CORES_MAX 8

struct unread_core {
	int fd;
	struct core_hint hint;
	char comm[CORE_COMM_MAX + 1]; /* the text to which hint.comm points */
	int64_t since_ns, next_ns; /* CLOCK_BOOTTIME: when it was put here, and the next try */
};

struct unread_cores {
	struct unread_core list[UNREAD_CORES_MAX];
	size_t n;
	bool at_it; /* true while unread_cores_retry runs */
};

/*
 * Adds a core and takes fd. Returns false if there is no room; then fd stays the caller's. now_ns:
 * CLOCK_BOOTTIME.
 */
bool unread_cores_put(struct unread_cores *u, int fd, const struct core_hint *hint, int64_t now_ns);

/*
 * Reads a core. Returns true and takes fd, or returns false if the core could not be read now
 * either. It may call unread_cores_retry, which then does nothing.
 */
typedef bool (*unread_core_fn)(int fd, const struct core_hint *hint, void *arg);

/*
 * Tries the cores that are due, with now_ns INT64_MAX all of them, until one cannot be read. Closes
 * those that were tried for a minute. Returns how many are left.
 */
size_t unread_cores_retry(struct unread_cores *u, int64_t now_ns, unread_core_fn fn, void *arg);

/* Closes all cores. */
void unread_cores_release(struct unread_cores *u);
