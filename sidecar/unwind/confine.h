/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confines this process before it reads data of the user. It keeps a bounded amount of
 * memory and time, and the system calls to read its open files and to write its
 * result. It has no network, makes no process and opens no file by name: the files
 * that it needs come through a socket (unwind/files.h).
 */
#pragma once

#include <stdint.h>

#include "lib/err.h"

#define CONFINE_MEMORY ((uint64_t)48 << 20) /* of our own; the sidecar has 256 MiB */
#define CONFINE_ADDRESSES ((uint64_t)8 << 30) /* bytes of addresses, including mapped files */
#define CONFINE_CPU_SECONDS 20
#define CONFINE_SECONDS 25 /* the sidecar ends it after 30 */
#define CONFINE_FILES 660 /* those of files.h, and a few */
#define CONFINE_OUTPUT_MAX (4 << 20) /* bytes added to a file */

/*
 * The descriptors that stay open beside stdout and stderr; -1: there is none. stdin becomes
 * /dev/null.
 */
struct confine_fds {
	/* what is read: a core; or the dump, the memory and the mappings of a process that lives */
	int inputs[3];
	int files, summary;
};

/*
 * Confines the process for good. When the time is over or hostile input breaks something, broken is
 * called in a signal handler with a sentence; it must not return.
 */
int confine(const struct confine_fds *fds, void (*broken)(const char *why), struct err *err);
