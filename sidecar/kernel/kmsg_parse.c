/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the lines about OOM kills and crashes in the kernel log of Linux 3.10 to 6.18. */
#include "sidecar/kernel/kmsg_parse.h"

#include <string.h>

#include "lib/macros.h"

#define COMM_MAX 15 /* TASK_COMM_LEN without the NUL */

/* A piece of a line. */
struct span {
	const char *p;
	size_t len;
};

static void span_skip(struct span *s, size_t n)
{
	s->p += n;
	s->len -= n;
}

static bool take(struct span *s, const char *word)
{
	size_t n = strlen(word);

	if (s->len < n || memcmp(s->p, word, n) != 0)
		return false;
	span_skip(s, n);
	return true;
}

static void take_blanks(struct span *s)
{
	while (s->len > 0 && *s->p == ' ')
		span_skip(s, 1);
}

/*
 * Takes digits. Returns false, and leaves *ret_value untouched, if there are none or the number
 * overflows.
 */
static bool take_number(struct span *s, int64_t *ret_value)
{
	int64_t value = 0;
	size_t n = 0;

	for (; n < s->len && s->p[n] >= '0' && s->p[n] <= '9'; n++)
		if (__builtin_mul_overflow(value, 10, &value) || __builtin_add_overflow(value, s->p[n] - '0', &value))
			return false;
	if (n == 0)
		return false;
	span_skip(s, n);
	*ret_value = value;
	return true;
}

/* Returns the first place of word in s, or NULL. */
static const char *find(struct span s, const char *word)
{
	return memmem(s.p, s.len, word, strlen(word));
}

static const char *find_last(struct span s, const char *word)
{
	size_t n = strlen(word);

	for (size_t i = s.len; i >= n; i--)
		if (memcmp(s.p + i - n, word, n) == 0)
			return s.p + i - n;
	return NULL;
}

static struct span before(struct span s, const char *at)
{
	return (struct span){ s.p, (size_t)(at - s.p) };
}

static struct span from(struct span s, const char *at)
{
	return (struct span){ at, s.len - (size_t)(at - s.p) };
}

/*
 * Copies a text, or nothing if it is too long, because half a path would match the path of another
 * cgroup.
 */
static void copy(char *to, size_t size, struct span s)
{
	if (s.len >= size)
		s.len = 0;
	memcpy(to, s.p, s.len);
	to[s.len] = '\0';
}

#define COPY(field, s) copy(field, sizeof(field), s)

/* Returns the number of ", KEY NUMBERkB" anywhere in s, in bytes, or -1. */
static int64_t kilobytes(struct span s, const char *key)
{
	const char *at = find(s, key);
	int64_t kb;

	if (!at)
		return -1;
	s = from(s, at);
	span_skip(&s, strlen(key));
	if (!take_number(&s, &kb) || !take(&s, "kB") || __builtin_mul_overflow(kb, 1024, &kb))
		return -1;
	return kb;
}

/*
 * Takes "PID (NAME" up to the last of the texts that may follow. rest is what comes after the name.
 */
