/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the last lines that one of Ray's own processes wrote into its logs. */
#include "sidecar/ray/ray_last_lines.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/span.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/ray/ray_files.h"
#include "sidecar/ray/ray_process_lines.h"

#define DRIVER_LOG "job-driver-"
#define FILE_SHOWN_MAX 100 /* bytes of a file's name, which the container chooses */
#define RAYLETS_MAX 16
#define RECENT_NS (60 * NS_PER_SEC) /* older words of a raylet are about other workers */
#define TAIL_MAX (32 * 1024) /* bytes; a dump of raylet's state has twenty */
#define DRIVER_LOG_NS \
	(2 * NS_PER_SEC) /* between a driver's start or end and the change of its log, at most */

/*
 * Returns whether it is a line of the stacks of all threads, or of the list of modules, that Python
 * writes at a fatal error; a worker's mark for Ray's log monitor; or what raylet says of each agent
 * that ends. The top of the stack of the thread that crashed is none, as it says more.
 */
static bool is_of_fixed_text(struct span line, struct span before)
{
	/* clang-format off */
	static const char *const heads[] = {
		"Current thread 0x", "Stack (most recent call first)", "Thread 0x",
		"Python runtime state: ", "Extension modules: ", ":job_id:", ":task_name:", ":actor_name:",
		"The raylet fate shares ", "- The version of `grpcio`", "- The agent failed to ", "- The agent is killed by ",
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_SIZE(heads); i++)
		if (span_begins(line, heads[i]))
			return true;
	/* A traceback has a comma before "in". */
	return span_begins(line, "  File \"") && span_find(line, " in ").at &&
	       !span_find(line, ", in ").at && !span_begins(before, heads[0]) &&
	       !span_begins(before, heads[1]);
}

/*
 * Returns whether it is a frame of a stack, or a repetition of the signal that the stack is about:
 * Ray writes it twice, and so does each child that ends by it.
 */
static bool is_of_stack(struct span line, struct span earlier)
{
	struct span caught = span_find(line, "*** SIG");
	bool logged = span_begins(line, "[");
	char first[] = "\n*** SIGTERM";

	if (caught.at == line.at || (logged && caught.at)) {
		memcpy(first + 1, caught.at, MIN(caught.len, strlen(first + 1)));
		if (span_find(earlier, first).at || span_begins(earlier, first + 1))
			return true;
	}
	return span_find(line, "   @     0x").at || span_find(line, "PC: @ ").at ||
	       span_find(line, logged ? ": Stack trace: " : ") [0x").at;
}

static bool is_worth(const char *text, struct span line)
{
	struct span earlier = { text, (size_t)(line.at - text) };
	const char *end = earlier.len > 1 ? memrchr(text, '\n', earlier.len - 1) : NULL;

	/* Statistics of the GCS server begin with a tab. */
	if (span_begins(line, "\t") || span_begins(line, "[state-dump]") ||
	    is_of_stack(line, earlier) ||
	    is_of_fixed_text(line, end ? span_from(earlier, end + 1) : earlier))
		return false;
	/* Blanks, or what underlines a part of the line above in a traceback. */
	for (size_t i = 0; i < line.len; i++)
		if ((unsigned char)line.at[i] > ' ' && line.at[i] != '^' && line.at[i] != '~')
			return true;
	return false;
}

static void append(const char *file, const char *line, size_t len, char *out, size_t size)
{
	char shortened[RAY_LAST_LINE_MAX], clean[RAY_LAST_LINE_MAX], name[FILE_SHOWN_MAX];
	size_t n = strlen(out);

	ray_line_shorten(line, len, shortened, sizeof(shortened));
	/*
	 * Ray's Python logs have tabs between their columns, and a line of a report may not contain
	 * tabs.
	 */
	for (char *tab = shortened; (tab = strchr(tab, '\t'));)
		*tab = ' ';
	copy_printable(clean, sizeof(clean), shortened, strlen(shortened));
	copy_printable(name, sizeof(name), file, strlen(file));
	if (n + strlen(name) + strlen(clean) + 4 <= size)
		snprintf(out + n, size - n, "%s: %s\n", name, clean);
}

void ray_last_lines_of(const char *file, const char *text, size_t len, char *out, size_t size)
{
	struct span last[RAY_LAST_LINES_MAX];
	size_t n = 0;

	for (const char *end = text + len; end > text && n < RAY_LAST_LINES_MAX;) {
		const char *newline = memrchr(text, '\n', (size_t)(end - text));
		const char *at = newline ? newline + 1 : text;

		last[n] = (struct span){ at, (size_t)(end - at) };
		n += is_worth(text, last[n]);
		end = newline ? newline : text;
	}
	while (n-- > 0)
		append(file, last[n].at, last[n].len, out, size);
}

/*
 * Appends the last lines of a file, which the report calls by the label. Of a driver's log it finds
 * Ray's exception, too; ret_error NULL: it is no driver's.
 */
static void append_file(int dir_fd, const char *name, const char *label, char *out, size_t size,
			struct ray_error *ret_error)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);

	if (!ray_file_tail(dir_fd, name, TAIL_MAX, &text))
		return;
	ray_last_lines_of(label, strbuf_str(&text), text.len, out, size);
	if (ret_error)
		ray_error_parse(strbuf_str(&text), text.len, ret_error);
}

/*
 * Several raylets of one machine write raylet.out, raylet.1.out and so on, and raylet.err likewise.
 * Returns the number of those of that process: 0 also if there is only one raylet.out, -1 if it is
 * not known.
 */
