/* SPDX-License-Identifier: Apache-2.0 */
/* Parses what Ray's logs say about workers that died. */
#include "sidecar/ray/ray_lines.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/span.h"
#include "lib/units.h"
#include "sidecar/ray/ray_process_lines.h"
#include "sidecar/sample/isolation.h"

static bool has(struct span text, const char *what)
{
	return span_find(text, what).at != NULL;
}

/* Returns the text up to the first of the ends that occurs, else up to the end of the line. */
static struct span until(struct span text, const char *const *ends)
{
	text = span_line(text);
	for (; text.at && *ends; ends++) {
		const char *end = memmem(text.at, text.len, *ends, strlen(*ends));

		if (end)
			text.len = (size_t)(end - text.at);
	}
	return text;
}

#define UNTIL(text, ...) until(text, (const char *const[]){ __VA_ARGS__, NULL })

/*
 * Copies as much as fits, printable (lib/printable.h), with blanks in the place of ASCII's control
 * characters.
 */
static void copy_clean(struct span text, char *out, size_t size)
{
	copy_printable(out, size, text.at ? text.at : "", text.at ? text.len : 0);
	size_t n = strlen(out);
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text.at[i] < ' ' || text.at[i] == 0x7f)
			out[i] = ' ';
	while (n > 0 && out[n - 1] == ' ')
		n--;
	out[n] = '\0';
}

#define COPY(text, field) copy_clean(text, field, sizeof(field))

/* Returns the number at the beginning of text; 0 if there is none or it is larger than max. */
static unsigned int number(struct span text, unsigned int max)
{
	int64_t value = 0;

	span_number(&text, max, &value);
	return (unsigned int)value;
}

#define WORKERS_MAX 100000

/* Returns the number before the first occurrence of what, as in "3 worker(s)". */
static unsigned int number_before(struct span text, const char *what, unsigned int max)
{
	struct span rest = span_find(text, what);
	const char *digit = rest.at;

	if (!digit)
		return 0;
	while (digit > text.at && isdigit((unsigned char)digit[-1]))
		digit--;
	return number((struct span){ digit, (size_t)(rest.at - digit) }, max);
}

/* --- JSON --- */

static int hex4(const char *s)
{
	char text[5] = { s[0], s[1], s[2], s[3], '\0' };
	char *end;
	long value = strtol(text, &end, 16);

	return end == text + 4 && isxdigit((unsigned char)text[0]) ? (int)value : -1;
}

/*
 * Decodes one JSON escape at s (after the backslash) to *out. Returns its length, or 0 if it is
 * incomplete.
 */
static size_t unescape_one(struct span s, char *out)
{
	static const char codes[] = "n\nt\tr\rb\bf\f";

	if (!s.len)
		return 0;
	if (s.at[0] == 'u') {
		int value = s.len >= 5 ? hex4(s.at + 1) : -1;

		*out = value >= ' ' && value < 0x7f   ? (char)value :
		       value == '\n' || value == '\t' ? (char)value :
							'?';
		return MIN(s.len, (size_t)5);
	}
	const char *code = strchr(codes, s.at[0]);
	*out = code && s.at[0] && (code - codes) % 2 == 0 ? code[1] : s.at[0];
	return 1;
}

/*
 * Copies the message of a record in JSON to out, as Ray's C++ or its Python writes it. The line may
 * be cut anywhere; what is escaped twice is unescaped twice.
 */
static struct span json_message(struct span line, char *out, size_t size)
{
	struct span s = span_after(span_after(line, "\"message\":"), "\"");
	size_t n = 0;

	for (size_t i = 0; s.at && i < s.len && s.at[i] != '"' && n < size; i++) {
		char c = s.at[i];

		if (c == '\\')
			i += unescape_one((struct span){ s.at + i + 1, s.len - i - 1 }, &c);
		if (n > 0 && out[n - 1] == '\\' && (c == 'n' || c == 't' || c == '"' || c == '\''))
			out[n - 1] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		else
			out[n++] = c;
	}
	return (struct span){ out, n };
}

/* --- Kinds of records --- */

/* Returns whether a row such as "706\t" begins there. */
static bool row_begins(struct span line)
{
	size_t i = 0;

	while (i < line.len && isdigit((unsigned char)line.at[i]))
		i++;
	return i > 0 && i < line.len && line.at[i] == '\t';
}

