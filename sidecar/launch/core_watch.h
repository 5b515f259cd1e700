/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks for finished cores of this container in the places that the node's core
 * pattern names.
 *
 * Theory of operation. It is a process of its own, because a working directory may be
 * on a network filesystem that hangs, which must never block the launcher. Over its
 * socket it sends the launcher a message for each core, "core PID TID SIGNAL COMM"
 * with the open file, and obeys the launcher's orders:
 *   again	send all cores once more, because a new sidecar listens
 *   flush	send all cores that are finished by now, and then "flushed"
 * A core is finished when the kernel closes it, which inotify reports. If the pattern
 * is relative, the working directories of all processes are watched, else the
 * directory that it names. /proc/loadavg shows whether there are new processes.
 *
 * What it reads often stays open: each open(2) is charged to the container's memory. In a full
 * container that invokes the OOM killer, which takes a second process while the first one still
 * gives its memory back.
 */
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#define CORE_AGAIN "again"
/* DEV INO MTIME: unlinks that file, if it is a core in a directory where cores appear */
#define CORE_REMOVE "remove"
#define CORE_REMOVED "removed" /* the answer to that order, also if there was no such core */
#define CORE_FLUSH "flush"
#define CORE_FLUSHED "flushed"

/*
 * Starts the process as a child, which ends with its parent and closes unwanted_fd (-1: none),
 * because a directory that hangs must not keep that open. Returns its socket, which does not block;
 * -1 if the process could not be started. core_limit is that of struct command_report (NULL: not
 * known): a process that has it and works in a filesystem in memory loses it.
 */
int core_watch_start(const volatile rlim_t *core_limit, int unwanted_fd, pid_t *ret_pid);
