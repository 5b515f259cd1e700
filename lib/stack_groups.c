/* SPDX-License-Identifier: Apache-2.0 */
/* Puts equal stacks together and writes them. */
#include "lib/stack_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/units.h"

#define NAMED_MAX 8 /* threads that are named of each group */
#define PYTHON_MARK "  Python"
#define FRAME_BLANKS "     " /* before a frame */
#define FRAME_INDENT (sizeof(FRAME_BLANKS) - 1)
#define NOTE_MAX 2048

struct stacked_thread {
	int pid, tid;
	const struct stack_place *place;
	const char *process, *name;
	long long used_ns, age_ns; /* of a processor, and since it began; age 0: not known */
	char state; /* as in /proc/PID/stat */
	bool still, has_python;
	const char *stack; /* its lines */
	size_t len;
	size_t number; /* among all */
};

struct stack_group {
	const struct stacked_thread *first; /* of n that have the same stack */
	size_t n;
};

struct stack_groups {
	struct stacked_thread *threads;
	size_t n_threads, left_out, processes;
	struct stack_group *groups;
	size_t n_groups;
	unsigned int stopped_us; /* the longest stop */
	cJSON *notes; /* texts: what could not be seen */
	size_t n_notes;
	/* The process whose lines are being read, and its last thread; 0, "" and NULL: none. */
	int pid;
	const char *process;
	struct stacked_thread *thread;
	long long used_ns, age_ns; /* of the next one */
	const struct stack_place *place;
};

struct stack_groups *stack_groups_new(void)
{
	struct stack_groups *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->notes = cJSON_CreateArray();
	g->threads = calloc(GROUP_THREADS_MAX, sizeof(*g->threads));
	if (g->notes && g->threads)
		return g;
	stack_groups_free(g);
	return NULL;
}

void stack_groups_free(struct stack_groups *g)
{
	if (!g)
		return;
	cJSON_Delete(g->notes);
	free(g->groups);
	free(g->threads);
	free(g);
}

size_t stack_groups_processes(const struct stack_groups *g)
{
	return g->processes;
}

/* --- Reading --- */

/* "thread TID STATE MOVED NAME"; the lines of its stack follow. */
static void take_thread_line(struct stack_groups *g, const char *line)
{
	/* clang-format off */
	struct stacked_thread t = {
		.pid = g->pid, .place = g->place, .process = g->process, .number = g->n_threads,
	};
	/* clang-format on */
	char moved[8];
	int at = 0;

	t.used_ns = g->used_ns;
	t.age_ns = g->age_ns;
	g->age_ns = 0;
	if (sscanf(line, "thread %d %c %7s %n", &t.tid, &t.state, moved, &at) != 3 || !at)
		return;
	if (g->n_threads == GROUP_THREADS_MAX) {
		g->left_out++;
		return;
	}
	t.name = line + at;
	t.still = strcmp(moved, "still") == 0;
	g->thread = &g->threads[g->n_threads++];
	*g->thread = t;
}

static void take_stack_line(struct stack_groups *g, const char *line, size_t len)
{
	struct stacked_thread *t = g->thread;

	if (!t)
		return;
	if (!t->stack) {
		t->stack = line;
		t->has_python = strncmp(line, PYTHON_MARK, strlen(PYTHON_MARK)) == 0;
	}
	t->len = (size_t)(line + len + 1 - t->stack);
}

/* Writes "POD on NODE, PID 7", as far as it is known. */
static void add_process(struct strbuf *out, const struct stack_place *place, int pid)
{
	if (place && place->pod)
		strbuf_addf(out, "%s%s%s%s", place->pod, place->node ? " on " : "",
			    place->node ? place->node : "", pid ? ", " : "");
	if (pid)
		strbuf_addf(out, "PID %d", pid);
}

static void add_note(struct stack_groups *g, const char *what, const char *text)
{
	_cleanup_strbuf_ struct strbuf note = STRBUF_INIT(NOTE_MAX);

	if (++g->n_notes > GROUP_NOTES_MAX)
		return;
	add_process(&note, g->place, g->pid);
	strbuf_addf(&note, "%s%s%s", note.len ? what : "", note.len ? ": " : "", text);
	json_append(g->notes, cJSON_CreateString(strbuf_str(&note)));
}

