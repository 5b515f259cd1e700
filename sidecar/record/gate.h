/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the descriptors that come over a launcher's connection before the rest of the sidecar uses
 * them. Any process of the Ray container may send any descriptor, and some block even a process
 * that only closes them: a TCP socket with SO_LINGER and unsent data, or a file of a FUSE server
 * that does not answer. The sidecar uses no descriptor that the gate has not admitted;
 * socket/discard closes the others.
 */
#pragma once

#include <stdbool.h>

#include "lib/err.h"

/* What a descriptor must be, by its purpose. */
enum gate_kind {
	/*
	 * A directory, opened with O_PATH: nothing can be read or changed through it by itself. The
	 * kernel's /proc is in it: one that a process made up could show any processes.
	 */
	GATE_ROOT,
	GATE_CGROUP, /* a directory of cgroups, opened with O_PATH */
	GATE_TERMINATION_LOG, /* a regular file, open for writing, not for appending only */
	GATE_PIDFD, /* a result of pidfd_open(2), for any process */
	GATE_CORE, /* a regular file, open for reading */
	GATE_KIND_COUNT
};

/*
 * Returns 0, or -EPROTO with err saying what is wrong; in both cases the descriptor stays the
 * caller's. The check sends no request to a filesystem, so it does not wait for a server that
 * hangs. Files on FUSE are refused, unless the sidecar's own root is on FUSE too (Kata Containers).
 */
int gate_admit(int fd, enum gate_kind kind, struct err *err);

bool fd_is_pidfd(int fd);
/* Whether the kernel wrote what is in that open file of counters. */
bool fd_is_on_cgroupfs(int fd);
