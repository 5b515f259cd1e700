/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program of ours may still do when it begins to read what a user wrote.
 *
 * Theory of operation. Three layers, from the one that every kernel has to the
 * one that few have:
 * - The program gets open descriptors and no names. The system calls that take
 *   a path are not in its list, so it does not matter what a path would say: a
 *   filter sees the pointer to a path, never the path.
 * - Resource limits bound memory, processor time, descriptors and output.
 * - Landlock, from Linux 5.13 on, has the kernel itself refuse every file. It is
 *   a second lock on the same door: nothing depends on it.
 */
#ifndef AFTERGLOW_SIDECAR_CONFINE_CONFINE_H
#define AFTERGLOW_SIDECAR_CONFINE_CONFINE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "lib/err.h"

#define CONFINE_RULES_MAX 64

/* A system call that is allowed if (argument & mask) == value, by the lower 32 bits; with a mask of 0 always. */
struct confine_rule {
	int call; /* SYS_... */
	unsigned int argument;
	uint32_t mask, value;
};

#define CONFINE_ALLOW(name) { SYS_##name, 0, 0, 0 }
/* Only on this descriptor, which is the first argument. */
#define CONFINE_ALLOW_ON(name, fd) { SYS_##name, 0, UINT32_MAX, (uint32_t)(fd) }
/* Only when that argument is exactly this, or has none of these bits. */
#define CONFINE_ALLOW_IF(name, argument, is) { SYS_##name, (argument), UINT32_MAX, (uint32_t)(is) }
#define CONFINE_ALLOW_WITHOUT(name, argument, bits) { SYS_##name, (argument), (uint32_t)(bits), 0 }

/* 0 leaves a limit as it is; core files are always off. A limit that is lower already stays. */
struct confine_limits {
	uint64_t addresses, memory; /* bytes: RLIMIT_AS, RLIMIT_DATA */
	uint64_t cpu_seconds; /* SIGXCPU then, SIGKILL two seconds later */
	uint64_t files; /* the highest descriptor, and one more */
	uint64_t output; /* bytes: the size of a file that is written */
};

int confine_limit(const struct confine_limits *limits, struct err *err);

/* Closes every other descriptor; keep is in ascending order. */
void confine_descriptors(const int *keep, size_t n);

/*
 * Landlock: from now on this thread and those that it starts open nothing by a
 * path, but files for reading below readable_fd (-1: none at all). Returns the
 * version of Landlock's interface, 0 where the kernel has none, which is no error.
 */
int confine_files(int readable_fd, struct err *err);

/*
 * For good, for all threads that run: whatever is not in the list gets EACCES, so
 * that a library which asks for more than it needs goes on without.
 */
int confine_calls(const struct confine_rule *rules, size_t n, struct err *err);

#endif
