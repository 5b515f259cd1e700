/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this process may still do once it reads what the user wrote: a bounded
 * amount of memory and time, and system calls to read what it has open and to
 * write its result. No network, no new process, no file by any name: those that it
 * needs come through a socket (unwind/files.h).
 */
#ifndef AFTERGLOW_SIDECAR_UNWIND_CONFINE_H
#define AFTERGLOW_SIDECAR_UNWIND_CONFINE_H

#include <stdint.h>

#include "lib/err.h"

#define CONFINE_MEMORY ((uint64_t)48 << 20) /* of our own; the sidecar's container has 64 MiB */
#define CONFINE_ADDRESSES ((uint64_t)8 << 30) /* with the files that are mapped */
#define CONFINE_CPU_SECONDS 20
#define CONFINE_SECONDS 25 /* the sidecar ends it after 30 */
#define CONFINE_FILES 660 /* those of files.h, and a few */
#define CONFINE_OUTPUT_MAX (4 << 20) /* bytes added to a file */

/*
 * For good. Open stay stdout, stderr, core_fd, files_fd and summary_fd (the latter
 * two may be -1: none); stdin becomes /dev/null. When the time is over or something
 * breaks on hostile input, broken is called in a signal handler with a sentence;
 * it must not return.
 */
int confine(int core_fd, int files_fd, int summary_fd, void (*broken)(const char *why), struct err *err);

#endif
