/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and reads the value of kernel.core_pattern while the core handler takes the node's cores.
 *
 * Theory of operation: the kernel splits a pattern that begins with '|' at blanks, expands the
 * specifiers of each word (core(5)), and runs the first word as a program with the others as its
 * arguments. Our pattern is
 *
 *	|DIRECTORY/afterglow-core1 %P %s %c %d BEFORE
 *
 * where BEFORE is the previous value, unchanged. So the previous value cannot get lost, and the
 * kernel itself expands it for each crash: the arguments of the handler end with the command line,
 * or the file's name, to which the core would have gone. The number in the program's name is the
 * version of the arguments' meaning.
 *
 * A "u" follows %d if BEFORE is a file's name to which the kernel would add the PID when
 * kernel.core_uses_pid is set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define CORE_PATTERN_MAX 127 /* bytes; the kernel keeps no more */
#define CORE_PROGRAM "afterglow-core1"

/* Pure. Returns the previous value within pattern; NULL: the pattern is not ours. */
const char *core_pattern_before(const char *pattern);

/*
 * Pure. Makes our pattern; before is the present value, which must not be ours. -ENOTSUP with the
 * reason: the kernel sends cores to a socket, the file's name has blanks, or the result is longer
 * than CORE_PATTERN_MAX.
 */
int core_pattern_make(const char *directory, const char *before,
		      char ret_pattern[static CORE_PATTERN_MAX + 1], struct err *err);

/* The handler's arguments, with which the kernel describes a crash. */
struct core_arguments {
	pid_t pid; /* in the node's initial PID namespace */
	int signal;
	uint64_t limit; /* the soft RLIMIT_CORE in bytes; UINT64_MAX: none */
	int dumpable; /* 1; 2: only root may read the core (fs.suid_dumpable) */
	bool may_add_pid; /* "u" */
	char *const *before; /* the expanded words of BEFORE, NULL at the end; within argv */
};

/* Pure. Parses the argv of CORE_PROGRAM. -EPROTO: they are not its arguments. */
int core_arguments_parse(char *const *argv, struct core_arguments *ret_arguments, struct err *err);
