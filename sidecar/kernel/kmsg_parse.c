/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the lines about OOM kills and crashes in the kernel log of Linux 3.10 to 6.18. */
#include "sidecar/kernel/kmsg_parse.h"

#include <string.h>

#include "lib/kernel_text.h"
#include "lib/macros.h"

static void take_blanks(struct span *s)
{
	while (span_take(s, " "))
		;
}

/*
 * Copies a text, or nothing if it is too long, because half a path would match the path of another
 * cgroup.
 */
static void kmsg_parse_copy(char *to, size_t size, struct span s)
{
	if (s.len >= size)
		s.len = 0;
	memcpy(to, s.at, s.len);
	to[s.len] = '\0';
}

#define COPY(field, s) kmsg_parse_copy(field, sizeof(field), s)

/* Returns the number of ", KEY NUMBERkB" anywhere in s, in bytes, or -1. */
static int64_t kilobytes(struct span s, const char *key)
{
	int64_t kb;

	s = span_after(s, key);
	if (!span_number(&s, INT64_MAX, &kb) || !span_take(&s, "kB") ||
	    __builtin_mul_overflow(kb, 1024, &kb))
		return -1;
	return kb;
}

/*
 * Takes "PID (NAME" up to the last of the texts that may follow. rest is what comes after the name.
 */
static bool take_pid_and_name(struct span *s, const char *const ends[], struct kmsg_line *l)
{
	if (!span_number(s, INT64_MAX, &l->pid) || !span_take(s, " ("))
		return false;
	for (; *ends; ends++) {
		const char *end = span_find_last(*s, *ends);

		if (!end)
			continue;
		COPY(l->name, span_before(*s, end));
		*s = span_from(*s, end);
		return true;
	}
	return false;
}

/*
 * Parses "Killed process 1381 (x) total-vm:8kB, anon-rss:4kB, ...", and of kernels before 5.0 "Kill
 * process 1 (x) score 0 or sacrifice child".
 */
static bool parse_kill(struct span s, struct kmsg_line *l)
{
	static const char *const killed[] = { ") total-vm:", "), UID ", NULL }, *const chosen[] = {
		") score ", NULL
	};
	struct span rest = s;

	if (span_take(&rest, "Memory cgroup out of memory"))
		l->scope = KMSG_SCOPE_MEMCG;
	else if (span_take(&rest, "Out of memory"))
		l->scope = KMSG_SCOPE_GLOBAL;
	/* " (oom_kill_allocating_task)" may stand in between. */
	if (l->scope != KMSG_SCOPE_UNKNOWN)
		rest = span_after(rest, ": ");
	if (span_take(&rest, "Kill process ")) {
		l->kind = KMSG_OOM_CHOSEN;
		return take_pid_and_name(&rest, chosen, l);
	}
	if (!span_take(&rest, "Killed process "))
		return false;
	l->kind = KMSG_OOM_KILLED;
	if (!take_pid_and_name(&rest, killed, l))
		return false;
	l->anon = kilobytes(rest, "anon-rss:");
	l->file = kilobytes(rest, "file-rss:");
	l->shmem = kilobytes(rest, "shmem-rss:");
	rest = span_after(rest, ", UID");
	if (span_take(&rest, ":") || span_take(&rest, " "))
		span_number(&rest, INT64_MAX, &l->uid);
	return true;
}

static bool parse_constraint(struct span s, struct kmsg_line *l)
{
	struct kernel_oom oom;

	if (!kernel_oom_parse(s.at, s.len, &oom) && !kernel_oom_limit_parse(s.at, s.len, &oom))
		return false;
	l->kind = KMSG_OOM_CONSTRAINT;
	l->scope = oom.global ? KMSG_SCOPE_GLOBAL : KMSG_SCOPE_MEMCG;
	l->pid = oom.pid;
	l->uid = oom.uid;
	COPY(l->name, oom.name);
	COPY(l->task_memcg, oom.victim);
	COPY(l->oom_memcg, oom.limit);
	return true;
}

