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
 * SIGALRM ends a process that writes a core and gets nowhere for so long, in a file system that hangs for instance. The caller sets
 * the first alarm, core_copy renews it.
 */
#define CORE_STALL_S 120

/*
 * A process keeps its PID while it dumps core, unless it is killed. What was read by PID is that process's only if it is still there
 * afterwards. pidfd: -1 where the kernel has none: nothing is checked. -ESRCH: it has ended.
 */
int core_process_check(int pidfd, struct err *err);

/*
 * pidfd: of the process that crashed, as above. name: the expanded pattern. stream: the core, read as far as the limit allows. Gives up root, and leaves this process in the
 * root directory of the other: the caller ends afterwards. 0 also when the kernel would not have written any.
 */
int core_file_write(const struct core_arguments *arguments, int pidfd, const char *name, int stream, struct err *err);

/*
 * Copies the stream to a file, at most limit bytes of it; pages of zeros become holes. Ends early without an error at the limit.
 * Sets the alarm of CORE_STALL_S anew after each few MB.
 */
int core_copy(int stream, int file, uint64_t limit, struct err *err);

#endif