/* Takes a row of PID, figure and command: "706\t0.71\tray::leak". Returns false if it is none. */
static bool table_row(struct span *rest, struct span *ret_row)
{
	struct span line = span_line(*rest);

	if (!row_begins(line))
		return false;
	/*
	 * Where ';' stands for the end of a line, another row follows it; but a command may contain
	 * ';' as well.
	 */
	for (size_t i = 0; i + 2 < line.len; i++) {
		size_t next = i + 1 + (line.at[i + 1] == ' ');

		if (line.at[i] == ';' &&
		    row_begins((struct span){ line.at + next, line.len - next }))
			line.len = i;
	}
	*ret_row = line;
	rest->at += line.len;
	rest->len -= line.len;
	return true;
}

static void take_table(struct span text, struct ray_event *e)
{
	struct span rest = span_after(text, "MEM(GB)"), row;
	size_t n = 0;
	char clean[200];

	rest = span_after(rest, "COMMAND");
	while (rest.len && strchr("\r\n; \t", *rest.at)) {
		rest.at++;
		rest.len--;
	}
	while (rest.len && table_row(&rest, &row)) {
		/* Tabs separate the columns, so they are kept. */
		copy_clean(row, clean, sizeof(clean));
		for (size_t i = 0, tabs = 0; clean[i] && i < row.len && tabs < 2; i++)
			if (row.at[i] == '\t') {
				clean[i] = '\t';
				tabs++;
			}
		size_t len = strlen(clean);
		if (n + len + 2 > sizeof(e->table))
			break;
		memcpy(e->table + n, clean, len);
		n += len;
		e->table[n++] = '\n';
		while (rest.len && strchr("\r\n; ", *rest.at)) {
			rest.at++;
			rest.len--;
		}
	}
	e->table[n] = '\0';
}

/* Makes "ray::NAME" of the name that Ray logged. */
static void name_task(struct span name, struct ray_event *e)
{
	static const char prefix[] = "ray::";

	if (!name.at || !name.len || span_begins(name, prefix)) {
		COPY(name, e->task);
		return;
	}
	memcpy(e->task, prefix, sizeof(prefix));
	copy_clean(name, e->task + 5, sizeof(e->task) - 5);
}

/* The victim's title in Ray's table says more than "Keeper.__init__". */
static void name_from_table(struct ray_event *e)
{
	struct span rest = { e->table, strlen(e->table) };

	while (e->pid && rest.len) {
		struct span line = span_take_line(&rest), title = span_find(line, "ray::");

		if ((pid_t)number(line, PID_MAX_LIMIT) == e->pid && title.at) {
			COPY(title, e->task);
			return;
		}
	}
}

static void parse_memory_kill(struct span text, struct ray_event *e)
{
	struct span victim = span_find(text, "Selected to kill:");
	struct span old = span_after(text, "where the task (");

	e->kind = RAY_MEMORY_KILL;
	e->workers = MAX(number_before(text, " worker(s)", WORKERS_MAX), 1u);
	/*
	 * Ray 2.5x: "(Task: job ID=.., task name=leak, .., pid=706, actual memory used=0.71GB,
	 * worker ID=..)"
	 */
	if (victim.at) {
		victim = span_line(victim);
		name_task(UNTIL(span_after(victim, "task name="), ", required", ", pid=", ")"), e);
		COPY(UNTIL(span_after(victim, "worker ID="), ")", ","), e->worker_id);
		/*
	 * Ray 2.2: "where the task (task ID: .., name=leak, pid=1, memory used=1.25GB) was running
	 * was".
	 */
	} else if (old.at) {
		victim = UNTIL(old, ") was running");
		name_task(UNTIL(span_after(victim, "name="), ", pid="), e);
		COPY(UNTIL(span_after(text, "Ray killed this worker (ID: "), ")"), e->worker_id);
	}
	e->pid = (pid_t)number(span_after(victim, "pid="), PID_MAX_LIMIT);
	COPY(UNTIL(span_after(victim, "memory used="), ",", ")"), e->held);
	struct span memory = span_after(text, "was running was ");
	if (!memory.at)
		memory = span_after(span_after(text, "Memory on the node ("), ") was ");
	COPY(UNTIL(memory, ", which", "; "), e->memory);
	COPY(span_line(span_after(text, "OOM kill reason: ")), e->detail);
	if (!e->detail[0])
		COPY(UNTIL(span_after(text, ", which "), ". Ray"), e->detail);
	take_table(text, e);
	name_from_table(e);
}

