/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the files of /proc/PID. Pure. A process chooses its own name and command line,
 * so these may contain blanks, parentheses, newlines and ESC.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAME_MAX 48
#define PROCESS_COMMAND_MAX 192

/*
 * /proc/PID/statm: resident and shared bytes, and the pages of the program's code, which change
 * only when the process executes another program (0 if missing). Returns false if the text is not a
 * statm, or nothing is resident.
 */
bool proc_parse_statm(const char *text, int64_t page_size, int64_t *ret_rss, int64_t *ret_shared,
		      uint64_t *ret_code);

/* /proc/PID/stat: the parent, and the name in parentheses. */
bool proc_parse_stat(const char *text, pid_t *ret_ppid, char name[static PROCESS_NAME_MAX]);

/*
 * The same file: when the process started, in clock ticks since boot (field 22). With the PID, this
 * identifies the process.
 */
bool proc_parse_start(const char *text, unsigned long long *ret_start);

/*
 * The same file: whether the process is dying, by a signal or by exit, although it is not gone yet
 * (fields 3 and 9).
 */
bool proc_parse_dying(const char *text);

/*
 * Makes of /proc/PID/cmdline (NUL-separated, len bytes) a line with blanks, and the
 * name by which a person knows the process: Ray's own title ("ray::leak"), the
 * script or module for an interpreter ("python3 leak.py"), else the base name of the
 * program. Returns false if the command line is empty (a zombie, a kernel thread):
 * then the caller keeps the name of /proc/PID/stat. If only the program's name is
 * empty, name stays as it was. Both are valid UTF-8 without control characters. In
 * command, the values of options with the name of a credential are asterisks.
 */
bool proc_parse_cmdline(const char *data, size_t len, char name[static PROCESS_NAME_MAX],
			char command[static PROCESS_COMMAND_MAX]);
