/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a core to a file where the kernel would have, and by its rules: as the user of the process that crashed, in its root and
 * working directory, never over a link, within its core limit (core(5), fs/coredump.c).
 */
#ifndef AFTERGLOW_NODE_CORE_FILE_H
#define AFTERGLOW_NODE_CORE_FILE_H

#include "lib/err.h"
#include "node/core_pattern.h"

/*
 * name: the expanded pattern. stream: the core, read as far as the limit allows. Gives up root, and leaves this process in the
 * root directory of the other: the caller ends afterwards. 0 also when the kernel would not have written any.
 */
int core_file_write(const struct core_arguments *arguments, const char *name, int stream, struct err *err);

/* Copies the stream to a file, at most limit bytes of it; pages of zeros become holes. Ends early without an error at the limit. */
int core_copy(int stream, int file, uint64_t limit, struct err *err);

#endif