static int raylet_log_number(int dir_fd, pid_t pid)
{
	int n = 0;

	for (; pid > 0 && n < RAYLETS_MAX; n++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);
		char name[24] = "raylet.out";

		if (n)
			snprintf(name, sizeof(name), "raylet.%d.out", n);
		if (!ray_file_tail(dir_fd, name, TAIL_MAX, &text))
			break;
		for (struct span rest = { strbuf_str(&text), text.len }; rest.len;)
			if (ray_process_lines_writer(span_take_line(&rest)) == pid)
				return n;
	}
	return n > 1 ? -1 : 0;
}

static void append_raylet(int dir_fd, const struct ray_process_life *life, char *out, size_t size)
{
	static const char *const kinds[] = { "err", "out" };
	int n = raylet_log_number(dir_fd, life->pid);
	char name[24];

	for (size_t i = 0; n >= 0 && i < ARRAY_SIZE(kinds); i++) {
		snprintf(name, sizeof(name), "raylet.%s", kinds[i]);
		if (n)
			snprintf(name, sizeof(name), "raylet.%d.%s", n, kinds[i]);
		append_file(dir_fd, name, name, out, size, NULL);
	}
}

struct worker_lines {
	int dir_fd;
	bool found;
	pid_t pid;
	char *out;
	size_t size;
};

/*
 * Reads what a worker wrote to its standard error. The name of the file has 56 digits of the
 * worker's ID and is shortened.
 */
static void append_worker(const char *name, void *arg)
{
	struct worker_lines *l = arg;
	size_t len = strlen(name);
	char label[32];

	if (strncmp(name, "worker-", 7) != 0 || len < 4 || strcmp(name + len - 4, ".err") != 0)
		return;
	l->found = true;
	snprintf(label, sizeof(label), "worker-%d.err", (int)l->pid);
	append_file(l->dir_fd, name, label, l->out, l->size, NULL);
}

/*
 * The supervisor that stops a driver says in a log of its own, which has the name of the job, as
 * the driver's has, whether it terminated "gracefully". The names of job, actor and node follow.
 */
static void append_stop(int dir_fd, const char *driver, char *out, size_t size)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TAIL_MAX);
	char name[sizeof(RAY_STOP_LOG) + RAY_FILE_NAME_MAX];

	snprintf(name, sizeof(name), RAY_STOP_LOG "%s", driver + strlen(DRIVER_LOG));
	if (!ray_file_tail(dir_fd, name, TAIL_MAX, &text))
		return;
	for (struct span rest = { strbuf_str(&text), text.len }; rest.len;) {
		struct span line = span_take_line(&rest);

		line.len -= span_find(line, " job_id=").len;
		if (span_find(line, "terminate").at && span_find(line, " gracefully").at)
			append(name, line.at, line.len, out, size);
	}
}

void ray_last_lines(int dir_fd, const struct ray_process_life *life, char *out, size_t size,
		    struct ray_error *ret_error)
{
	const char *names[RAY_PROCESS_LOGS_MAX];
	char file[RAY_FILE_NAME_MAX + 1];
	struct worker_lines worker = { dir_fd, false, life->pid, out, size };

	if (dir_fd < 0)
		return;
	if (life->kind == RAY_PROCESS_RAYLET) {
		append_raylet(dir_fd, life, out, size);
		return;
	}
	bool is_worker = life->kind == RAY_PROCESS_NONE && life->pid > 0;
	if (is_worker)
		ray_files_of_pid(dir_fd, life->pid, append_worker, &worker);
	ray_process_logs(life->kind, names);
	for (size_t i = 0; i < RAY_PROCESS_LOGS_MAX && names[i]; i++)
		append_file(dir_fd, names[i], names[i], out, size, NULL);
	/* Until a worker or an agent has a file of its own, it writes into that of its raylet. */
	if (((is_worker && !worker.found) || ray_process_is_agent(life->kind)) &&
	    ray_file_of_time(dir_fd, "raylet", "err", now_realtime_ns() - RECENT_NS, INT64_MAX,
			     file))
		append_file(dir_fd, file, file, out, size, NULL);
	/* The supervisor makes the file, named by the job, right before it starts the driver. */
	if (life->kind == RAY_PROCESS_DRIVER && life->from_unix_ns > 0 &&
	    ray_file_of_time(dir_fd, DRIVER_LOG, ".log", life->from_unix_ns - DRIVER_LOG_NS,
			     life->until_unix_ns + DRIVER_LOG_NS, file)) {
		append_stop(dir_fd, file, out, size);
		append_file(dir_fd, file, file, out, size, ret_error);
	}
}

/*
 * Returns the length of "a.b.ValueError" at the beginning of the line, if it ends with ':' or the
 * line; 0: it is none.
 */
static size_t exception_name(const char *line, size_t len)
{
	static const char *const ends[] = { "Error",   "Exception", "Exit",   "Interrupt",
					    "Timeout", "Warning",   "Failure" };
	size_t n = 0;

	while (n < len && (isalnum((unsigned char)line[n]) || line[n] == '_' || line[n] == '.'))
		n++;
	if (n < len && line[n] != ':' && line[n] != '(')
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (n >= strlen(ends[i]) &&
		    memcmp(line + n - strlen(ends[i]), ends[i], strlen(ends[i])) == 0)
			return n;
	return 0;
}

bool ray_last_exception(const char *lines, char ret_line[static RAY_LAST_LINE_MAX])
{
	bool found = false;

	while (*lines) {
		size_t len = strcspn(lines, "\n");
		const char *text = memmem(lines, len, ": ", 2);

		if (text && exception_name(text + 2, len - (size_t)(text + 2 - lines))) {
			snprintf(ret_line, RAY_LAST_LINE_MAX, "%.*s",
				 (int)(len - (size_t)(text + 2 - lines)), text + 2);
			found = true;
		}
		lines += len + (lines[len] == '\n');
	}
	return found;
}
