/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The value of kernel.core_pattern while cores are ours, and what it was before.
 *
 * Theory of operation: the kernel splits a pattern that begins with '|' at blanks, expands the specifiers of each word, and
 * runs the first word as a program with the others as its arguments. Our pattern is
 *
 *	|DIRECTORY/afterglow-core1 %P %s %c %d BEFORE
 *
 * where BEFORE is the value from before, unchanged. So that value cannot get lost: who reads the pattern has both. And the kernel
 * itself expands BEFORE for each crash, as it would have without us: the arguments of our program end with the command line, or
 * the file's name, to which the core would have gone. The number in the program's name is that of the arguments' meaning.
 *
 * A "u" follows %d where BEFORE is a file's name to which the kernel adds the PID if kernel.core_uses_pid is set.
 */
#ifndef AFTERGLOW_NODE_CORE_PATTERN_H
#define AFTERGLOW_NODE_CORE_PATTERN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define CORE_PATTERN_MAX 127 /* bytes; the kernel keeps no more */
#define CORE_PROGRAM "afterglow-core1"

/* Pure. Where our own pattern ends and the value from before begins; NULL: the pattern is not ours. */
const char *core_pattern_before(const char *pattern);

/*
 * Pure. Our pattern for that value of before, which is not ours. -ENOTSUP with the reason: the kernel sends cores to a socket, the
 * file's name has blanks, or both together are longer than the kernel allows.
 */
int core_pattern_make(const char *directory, const char *before, char ret_pattern[static CORE_PATTERN_MAX + 1], struct err *err);

/* What the kernel says of one crash. */
struct core_arguments {
	pid_t pid; /* in the node's first PID namespace */
	int signal;
	uint64_t limit; /* the soft RLIMIT_CORE in bytes; UINT64_MAX: none */
	int dumpable; /* 1, or 2: for root only */
	bool may_add_pid; /* "u" */
	char *const *before; /* the expanded words of BEFORE, ends with NULL */
};

/* Pure. argv as our program has it. -EPROTO: they are not those of CORE_PROGRAM. */
int core_arguments_parse(char *const *argv, struct core_arguments *ret_arguments, struct err *err);

#endif
