/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads /proc/PID/stat of a container, through an O_PATH descriptor of its root directory. Neither
 * waits: a /proc that a FUSE server serves counts as not readable.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define PROC_STAT_MAX 1024 /* 52 numbers and a name of 15 bytes */

/* Reads the text, for proc_parse_stat and the like. Returns false if it cannot be read. */
bool proc_stat_read(int root_fd, pid_t pid, char text[static PROC_STAT_MAX]);

/*
 * Returns whether the process is dead, or exiting, or cannot be read: a large process has to free
 * its memory first, and its parent reaps it only when it has time.
 */
bool proc_stat_gone(int root_fd, pid_t pid);
