/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the kernel log of Linux 3.10 to 6.18: records from /dev/kmsg and syslog(2),
 * and the lines about OOM kills and crashes in them. Pure. Nothing is trusted:
 * processes choose their names, which may contain brackets, quotes, blanks, newlines
 * and texts that look like the kernel's own.
 *
 * User space writes to the log too, but never as facility 0: the kernel turns
 * that into facility 1. So only records of facility 0 are believed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of the log. text points into the caller's buffer and is not terminated. */
struct kmsg_record {
	int priority; /* facility << 3 | level */
	int64_t seq; /* -1: not known, as with syslog(2) */
	int64_t time_us; /* since boot, by the kernel's own clock; -1: printk.time is off */
	bool continues; /* the text continues that of the last record (before 4.9) */
	/*
	 * The text is the rest of a line that another processor's line broke in two, so it may
	 * begin with the name of a cgroup. Before 4.9: it is that, or a beginning that the next
	 * record continues.
	 */
	bool is_rest;
	const char *text;
	size_t len;
};

/* Returns whether the facility of a priority is that of the kernel. User space cannot write it. */
static inline bool kmsg_from_kernel(int priority)
{
	return priority >> 3 == 0;
}

/*
 * Parses the result of a read(2) of /dev/kmsg: "PRIORITY,SEQ,USEC,FLAGS[,...];TEXT\n", then "
 * KEY=VALUE\n" lines, which are left out. Decodes \xNN in place. Returns false if it is not such a
 * record.
 */
bool kmsg_parse_device(char *data, size_t len, struct kmsg_record *ret_record);

/*
 * Parses the next line from syslog(2), "<PRIORITY>[ SEC.USEC][ CALLER] TEXT", and moves
 * *p behind it. Returns false at the end. Lines of another form are skipped.
 */
bool kmsg_next_syslog(const char **p, const char *end, struct kmsg_record *ret_record);

/* The kernel's own bound is 15 bytes; kernel threads may have more. */
#define KMSG_NAME_MAX 64
#define KMSG_PATH_MAX 512

enum kmsg_kind {
	KMSG_OTHER,
	KMSG_OOM_INVOKED, /* begins a report. name: the process that could not allocate memory */
	KMSG_OOM_MEMORY, /* "memory: usage 980kB, limit 980kB": usage, limit */
	KMSG_OOM_TABLE, /* header of the table of processes: columns */
	KMSG_OOM_ROW, /* looks like a row of that table: see kmsg_parse_row */
	/*
	 * "oom-kill:constraint=...": scope, both memcgs, name, pid, uid; before 5.0 the memcgs
	 * alone: "Task in ..."
	 */
	KMSG_OOM_CONSTRAINT,
	KMSG_OOM_CHOSEN, /* before 5.0: "Kill process": scope, name, pid. The kernel may kill another process in its place. */
	KMSG_OOM_KILLED, /* "Killed process": name, pid, sizes; scope if the line has it */
	KMSG_OOM_GROUP, /* all processes of task_memcg are killed (memory.oom.group) */
	KMSG_CRASH, /* "x[1]: segfault at ...", "traps: x[1] ...": name, pid */
};

enum kmsg_scope { KMSG_SCOPE_UNKNOWN, KMSG_SCOPE_MEMCG, KMSG_SCOPE_GLOBAL };

/*
 * The columns of the table: 1 is the first number after the brackets; 0: the kernel has no such
 * column.
 */
struct kmsg_columns {
	unsigned int rss, count; /* count: the number of columns before the name */
	unsigned int tgid;
};

/* Numbers are -1 and texts empty if the line does not have them. */
struct kmsg_line {
	enum kmsg_kind kind;
	enum kmsg_scope scope;
	/*
	 * in the node's PID namespace; of a process whose first thread has ended, the ID of another
	 * thread
	 */
	int64_t pid;
	/* of a row of the table: the PID of the process that this thread belongs to; -1 unknown */
	int64_t tgid;
	int64_t uid;
	int64_t anon, file, shmem; /* bytes resident */
	int64_t usage, limit; /* bytes */
	struct kmsg_columns columns;
	char name[KMSG_NAME_MAX]; /* unescaped: escape it to print it */
	char task_memcg[KMSG_PATH_MAX], oom_memcg[KMSG_PATH_MAX];
};

/* Parses the text of a record. */
enum kmsg_kind kmsg_parse_line(const char *text, size_t len, struct kmsg_line *ret_line);

/* Parses a row of the table with these columns: pid, tgid, name, and rss in pages. */
bool kmsg_parse_row(const char *text, size_t len, const struct kmsg_columns *columns,
		    struct kmsg_line *ret_line, int64_t *ret_rss_pages);