static bool take_pid_and_name(struct span *s, const char *const ends[], struct kmsg_line *l)
{
	if (!take_number(s, &l->pid) || !take(s, " ("))
		return false;
	for (; *ends; ends++) {
		const char *end = find_last(*s, *ends);

		if (!end)
			continue;
		COPY(l->name, before(*s, end));
		*s = from(*s, end);
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
	static const char *const killed[] = { ") total-vm:", "), UID ", NULL }, *const chosen[] = { ") score ", NULL };
	struct span rest = s;
	const char *at;

	if (take(&rest, "Memory cgroup out of memory"))
		l->scope = KMSG_SCOPE_MEMCG;
	else if (take(&rest, "Out of memory"))
		l->scope = KMSG_SCOPE_GLOBAL;
	if (l->scope != KMSG_SCOPE_UNKNOWN) {
		/* " (oom_kill_allocating_task)" may stand in between. */
		at = find(rest, ": ");
		if (!at)
			return false;
		rest = from(rest, at + 2);
	}
	if (take(&rest, "Kill process ")) {
		l->kind = KMSG_OOM_CHOSEN;
		return take_pid_and_name(&rest, chosen, l);
	}
	if (!take(&rest, "Killed process "))
		return false;
	l->kind = KMSG_OOM_KILLED;
	if (!take_pid_and_name(&rest, killed, l))
		return false;
	l->anon = kilobytes(rest, "anon-rss:");
	l->file = kilobytes(rest, "file-rss:");
	l->shmem = kilobytes(rest, "shmem-rss:");
	at = find(rest, ", UID");
	if (at) {
		rest = from(rest, at + strlen(", UID"));
		if (take(&rest, ":") || take(&rest, " "))
			take_number(&rest, &l->uid);
	}
	return true;
}

/*
 * Parses this line:
 *
 * oom-kill:constraint=C,nodemask=N,cpuset=P,mems_allowed=M,{global_oom|oom_memcg=P},task_memcg=P,task=T,pid=D,uid=D
 *
 * Lists of nodes contain commas, and a name may contain ",pid=". So the last pid counts, and the
 * name is what follows a ",task=" at most 15 bytes before it.
 */
static bool parse_constraint(struct span s, struct kmsg_line *l)
{
	const char *task_memcg, *oom_memcg, *pid, *task = NULL;
	struct span rest;

	if (!take(&s, "oom-kill:constraint="))
		return false;
	pid = find_last(s, ",pid=");
	if (!pid)
		return false;
	rest = from(s, pid + strlen(",pid="));
	if (!take_number(&rest, &l->pid))
		return false;
	if (take(&rest, ",uid="))
		take_number(&rest, &l->uid);
	s = before(s, pid);
	rest = s;
	while ((task = find(rest, ",task="))) {
		rest = from(rest, task + strlen(",task="));
		if (rest.len <= COMM_MAX)
			break;
	}
	if (!task)
		return false;
	COPY(l->name, rest);
	s = before(s, task);
	task_memcg = find(s, ",task_memcg=");
	if (!task_memcg)
		return false;
	COPY(l->task_memcg, from(s, task_memcg + strlen(",task_memcg=")));
	s = before(s, task_memcg);
	oom_memcg = find(s, ",oom_memcg=");
	if (oom_memcg) {
		l->scope = KMSG_SCOPE_MEMCG;
		COPY(l->oom_memcg, from(s, oom_memcg + strlen(",oom_memcg=")));
	} else
		l->scope = KMSG_SCOPE_GLOBAL;
	l->kind = KMSG_OOM_CONSTRAINT;
	return true;
}

/* Parses "Task in P killed as a result of limit of P". */
static bool parse_limit(struct span s, struct kmsg_line *l)
{
	static const char middle[] = " killed as a result of limit of ";
	const char *at;

	if (!take(&s, "Task in "))
		return false;
	at = find(s, middle);
	if (!at)
		return false;
	l->kind = KMSG_OOM_LIMIT;
	l->scope = KMSG_SCOPE_MEMCG;
	COPY(l->task_memcg, before(s, at));
	COPY(l->oom_memcg, from(s, at + strlen(middle)));
	return true;
}

/* Parses "Tasks in P are going to be killed due to memory.oom.group set". */
static bool parse_group(struct span s, struct kmsg_line *l)
{
	const char *at;

	if (!take(&s, "Tasks in "))
		return false;
	at = find_last(s, " are going to be killed due to memory.oom.group set");
	if (!at)
		return false;
	l->kind = KMSG_OOM_GROUP;
	COPY(l->task_memcg, before(s, at));
	return true;
}

static bool parse_invoked(struct span s, struct kmsg_line *l)
{
	const char *at = find(s, " invoked oom-killer: ");

	if (!at)
		return false;
	l->kind = KMSG_OOM_INVOKED;
	COPY(l->name, before(s, at));
	return true;
}

static bool parse_memory(struct span s, struct kmsg_line *l)
{
	if (!take(&s, "memory: "))
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
	bool header;

	if (!take(&s, "["))
		return false;
	take_blanks(&s);
	header = take(&s, "pid");
	if (!header && !take_number(&s, &l->pid))
		return false;
	take_blanks(&s);
	if (!take(&s, "] "))
		return false;
	if (!header) {
		l->kind = KMSG_OOM_ROW;
		return true;
	}
	for (unsigned int column = 1;; column++) {
		struct span word;

		take_blanks(&s);
		word = s;
		while (s.len > 0 && *s.p != ' ')
			span_skip(&s, 1);
		word.len -= s.len;
		if (word.len == 3 && memcmp(word.p, "rss", 3) == 0)
			l->columns.rss = column;
		if (word.len == 4 && memcmp(word.p, "tgid", 4) == 0)
			l->columns.tgid = column;
		if (word.len == 4 && memcmp(word.p, "name", 4) == 0) {
			l->columns.count = column - 1;
			l->kind = KMSG_OOM_TABLE;
			return true;
		}
		if (word.len == 0 || column > 32)
			return false;
	}
}

bool kmsg_parse_row(const char *text, size_t len, const struct kmsg_columns *columns, struct kmsg_line *ret_line,
		    int64_t *ret_rss_pages)
{
	struct span s = { text, len };
	int64_t number, rss = -1;

	if (!parse_table(s, ret_line) || ret_line->kind != KMSG_OOM_ROW || !columns->count)
		return false;
	ret_line->tgid = -1;
	s = from(s, find(s, "]") + 1);
	for (unsigned int column = 1; column <= columns->count; column++) {
		take_blanks(&s);
		take(&s, "-"); /* the sign of oom_score_adj */
		if (!take_number(&s, &number))
			return false;
		if (column == columns->rss)
			rss = number;
		if (column == columns->tgid)
			ret_line->tgid = number;
	}
	if (!take(&s, " "))
		return false;
	COPY(ret_line->name, s);
	*ret_rss_pages = rss;
	return true;
}

/* Parses "NAME[PID]" at the end of s. */
static bool parse_name_and_pid(struct span s, struct kmsg_line *l)
{
	const char *bracket = find_last(s, "[");
	struct span number;

	if (!bracket || bracket == s.p)
		return false;
	number = from(s, bracket + 1);
	if (!take_number(&number, &l->pid) || !take(&number, "]") || number.len)
		return false;
	COPY(l->name, before(s, bracket));
	return true;
}

/*
 * Parses the lines of x86, "x[1]: segfault at 10 ip ..." and "traps: x[1] general protection fault
 * ip:...", and of arm64, "x[1]: unhandled ...".
 */
static bool parse_crash(struct span s, struct kmsg_line *l)
{
	static const char *const kinds[] = { "]: segfault at ", "]: unhandled ", "]: undefined instruction", "]: bad frame in " };
	bool traps = take(&s, "traps: ");

	l->kind = KMSG_CRASH;
	if (traps) {
		/* Takes the first "[digits] " that follows a name of at most 15 bytes. */
		for (size_t i = 0; i < s.len && i < COMM_MAX + 12; i++)
			if (s.p[i] == ']' && i + 1 < s.len && s.p[i + 1] == ' ' &&
			    parse_name_and_pid((struct span){ s.p, i + 1 }, l))
				return true;
		return false;
	}
	/*
	 * The first match counts: no name is long enough to contain a second one, but the file that
	 * the line names at its end is.
	 */
	for (size_t k = 0; k < ARRAY_SIZE(kinds); k++) {
		struct span rest = s;
		const char *at;

		while ((at = find(rest, kinds[k]))) {
			if (parse_name_and_pid(before(s, at + 1), l))
				return true;
			rest = from(rest, at + 1);
		}
	}
	return false;
}

enum kmsg_kind kmsg_parse_line(const char *text, size_t len, struct kmsg_line *ret_line)
{
	static bool (*const parsers[])(struct span, struct kmsg_line *) = {
		parse_constraint, parse_kill, parse_limit, parse_group, parse_invoked, parse_memory, parse_table, parse_crash,
	};

	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		*ret_line = (struct kmsg_line){
			.pid = -1, .tgid = -1, .uid = -1, .anon = -1, .file = -1, .shmem = -1, .usage = -1, .limit = -1,
		};
		if (parsers[i]((struct span){ text, len }, ret_line))
			return ret_line->kind;
	}
	*ret_line = (struct kmsg_line){ .pid = -1, .tgid = -1, .uid = -1, .anon = -1, .file = -1, .shmem = -1, .usage = -1, .limit = -1 };
	return KMSG_OTHER;
}

