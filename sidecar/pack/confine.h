/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confines afterglow-pack before it reads a core. It may then only read one descriptor,
 * write the other, allocate memory, and end.
 */
#ifndef AFTERGLOW_SIDECAR_PACK_CONFINE_H
#define AFTERGLOW_SIDECAR_PACK_CONFINE_H

#include "lib/err.h"

/*
 * To be called before a second thread starts, which inherits it: closes all other files, and no
 * file can be opened any more.
 */
int pack_confine_files(int core_fd, int out_fd, struct err *err);

/*
 * Before the core is read: limits, and only the system calls that packing takes, for every thread. stream_fd: a pipe that may be
 * read, too; -1: pread is all that there is to read.
 */
int pack_confine_calls(int stream_fd, int out_fd, struct err *err);

#endif
