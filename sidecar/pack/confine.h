/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What afterglow-pack may still do once it reads a core: read the one descriptor,
 * write the other, ask for memory, and end.
 */
#ifndef AFTERGLOW_SIDECAR_PACK_CONFINE_H
#define AFTERGLOW_SIDECAR_PACK_CONFINE_H

#include "lib/err.h"

/* Before a second thread begins, which inherits it: nothing is opened any more, all else that was open is closed. */
int pack_confine_files(int core_fd, int out_fd, struct err *err);

/*
 * Before the core is read: limits, and only the system calls that packing takes, for every thread. stream_fd: a pipe that may be
 * read, too; -1: pread is all that there is to read.
 */
int pack_confine_calls(int stream_fd, int out_fd, struct err *err);

#endif
