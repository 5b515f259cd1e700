/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process may still do once it reads what the user wrote: a bounded
 * amount of memory and time, and system calls to read the files it was given and
 * to write its result. No network, no new process, no file by a path of its own
 * namespace.
 */
#ifndef AFTERGLOW_SIDECAR_UNWIND_CONFINE_H
#define AFTERGLOW_SIDECAR_UNWIND_CONFINE_H

#include <stdint.h>

#include "lib/err.h"

#define CONFINE_MEMORY ((uint64_t)48 << 20) /* of our own; the sidecar's container has 64 MiB */
#define CONFINE_ADDRESSES ((uint64_t)8 << 30) /* with the files that are mapped */
#define CONFINE_CPU_SECONDS 20
#define CONFINE_SECONDS 25 /* the recorder ends it after 30 */
#define CONFINE_FILES 640
#define CONFINE_OUTPUT_MAX (4 << 20) /* bytes added to a file */

/*
 * For good. Files are opened by openat2 below root_fd only; written are
 * stdout, stderr and summary_fd (-1: none). When the time is over or something
 * breaks on hostile input, broken is called in a signal handler with a sentence;
 * it must not return.
 */
int confine(int root_fd, int summary_fd, void (*broken)(const char *why), struct err *err);

#endif
