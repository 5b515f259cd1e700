/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for finished cores where the node's core pattern puts those of this
 * container.
 *
 * Theory of operation. It is a process of its own, because a working directory
 * may lie on a network filesystem that hangs: that must never hold up the
 * launcher. Over its socket the launcher gets one message for each core,
 * "core PID TID SIGNAL COMM" with the open file, and answers to its orders:
 *   again	all there are once more: somebody new listens
 *   flush	all that are finished by now, and then "flushed"
 * A core is finished when the kernel closes it, which inotify tells; the
 * directories are watched that some process works in (pattern relative) or that
 * the pattern names. A look at /proc/loadavg tells whether there are new
 * processes to ask for theirs.
 */
#ifndef AFTERGLOW_SIDECAR_LAUNCH_CORE_WATCH_H
#define AFTERGLOW_SIDECAR_LAUNCH_CORE_WATCH_H

#include <sys/types.h>

#define CORE_AGAIN "again"
#define CORE_REMOVE "remove" /* DEV INO MTIME: unlinks that core, if it is one and lies where cores do */
#define CORE_REMOVED "removed" /* the answer to that order, also when there was none */
#define CORE_FLUSH "flush"
#define CORE_FLUSHED "flushed"

/* Starts it as a child, which closes unwanted_fd (-1: none): a directory that hangs must not keep that open. Its socket, non-blocking; -1: there is none. It ends with its parent. */
int core_watch_start(int unwanted_fd, pid_t *ret_pid);

#endif
