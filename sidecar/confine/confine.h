/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes rights away from a process before it reads a file that a user wrote, such as a core: a user
 * who exploits a defect of the program then gains nothing.
 *
 * Theory of operation. There are three layers:
 * - A seccomp filter allows a list of system calls. None of them takes a path, because a filter
 *   sees only the pointer to a path. The program works with descriptors that are already open.
 * - Resource limits bound memory, processor time, descriptors and output.
 * - Landlock (Linux 5.13 and newer) makes the kernel refuse every file that is opened by a path. It
 *   protects against an error in the first layer; nothing depends on it.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "lib/err.h"

#define CONFINE_RULES_MAX 64

/*
 * Allows a system call if (argument & mask) == value, where only the lower 32 bits of the argument
 * count. A mask of 0 allows it always.
 */
struct confine_rule {
	int call; /* SYS_... */
	unsigned int argument; /* its index, from 0 */
	uint32_t mask, value;
};

#define CONFINE_ALLOW(name) { SYS_##name, 0, 0, 0 }
/* Allows the call on this descriptor only, which is its first argument. */
#define CONFINE_ALLOW_ON(name, fd) { SYS_##name, 0, UINT32_MAX, (uint32_t)(fd) }
/* These allow the call only if that argument equals `is`, or has none of `bits`. */
#define CONFINE_ALLOW_IF(name, argument, is) { SYS_##name, (argument), UINT32_MAX, (uint32_t)(is) }
#define CONFINE_ALLOW_WITHOUT(name, argument, bits) { SYS_##name, (argument), (uint32_t)(bits), 0 }

/* 0 leaves a limit as it is. A limit that is already lower stays. */
struct confine_limits {
	/* bytes: RLIMIT_AS, RLIMIT_DATA; not set under AddressSanitizer */
	uint64_t addresses, memory;
	uint64_t cpu_seconds; /* SIGXCPU comes then, and SIGKILL two seconds later */
	uint64_t files; /* RLIMIT_NOFILE: the highest descriptor plus 1 */
	uint64_t output; /* bytes, RLIMIT_FSIZE: the size of a file that it writes */
};

/*
 * Sets these limits for the process, and turns core files off. Returns 0, or -errno of setrlimit.
 */
int confine_limit(const struct confine_limits *limits, struct err *err);

/* Closes every descriptor except the n of keep, which is in ascending order. */
void confine_descriptors(const int *keep, size_t n);

/*
 * Landlock: from now on this thread and the threads and processes that it starts can open nothing
 * by a path, except files for reading below readable_fd (-1: nothing at all). Returns the version
 * of Landlock's interface, 0 if the kernel has none, or a negative error.
 */
int confine_files(int readable_fd, struct err *err);

/*
 * Allows only the n system calls of rules, at most CONFINE_RULES_MAX, to all threads of the
 * process, for good. Every other call fails with EACCES and does not end the process, because a
 * library may try a call that it does not need. -E2BIG: too many rules; -ENOSYS: the kernel has no
 * seccomp.
 */
int confine_calls(const struct confine_rule *rules, size_t n, struct err *err);
