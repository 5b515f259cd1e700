/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading what /proc/PID files say. Pure, and wary: a process chooses its own
 * name and command line, so these may hold blanks, parentheses, newlines, ESC.
 */
#ifndef AFTERGLOW_SIDECAR_SAMPLE_PROC_PARSE_H
#define AFTERGLOW_SIDECAR_SAMPLE_PROC_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define PROCESS_NAME_MAX 48
#define PROCESS_COMMAND_MAX 192

/*
 * /proc/PID/statm: resident and shared bytes, and the pages of the program's code: those of a process change only when it
 * executes another program (0 where they are missing). False if the text is not one, or nothing is resident.
 */
bool proc_parse_statm(const char *text, int64_t page_size, int64_t *ret_rss, int64_t *ret_shared, uint64_t *ret_code);

/* /proc/PID/stat: the parent, and the name that stands in parentheses. */
bool proc_parse_stat(const char *text, pid_t *ret_ppid, char name[static PROCESS_NAME_MAX]);

/* The same file: when the process started, in clock ticks since boot (field 22), which with its PID says which process it is. */
bool proc_parse_start(const char *text, unsigned long long *ret_start);

/* The same file: whether a signal has ended the process, or it is on its way out, though it is not gone yet (fields 3 and 9). */
bool proc_parse_dying(const char *text);

/*
 * /proc/PID/cmdline (NUL-separated, len bytes) to one line with blanks, and to
 * the name by which a person knows the process: Ray's own title ("ray::leak"),
 * the script or module for an interpreter ("python3 leak.py"), else the base
 * name of the program. False when the command line is empty (a zombie, a kernel
 * thread): the caller then keeps the name of /proc/PID/stat. So it does when the
 * program's name is empty: name is then left as it was. Both are valid UTF-8
 * without control characters. Values of options that are called like a
 * credential are asterisks in command.
 */
bool proc_parse_cmdline(const char *data, size_t len, char name[static PROCESS_NAME_MAX],
			char command[static PROCESS_COMMAND_MAX]);

#endif