static void parse_crash(struct span text, struct ray_event *e)
{
	e->kind = RAY_WORKER_CRASH;
	e->workers = 1;
	e->pid = (pid_t)number(span_after(text, "Worker PID: "), PID_MAX_LIMIT);
	COPY(UNTIL(span_after(text, "Worker ID: "), " "), e->worker_id);
	COPY(UNTIL(span_after(text, "Worker exit detail: "), " There are some potential",
		   " Some common causes", ". Traceback", " Traceback"),
	     e->detail);
}

static bool parse_summary(struct span text, struct ray_event *e)
{
	if (!has(text, "killed due to memory pressure (OOM), "))
		return false;
	e->kind = RAY_SUMMARY;
	e->killed = number_before(text, " Workers (tasks", WORKERS_MAX);
	e->crashed = number_before(text, " Workers crashed", WORKERS_MAX);
	return true;
}

/* Skips a prefix such as "[2026-11-21 04:55:34,813 I 297 297] (raylet) ". */
static struct span skip_prefix(struct span text)
{
	struct span line = span_line(text), rest = span_after(line, ") ");

	return rest.at && text.len && text.at[0] == '[' ? rest : line;
}

/*
 * Returns the line that contains the mark, which may be deep in a traceback; the last one if none
 * does.
 */
static struct span line_of(struct span text, const char *mark)
{
	struct span line = span_take_line(&text);

	while (!has(line, mark) && text.len)
		line = span_take_line(&text);
	return skip_prefix(line);
}

void ray_line_shorten(const char *line, size_t len, char *out, size_t size)
{
	static const char begin[] = " An unexpected system state has occurred. ",
			  end[] = " to fix it. ";
	char whole[RAY_RECORD_MAX];
	size_t n = MIN(len, sizeof(whole));

	memcpy(whole, line, n);
	char *from = memmem(whole, n, begin, strlen(begin));
	char *to = from ? memmem(from, n - (size_t)(from - whole), end, strlen(end)) : NULL;
	if (to) {
		to += strlen(end);
		memmove(from + 1, to, n - (size_t)(to - whole));
		n -= (size_t)(to - from) - 1;
	}
	copy_ends(out, size, whole, n);
}

static void parse_other(struct span text, enum ray_kind kind, struct ray_event *e, const char *mark)
{
	struct span line = line_of(text, mark);
	char text_of[RAY_LINE_TEXT_MAX];

	e->kind = kind;
	ray_line_shorten(line.at, line.len, text_of, sizeof(text_of));
	COPY(((struct span){ text_of, strlen(text_of) }), e->detail);
}

static const char failed_start_mark[] = "The process is dead, probably it crashed during start";

/* raylet says so a minute after it started the worker. */
static void parse_failed_start(struct span text, struct ray_event *e)
{
	parse_other(text, RAY_WORKER_CRASH, e, failed_start_mark);
	e->workers = 1;
	e->pid = (pid_t)number(span_after(text, "worker process("), PID_MAX_LIMIT);
}

static const char no_environment_mark[] = "Failed to create runtime env for job ";

/* The last line says what went wrong. A traceback and the output of pip come before it. */
static void parse_no_environment(struct span text, struct ray_event *e)
{
	struct span line = text;

	while (text.len) {
		struct span next = span_take_line(&text);

		while (span_take(&next, " "))
			;
		line = next.len ? next : line;
	}
	parse_other(line, RAY_NO_ENVIRONMENT, e, no_environment_mark);
}

static const char *const fds_marks[] = { "Too many open files",
					 "Too many workers, failed to create a file", NULL };
/* clang-format off */
static const char *const lost_node_marks[] = {
	"marked as dead", "marked dead because", "missed too many heartbeats",
	"because the health check failed", "Health check failed for node",
	"Last heartbeat was sent", "Missed heartbeat", NULL
};
/* clang-format on */

static const char *mark_in(struct span text, const char *const *marks)
{
	while (*marks && !has(text, *marks))
		marks++;
	return *marks;
}

/* The record in which raylet gives up may say why in words that we know. */
static bool has_no_cause(enum ray_kind kind)
{
	return kind == RAY_NOTHING || kind == RAY_GAVE_UP;
}

