/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the last lines that one of Ray's own processes wrote into its logs, for the front of a
 * report.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sidecar/ray/ray_error.h"
#include "sidecar/ray/ray_lines.h"
#include "sidecar/ray/ray_process.h"

#define RAY_LAST_LINES_MAX 4 /* of one file */
#define RAY_LAST_LINE_MAX RAY_LINE_TEXT_MAX
/*
 * The beginning of the name of a supervisor's log, and so of a line in which it says that it
 * stopped its driver
 */
#define RAY_STOP_LOG "jobs/supervisor-"

/*
 * Appends the last lines of text to the string out, at most RAY_LAST_LINES_MAX, each as "FILE:
 * LINE\n" in printable UTF-8. Leaves out the dumps of Ray's state, which fill pages, and what does
 * not fit into the size bytes of out. Pure.
 */
void ray_last_lines_of(const char *file, const char *text, size_t len, char *out, size_t size);

/* A process whose logs are read. The times are needed for a driver, whose log is found by them. */
struct ray_process_life {
	enum ray_process_kind kind; /* RAY_PROCESS_NONE: a worker */
	pid_t pid; /* of a worker or a raylet; 0: not known */
	int64_t from_unix_ns, until_unix_ns; /* its life */
};

/*
 * Appends the last lines of the process's own logs below dir_fd (-1: there are none). Before those
 * of a driver stands what its supervisor wrote about stopping it. Of a driver's log it also finds
 * Ray's exception that ended it; else *ret_error stays as it is.
 */
void ray_last_lines(int dir_fd, const struct ray_process_life *life, char *out, size_t size,
		    struct ray_error *ret_error);

/*
 * Copies from lines of ray_last_lines the last that names an exception, as Python's traceback does
 * at its end: "ValueError: x", "torch.OutOfMemoryError". False: there is none. Pure.
 */
bool ray_last_exception(const char *lines, char ret_line[static RAY_LAST_LINE_MAX]);