static void take_target_line(struct stack_groups *g, const char *line)
{
	int pid, at = 0;

	if (sscanf(line, "target %d %n", &pid, &at) != 1 || !at)
		return;
	g->pid = pid;
	g->process = line + at;
	g->processes++;
}

static void take_answer_line(struct stack_groups *g, char *line, size_t len)
{
	unsigned int us;

	mend_printable(line, len, "");
	if (line[0] == ' ') {
		take_stack_line(g, line, len); /* stacks are compared with their lines' ends */
		return;
	}
	line[len] = '\0';
	g->thread = NULL; /* its stack has ended */
	if (sscanf(line, "used %lld in %lld", &g->used_ns, &g->age_ns) == 2)
		return;
	if (strncmp(line, "target ", 7) == 0)
		take_target_line(g, line);
	else if (sscanf(line, "process %*d stopped for %u us", &us) == 1)
		g->stopped_us = MAX(g->stopped_us, us);
	else if (strncmp(line, "thread ", 7) == 0)
		take_thread_line(g, line);
	else if (strncmp(line, "failed ", 7) == 0) {
		char what[NOTE_MAX / 4];

		snprintf(what, sizeof(what), " %s: no stacks", g->process);
		add_note(g, what, line + 7);
	} else if (strncmp(line, "note ", 5) == 0)
		add_note(g, "", line + 5);
}

void stack_groups_add(struct stack_groups *g, const struct stack_place *place, char *answer)
{
	g->place = place;
	g->pid = 0;
	g->process = "";
	g->thread = NULL;
	for (char *line = answer, *end; (end = strchr(line, '\n')); line = end + 1)
		take_answer_line(g, line, (size_t)(end - line));
}

/* --- Grouping --- */

static bool is_main(const struct stacked_thread *t)
{
	return t->tid == t->pid;
}

static bool stacks_are_equal(const struct stacked_thread *a, const struct stacked_thread *b)
{
	return is_main(a) == is_main(b) && a->len == b->len &&
	       (a->len == 0 || memcmp(a->stack, b->stack, a->len) == 0);
}

static int compare_threads(const void *one, const void *other)
{
	const struct stacked_thread *a = one, *b = other;

	if (is_main(a) != is_main(b))
		return is_main(b) - is_main(a);
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	int r = a->len ? memcmp(a->stack, b->stack, a->len) : 0;
	return r ? r : a->number < b->number ? -1 : 1;
}

static int stack_groups_compare(const void *one, const void *other)
{
	const struct stack_group *a = one, *b = other;

	if (is_main(a->first) != is_main(b->first))
		return is_main(b->first) - is_main(a->first);
	if (a->first->has_python != b->first->has_python)
		return b->first->has_python - a->first->has_python;
	if (a->n != b->n)
		return a->n < b->n ? -1 : 1;
	return a->first->number < b->first->number ? -1 : 1;
}

/* Sorts the threads, so that each group is in one place. */
static void group_threads(struct stack_groups *g)
{
	char more[64];
	size_t n = 0;

	if (g->groups)
		return;
	if (g->n_notes > GROUP_NOTES_MAX) {
		snprintf(more, sizeof(more), "%zu more notes are not shown",
			 g->n_notes - GROUP_NOTES_MAX);
		json_append(g->notes, cJSON_CreateString(more));
	}
	g->groups = calloc(g->n_threads + 1, sizeof(*g->groups));
	if (!g->groups)
		return;
	qsort(g->threads, g->n_threads, sizeof(*g->threads), compare_threads);
	for (size_t i = 0; i < g->n_threads; i++)
		if (n && stacks_are_equal(g->groups[n - 1].first, &g->threads[i]))
			g->groups[n - 1].n++;
		else
			g->groups[n++] = (struct stack_group){ &g->threads[i], 1 };
	qsort(g->groups, n, sizeof(*g->groups), stack_groups_compare);
	g->n_groups = n;
}