/*
 * "... can fulfill resource request {'CPU': 1.0, 'memory': 1363148800.0}. Add suitable node types
 * ..."
 */
static bool parse_infeasible(struct span text, struct ray_event *ret_event)
{
	struct span request =
		span_find(span_after(text, "No available node types can fulfill"), "{");

	if (!request.at)
		return false;
	ret_event->kind = RAY_INFEASIBLE;
	COPY(UNTIL(request, ". Add suitable"), ret_event->detail);
	return true;
}

bool ray_record_parse(const char *record, size_t len, struct ray_event *ret_event)
{
	char message[RAY_RECORD_MAX];
	struct span text = { record, MIN(len, (size_t)RAY_RECORD_MAX) };

	*ret_event = (struct ray_event){ .kind = RAY_NOTHING };
	/* The cheap checks come first, because most records are of no interest. */
	if (text.len && text.at[0] == '{')
		text = json_message(text, message, sizeof(message));
	if (parse_summary(text, ret_event) || parse_infeasible(text, ret_event))
		return true;
	/*
	 * The GCS logs the exits of all nodes' workers. Each node's raylet logs its own, so the
	 * GCS's record is not needed.
	 */
	if (has(text, "Reporting worker exit"))
		return false;
	if (has(text, "running low on memory") ||
	    (has(text, "Memory on the node (") && has(text, "illing ")))
		parse_memory_kill(text, ret_event);
	else if (has(text, "A worker died or was killed"))
		parse_crash(text, ret_event);
	else if (has(text, failed_start_mark))
		parse_failed_start(text, ret_event);
	else if (has(text, no_environment_mark))
		parse_no_environment(text, ret_event);
	bool may_lack_fds = IS_ONE_OF(ret_event->kind, RAY_NOTHING, RAY_WORKER_CRASH);
	const char *mark = may_lack_fds ? mark_in(text, fds_marks) : NULL;
	if (mark) /* the cause, for a worker that crashed */
		parse_other(text, RAY_FDS_EXHAUSTED, ret_event, mark);
	if (ret_event->kind == RAY_NOTHING && has(text, "*** SIG") &&
	    has(text, " received at time="))
		parse_other(text, RAY_DAEMON_CRASH, ret_event, "*** SIG");
	if (ret_event->kind == RAY_NOTHING && ray_process_record_parse(text, ret_event, &mark))
		parse_other(text, ret_event->kind, ret_event, mark);
	mark = has_no_cause(ret_event->kind) ? mark_in(text, lost_node_marks) : NULL;
	if (mark)
		parse_other(text, RAY_NODE_LOST, ret_event, mark);
	mark = has_no_cause(ret_event->kind) ? isolation_remark(text.at, text.len) : NULL;
	if (mark) {
		ret_event->kind = RAY_ISOLATION;
		COPY(((struct span){ mark, strlen(mark) }), ret_event->detail);
	}
	return ret_event->kind != RAY_NOTHING;
}

bool ray_line_begins_record(const char *line, size_t len)
{
	if (len < 2)
		return false;
	if (line[0] == '{')
		return true;
	if (line[0] == '[')
		return isdigit((unsigned char)line[1]) ||
		       strncmp(line, "[state-dump", MIN(len, (size_t)11)) == 0;
	return len >= 8 && isdigit((unsigned char)line[0]) && line[4] == '-' && line[7] == '-';
}

void ray_worker_log_parse(const char *text, size_t len, char *task, size_t task_size,
			  char *logged_signal, size_t signal_size)
{
	struct span rest = { text, len };

	while (rest.len) {
		struct span line = span_take_line(&rest);
		struct span name = span_after(line, ":task_name:");
		struct span caught = span_after(line, "*** SIG");

		if (!name.at)
			name = span_after(line, ":actor_name:");
		if (name.at && name.at - line.at <= 12 && line.at[0] == ':') {
			struct ray_event e = { .kind = RAY_NOTHING };

			name_task(name, &e);
			copy_clean((struct span){ e.task, strlen(e.task) }, task, task_size);
		}
		if (caught.at && has(caught, " received"))
			copy_clean(UNTIL(((struct span){ caught.at - 3, caught.len + 3 }),
					 " received"),
				   logged_signal, signal_size);
	}
}