/* --- Records --- */

static int hex(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static size_t unescape(char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 3 < len && text[i + 1] == 'x' && hex(text[i + 2]) >= 0 && hex(text[i + 3]) >= 0) {
			text[n++] = (char)(hex(text[i + 2]) << 4 | hex(text[i + 3]));
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
	char *text, *end;

	if (!take_number(&s, &priority) || priority > INT32_MAX || !take(&s, ",") || !take_number(&s, &r.seq) ||
	    !take(&s, ",") || !take_number(&s, &r.time_us) || !take(&s, ","))
		return false;
	r.priority = (int)priority;
	r.continues = s.len > 0 && *s.p == '+';
	text = memchr(s.p, ';', s.len);
	if (!text)
		return false;
	text++;
	end = memchr(text, '\n', len - (size_t)(text - data));
	if (!end)
		end = data + len;
	r.text = text;
	r.len = unescape(text, (size_t)(end - text));
	*ret_record = r;
	return true;
}

/* Takes "[ SEC.USEC] " or "[ SEC.USEC][  CALLER] ". */
static int64_t take_time(struct span *s)
{
	struct span t = *s;
	int64_t sec, usec, us;
	const char *close;

	if (!take(&t, "["))
		return -1;
	take_blanks(&t);
	if (!take_number(&t, &sec) || !take(&t, ".") || t.len < 7 || t.p[6] != ']' || !take_number(&t, &usec) ||
	    !take(&t, "]") || __builtin_mul_overflow(sec, 1000000, &us) || __builtin_add_overflow(us, usec, &us))
		return -1;
	/* CONFIG_PRINTK_CALLER: T for a task, C for a CPU. */
	close = t.len > 0 && *t.p == '[' ? memchr(t.p, ']', t.len) : NULL;
	if (close)
		t = from(t, close + 1);
	take(&t, " ");
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
		if (!take(&s, "<") || !take_number(&s, &priority) || priority > INT32_MAX || !take(&s, ">"))
			continue;
		*ret_record = (struct kmsg_record){ .priority = (int)priority, .seq = -1 };
		ret_record->time_us = take_time(&s);
		ret_record->text = s.p;
		ret_record->len = s.len;
		return true;
	}
	return false;
}