static bool parse_group(struct span s, struct kmsg_line *l)
{
	struct span path;

	if (!kernel_oom_group_parse(s.at, s.len, &path))
		return false;
	l->kind = KMSG_OOM_GROUP;
	COPY(l->task_memcg, path);
	return true;
}

static bool parse_invoked(struct span s, struct kmsg_line *l)
{
	const char *at = span_find(s, " invoked oom-killer: ").at;

	if (!at || !kernel_name_fits(s.at, (size_t)(at - s.at)))
		return false;
	l->kind = KMSG_OOM_INVOKED;
	COPY(l->name, span_before(s, at));
	return true;
}

static bool parse_memory(struct span s, struct kmsg_line *l)
{
	if (!span_take(&s, "memory: "))
		return false;
	l->kind = KMSG_OOM_MEMORY;
	l->usage = kilobytes(s, "usage ");
	l->limit = kilobytes(s, "limit ");
	return true;
}

/*
 * Parses the header "[  pid  ]   uid  tgid total_vm      rss ... name" or a row "[   1381]     0
 * ...".
 */
static bool parse_table(struct span s, struct kmsg_line *l)
{
	if (!span_take(&s, "["))
		return false;
	take_blanks(&s);
	bool header = span_take(&s, "pid");
	if (!header && !span_number(&s, INT64_MAX, &l->pid))
		return false;
	take_blanks(&s);
	if (!span_take(&s, "] "))
		return false;
	if (!header) {
		l->kind = KMSG_OOM_ROW;
		return true;
	}
	for (unsigned int column = 1;; column++) {
		take_blanks(&s);
		struct span word = s;
		while (s.len > 0 && *s.at != ' ')
			s = span_from(s, s.at + 1);
		word.len -= s.len;
		if (word.len == 3 && memcmp(word.at, "rss", 3) == 0)
			l->columns.rss = column;
		if (word.len == 4 && memcmp(word.at, "tgid", 4) == 0)
			l->columns.tgid = column;
		if (word.len == 4 && memcmp(word.at, "name", 4) == 0) {
			l->columns.count = column - 1;
			l->kind = KMSG_OOM_TABLE;
			return true;
		}
		if (word.len == 0 || column > 32)
			return false;
	}
}

bool kmsg_parse_row(const char *text, size_t len, const struct kmsg_columns *columns,
		    struct kmsg_line *ret_line, int64_t *ret_rss_pages)
{
	struct span s = { text, len };
	int64_t number, rss = -1;

	if (!parse_table(s, ret_line) || ret_line->kind != KMSG_OOM_ROW || !columns->count)
		return false;
	ret_line->tgid = -1;
	s = span_after(s, "]");
	for (unsigned int column = 1; column <= columns->count; column++) {
		take_blanks(&s);
		span_take(&s, "-"); /* the sign of oom_score_adj */
		if (!span_number(&s, INT64_MAX, &number))
			return false;
		if (column == columns->rss)
			rss = number;
		if (column == columns->tgid)
			ret_line->tgid = number;
	}
	if (!span_take(&s, " "))
		return false;
	COPY(ret_line->name, s);
	*ret_rss_pages = rss;
	return true;
}

/*
 * Returns whether the text is the rest of the line about an OOM kill, which another processor's
 * line broke in two. It may begin with the name of a cpuset, which a container may have chosen, and
 * syslog(2) does not mark it.
 */
static bool is_rest_of_kill(struct span s)
{
	return span_find(s, ",mems_allowed=").at && !span_take(&s, "oom-kill:constraint=");
}

static bool kmsg_crash_parse(struct span s, struct kmsg_line *l)
{
	struct span name;
	int32_t pid = kernel_crash_parse(s.at, s.len, &name);

	if (!pid)
		return false;
	l->kind = KMSG_CRASH;
	l->pid = pid;
	COPY(l->name, name);
	return true;
}