/* before: the line's end before a frame of it; NULL: before the first one. */
static void add_main_thread(const struct stack_group *g, const char *before, struct strbuf *out)
{
	const struct stacked_thread *t = g->first;
	const char *frame = before || !t->stack ? before : strstr(t->stack, "\n" FRAME_BLANKS);
	char place[121] = "a place that was not seen", process[41];

	/* The file's name and the line are at the end. */
	if (frame && (frame += 1 + FRAME_INDENT) < t->stack + t->len)
		copy_ends(place, sizeof(place), frame, strcspn(frame, "\n"));
	copy_printable(process, sizeof(process), t->process, strlen(t->process));
	if (g->n > 1)
		strbuf_addf(out, "%zu like ", g->n);
	strbuf_addf(out, "%s (PID %d) at %s", process, t->pid, place);
}

size_t stack_groups_main(struct stack_groups *g, struct strbuf *out)
{
	size_t n = 0, begin = out->len, named = 0;

	group_threads(g);
	for (size_t i = 0; i < g->n_groups && is_main(g->groups[i].first); i++) {
		n += g->groups[i].n;
		if (named < i)
			continue;
		strbuf_adds(out, i ? "; " : "");
		if (i == 3 || out->len - begin > STACK_MAIN_ENOUGH + 2)
			strbuf_adds(out, "others");
		else
			add_main_thread(&g->groups[named++], NULL, out);
	}
	return n;
}

/*
 * Returns the line's end before the frame that called Ray's core, if the innermost frame is one of
 * the core; else NULL.
 */
static const char *ray_caller(const struct stacked_thread *t)
{
	const char *begin = t->has_python ? strchr(t->stack, '\n') : NULL, *end = begin;
	size_t len;

	for (; end && end + 1 < t->stack + t->len; end += 1 + len) {
		len = strcspn(end + 1, "\n");
		if (strncmp(end + 1, FRAME_BLANKS, FRAME_INDENT) != 0)
			return NULL;
		if (!memmem(end + 1, len, "/ray/_private/", 14) &&
		    !memmem(end + 1, len, "/ray/util/placement_group.py:", 29))
			return end > begin ? end : NULL;
	}
	return NULL;
}

void stack_groups_ray_call(const struct stack_groups *g, struct strbuf *out)
{
	const struct stacked_thread *first = NULL;

	for (const struct stacked_thread *t = g->threads; t < g->threads + g->n_threads; t++)
		if (is_main(t) && (!first || t->pid < first->pid) && ray_caller(t))
			first = t;
	if (first)
		add_main_thread(&(struct stack_group){ first, 1 }, ray_caller(first), out);
}

/* --- Writing --- */

static const char *state_text(const struct stacked_thread *t)
{
	switch (t->state) {
	case 'R':
		return t->still ? "ran" : "ran, and has gone on since: Python's lines may be later";
	case 'S':
		return t->still ? "waits" :
				  "waited, and has gone on since: Python's lines may be later";
	case 'D':
		return "in the kernel, uninterruptible";
	case 'T':
		return "stopped by a signal";
	default:
		return "state not known";
	}
}

static void group_write(const struct stack_group *g, size_t processes, struct strbuf *out)
{
	if (is_main(g->first))
		strbuf_addf(out, "\nMain thread of %zu of %zu process%s:\n", g->n, processes,
			    processes == 1 ? "" : "es");
	else
		strbuf_addf(out, "\n%zu other thread%s:\n", g->n, g->n == 1 ? "" : "s");
	for (size_t i = 0; i < MIN(g->n, (size_t)NAMED_MAX); i++) {
		const struct stacked_thread *t = &g->first[i];

		strbuf_adds(out, "  ");
		add_process(out, t->place, t->pid);
		strbuf_addf(out, " %s", t->process);
		if (!is_main(t))
			strbuf_addf(out, ", thread %d %s", t->tid, t->name);
		strbuf_addf(out, ": %s", state_text(t));
		if (t->age_ns > 0)
			strbuf_addf(out, "; used a processor for %s of %s",
				    DURATION_TEXT(t->used_ns), DURATION_TEXT(t->age_ns));
		strbuf_addc(out, '\n');
	}
	if (g->n > NAMED_MAX)
		strbuf_addf(out, "  and %zu more\n", g->n - NAMED_MAX);
	strbuf_add(out, g->first->stack ? g->first->stack : "", g->first->len);
}

