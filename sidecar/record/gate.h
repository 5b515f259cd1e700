/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What passes descriptors from a launcher's connection to the rest of the sidecar. Anybody in the Ray container may send any
 * descriptor, and some of them stop whoever as much as closes them: a TCP socket with SO_LINGER and unsent data, a file of a
 * FUSE server that does not answer. Nothing of the sidecar uses a descriptor that the gate has not admitted; record/discard
 * closes the others.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_GATE_H
#define AFTERGLOW_SIDECAR_RECORD_GATE_H

#include <stdbool.h>

#include "lib/err.h"

/* What a descriptor has to be for its purpose. */
enum gate_kind {
	GATE_ROOT, /* a directory, opened with O_PATH: nothing can be read or changed through it by itself */
	GATE_CGROUP, /* a directory of cgroups, opened with O_PATH */
	GATE_TERMINATION_LOG, /* a regular file, open for writing, not for appending only */
	GATE_PIDFD, /* what pidfd_open(2) gives, of whatever process */
	GATE_CORE, /* a regular file, open for reading */
	GATE_KIND_COUNT
};

/*
 * 0, or -EPROTO and err says what is wrong; the descriptor stays the caller's either way. Asks no file system: so a
 * server that hangs is found out without waiting for it. Files on FUSE are refused, unless the sidecar's own root is on FUSE,
 * too (Kata Containers).
 */
int gate_admit(int fd, enum gate_kind kind, struct err *err);

bool fd_is_pidfd(int fd);

#endif