enum kmsg_kind kmsg_parse_line(const char *text, size_t len, struct kmsg_line *ret_line)
{
	static bool (*const parsers[])(struct span, struct kmsg_line *) = {
		/*
		 * These begin with a process's name, which may look like the beginning of any other
		 * line.
		 */
		kmsg_crash_parse, parse_invoked, parse_constraint, parse_kill,
		parse_group,	  parse_memory,	 parse_table,
	};
	static const struct kmsg_line nothing = { .pid = -1,
						  .tgid = -1,
						  .uid = -1,
						  .anon = -1,
						  .file = -1,
						  .shmem = -1,
						  .usage = -1,
						  .limit = -1 };
	const struct span s = { text, len };
	const bool is_rest = is_rest_of_kill(s);

	*ret_line = nothing;
	for (size_t i = 0; i < ARRAY_SIZE(parsers) && !is_rest; i++) {
		if (parsers[i](s, ret_line))
			return ret_line->kind;
		*ret_line = nothing;
	}
	return KMSG_OTHER;
}

/* --- Records --- */

static int kmsg_parse_hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t kmsg_parse_unescape(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 3 < len && text[i + 1] == 'x' &&
		    kmsg_parse_hex(text[i + 2]) >= 0 && kmsg_parse_hex(text[i + 3]) >= 0) {
			text[n++] = (char)(kmsg_parse_hex(text[i + 2]) << 4 |
					   kmsg_parse_hex(text[i + 3]));
			i += 3;
		} else
			text[n++] = text[i];
	}
	return n;
}

bool kmsg_parse_device(char *data, size_t len, struct kmsg_record *ret_record)
{
	struct kmsg_record r = { 0 };
	struct span s = { data, len };
	int64_t priority;

	if (!span_number(&s, INT64_MAX, &priority) || priority > INT32_MAX || !span_take(&s, ",") ||
	    !span_number(&s, INT64_MAX, &r.seq) || !span_take(&s, ",") ||
	    !span_number(&s, INT64_MAX, &r.time_us) || !span_take(&s, ","))
		return false;
	r.priority = (int)priority;
	r.continues = s.len > 0 && *s.at == '+';
	r.is_rest = s.len > 0 && *s.at == 'c';
	char *text = memchr(s.at, ';', s.len);
	if (!text)
		return false;
	text++;
	char *end = memchr(text, '\n', len - (size_t)(text - data));
	if (!end)
		end = data + len;
	r.text = text;
	r.len = kmsg_parse_unescape(text, (size_t)(end - text));
	*ret_record = r;
	return true;
}

/* Takes "[ SEC.USEC] " or "[ SEC.USEC][  CALLER] ". */
static int64_t kmsg_parse_take_time(struct span *s)
{
	struct span t = *s;
	int64_t sec, usec, us;

	if (!span_take(&t, "["))
		return -1;
	take_blanks(&t);
	if (!span_number(&t, INT64_MAX, &sec) || !span_take(&t, ".") || t.len < 7 ||
	    t.at[6] != ']' || !span_number(&t, INT64_MAX, &usec) || !span_take(&t, "]") ||
	    __builtin_mul_overflow(sec, 1000000, &us) || __builtin_add_overflow(us, usec, &us))
		return -1;
	/* CONFIG_PRINTK_CALLER: T for a task, C for a CPU. */
	const char *close = t.len > 0 && *t.at == '[' ? memchr(t.at, ']', t.len) : NULL;
	if (close)
		t = span_from(t, close + 1);
	span_take(&t, " ");
	*s = t;
	return us;
}

bool kmsg_next_syslog(const char **p, const char *end, struct kmsg_record *ret_record)
{
	while (*p < end) {
		const char *newline = memchr(*p, '\n', (size_t)(end - *p));
		struct span s = { *p, (size_t)((newline ? newline : end) - *p) };
		int64_t priority;

		*p = newline ? newline + 1 : end;
		if (!span_take(&s, "<") || !span_number(&s, INT64_MAX, &priority) ||
		    priority > INT32_MAX || !span_take(&s, ">"))
			continue;
		*ret_record = (struct kmsg_record){ .priority = (int)priority, .seq = -1 };
		ret_record->time_us = kmsg_parse_take_time(&s);
		ret_record->text = s.at;
		ret_record->len = s.len;
		return true;
	}
	return false;
}