void stack_groups_write(struct stack_groups *g, struct strbuf *out)
{
	size_t n = g->n_threads + g->left_out;

	group_threads(g);
	json_each(note, g->notes)
		strbuf_addf(out, "%s\n", note->valuestring);
	if (n)
		strbuf_addf(
			out,
			"%zu process%s, %zu thread%s; a process stood still for at most %.1f ms\n",
			g->processes, g->processes == 1 ? "" : "es", n, n == 1 ? "" : "s",
			g->stopped_us / 1000.0);
	for (size_t i = 0; i < g->n_groups; i++)
		group_write(&g->groups[i], g->processes, out);
	if (g->left_out)
		strbuf_addf(out, "\n%zu more threads are not shown\n", g->left_out);
}

/* --- JSON --- */

/*
 * A line without a frame's indent is a heading, and has words of its own where there are no frames.
 */
static void json_add_stack(cJSON *json, const struct stacked_thread *t)
{
	cJSON *frames = NULL;

	for (const char *line = t->stack; line && line < t->stack + t->len;
	     line = strchr(line, '\n') + 1) {
		bool is_frame = strncmp(line, FRAME_BLANKS, FRAME_INDENT) == 0;
		const char *text = line + strspn(line, " ");
		char copy[NOTE_MAX];

		copy_printable(copy, sizeof(copy), text, strcspn(text, "\n"));
		if (!is_frame)
			frames = json_array_at(
				json, strncmp(line, PYTHON_MARK, strlen(PYTHON_MARK)) == 0 ?
					      "python" :
					      "native");
		if (strstr(copy, "(it holds the GIL)"))
			json_set(json, "holdsGil", cJSON_CreateTrue());
		if (is_frame ? frames != NULL : !strstr(copy, "innermost first"))
			json_append(frames, cJSON_CreateString(copy));
	}
}

static cJSON *json_of_thread(const struct stacked_thread *t)
{
	cJSON *json = cJSON_CreateObject();

	if (t->place && t->place->pod)
		json_set_str(json, "pod", t->place->pod);
	if (t->place && t->place->node)
		json_set_str(json, "node", t->place->node);
	json_set_int(json, "pid", t->pid);
	json_set_str(json, "process", t->process);
	json_set_int(json, "tid", t->tid);
	json_set_str(json, "thread", t->name);
	json_set_str(json, "state", state_text(t));
	if (t->age_ns > 0) {
		json_set(json, "processorSeconds",
			 cJSON_CreateNumber((double)t->used_ns / NS_PER_SEC));
		json_set(json, "ageSeconds", cJSON_CreateNumber((double)t->age_ns / NS_PER_SEC));
	}
	return json;
}

static cJSON *json_of_group(const struct stack_group *g)
{
	cJSON *json = cJSON_CreateObject(), *threads;

	json_set(json, "mainThreads", cJSON_CreateBool(is_main(g->first)));
	json_set_int(json, "count", (int64_t)g->n);
	json_add_stack(json, g->first);
	threads = json_array_at(json, "threads");
	for (size_t i = 0; i < g->n; i++)
		json_append(threads, json_of_thread(&g->first[i]));
	return json;
}

cJSON *stack_groups_json(struct stack_groups *g)
{
	cJSON *json = cJSON_CreateObject(), *groups = json_array_at(json, "groups");

	group_threads(g);
	json_set_str(json, "kind", "Stacks");
	json_set_int(json, "processes", (int64_t)g->processes);
	json_set_int(json, "threads", (int64_t)(g->n_threads + g->left_out));
	json_set_int(json, "threadsLeftOut", (int64_t)g->left_out);
	json_set(json, "longestStopMilliseconds", cJSON_CreateNumber(g->stopped_us / 1000.0));
	for (size_t i = 0; i < g->n_groups; i++)
		json_append(groups, json_of_group(&g->groups[i]));
	json_set(json, "notes", cJSON_Duplicate(g->notes, true));
	return json;
}
