/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens files of Ray's logs directory safely through its descriptor, finds them by PID, and reads
 * their ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "lib/strbuf.h"

/*
 * Opens a regular file below dir_fd for reading. Follows no link: Ray makes none there,
 * and a link must not make us read another file. FIFOs and devices are opened with
 * O_PATH only. -1: there is no such file.
 */
int ray_file_open(int dir_fd, const char *name, struct stat *ret_st);
/* Opens a file of any kind with O_PATH, with the same restrictions. */
int ray_file_path(int dir_fd, const char *name, struct stat *ret_st);

/*
 * Appends the last max bytes, beginning at the start of a line if possible. False: there is nothing
 * to read.
 */
bool ray_file_tail(int dir_fd, const char *name, size_t max, struct strbuf *out);

/*
 * Calls fn with the name of each file that a worker of that PID writes:
 * worker-ID-JOB-PID.out and .err, python-core-worker-ID_PID.log. The directory
 * is read only up to a bound, because a hostile directory may be long.
 */
void ray_files_of_pid(int dir_fd, pid_t pid, void (*fn)(const char *name, void *arg), void *arg);

/*
 * The bytes that the regular files right in the directory take up on their disk, of as many as that
 * bound permits.
 */
int64_t ray_files_size(int dir_fd);

#define RAY_FILE_NAME_MAX 255

/*
 * Lists the regular files with names that begin with prefix and end with suffix, the newest first,
 * at most max (RAY_FILES_NEWEST_MAX). Only the first RAY_FILES_LOOKED_MAX such names are
 * considered, because the directory may be hostile. Returns their number.
 */
#define RAY_FILES_LOOKED_MAX 1000
#define RAY_FILES_NEWEST_MAX 8
size_t ray_files_newest(int dir_fd, const char *prefix, const char *suffix,
			char ret_names[][RAY_FILE_NAME_MAX + 1], size_t max);

/*
 * Finds the only such file that was modified between two times, Unix ns. False: there is none, or
 * there are several.
 */
bool ray_file_of_time(int dir_fd, const char *prefix, const char *suffix, int64_t from_ns,
		      int64_t until_ns, char ret_name[static RAY_FILE_NAME_MAX + 1]);

/* Whether name is that of a log of the worker with that PID. Pure. */
bool ray_file_is_of_pid(const char *name, pid_t pid);
