/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confines afterglow-pack before it reads a core. It may then only read one descriptor,
 * write the other, allocate memory, and end.
 */
#pragma once

#include "lib/err.h"

/*
 * Closes all other files; from now on no file can be opened by a path. To be called before the
 * second thread starts, which inherits the restriction.
 */
int pack_confine_files(int core_fd, int out_fd, struct err *err);

/*
 * To be called before the core is read: sets limits, and allows only the system calls that packing
 * needs, for every thread. stream_fd: a pipe that may be read, too; -1: there is none, and only
 * pread of the core is allowed.
 */
int pack_confine_calls(int stream_fd, int out_fd, struct err *err);
