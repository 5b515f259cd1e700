/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a core to the file to which the kernel would have written it, by the kernel's rules: as
 * the user of the process that crashed, in its root and working directory, never over a link,
 * within its core limit (core(5); fs/coredump.c of Linux).
 */
#pragma once

#include "lib/err.h"
#include "node/core_pattern.h"
#include "node/process_status.h"

/*
 * SIGALRM ends a process that writes a core and makes no progress for so long, for example on a
 * file system that hangs. The caller sets the first alarm, and core_copy renews it.
 */
#define CORE_STALL_S 120

/*
 * Checks that the process of pidfd still exists. A process keeps its PID while it dumps core,
 * unless it is killed; so what was read by its PID is valid only if it still exists afterwards.
 * pidfd -1: the kernel has no pidfds, and nothing is checked. -ESRCH: the process has ended.
 */
int core_process_check(int pidfd, struct err *err);
/* Reads the process's status and checks it so. */
int core_process_read(pid_t pid, int pidfd, struct process_status *ret_status, struct err *err);

/*
 * Writes the core that stream delivers, as far as the core limit allows. pidfd: of the process that
 * crashed, as above. name: the expanded pattern. Gives up root, and leaves this process in the root
 * directory of the crashed process, so the caller should exit afterwards. Returns 0 also if the
 * kernel would not have written a core.
 */
int core_file_write(const struct core_arguments *arguments, int pidfd, const char *name, int stream,
		    struct err *err);

/*
 * Copies the stream to a file, at most limit bytes; it is no error if the stream is longer. Pages
 * of zeros become holes. Sets the alarm of CORE_STALL_S anew after every few MB.
 */
int core_copy(int stream, int file, uint64_t limit, struct err *err);
