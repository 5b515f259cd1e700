/* SPDX-License-Identifier: Apache-2.0 */
/* Finds Ray's exception that ended a program, and what it says had died. */
#include "sidecar/ray/ray_error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"
#include "lib/span.h"
#include "lib/units.h"

#define ERROR_TEXT_MAX 4096 /* bytes of an exception's text in which its names are looked for */
#define TRIAL_NAME_MAX 256 /* a longer one would be looked for too long */
#define HEX_DIGITS "0123456789abcdef"
#define HEX_MIN 16 /* digits; Ray's IDs have 32 and 56 */

static const char *const error_names[] = {
	"NodeDiedError",	"ActorDiedError",     "ActorUnavailableError", "RayActorError",
	"WorkerCrashedError",	"OutOfMemoryError",   "OwnerDiedError",	       "ObjectLostError",
	"LocalRayletDiedError", "TaskCancelledError",
};

/*
 * The words before a name, the most exact first. An owner has died before the actor that it owned.
 */
static const char *const node_marks[] = { "owner node ID: ", "node ID: ", "Node ID: ",
					  "Node Id: ",	     ", ID: ",	  NULL };
static const char *const worker_marks[] = {
	"Owner worker ID: ", "Owner Id: ", "worker ID=", "this worker (ID: ",
	"Worker ID: ",	     "/logs/*",	   NULL
};
static const char *const actor_marks[] = { "\tactor_id: ", NULL };
static const char *const ip_marks[] = {
	"Owner Ip address: ", "owner address: ", "Worker IP address: ",
	"Node IP: ",	      "node IP: ",	 "(IP: ",
	"at IP address ",     "\tip: ",		 NULL
};
static const char *const pid_marks[] = { "Worker PID: ", " pid=", "\tpid: ", NULL };

/* --- Names in an exception's text --- */

/*
 * Copies the word of these characters after the first mark that has one of min to size - 1 of them.
 */
static void copy_word(struct span text, const char *const *marks, const char *charset, size_t min,
		      char *out, size_t size)
{
	for (; !out[0] && *marks; marks++) {
		struct span rest = span_after(text, *marks);
		size_t n = 0;

		while (n < rest.len && rest.at[n] && strchr(charset, rest.at[n]))
			n++;
		if (n < min || n >= size)
			continue;
		memcpy(out, rest.at, n);
		out[n] = '\0';
	}
}

/* Removes the port of "10.0.0.7:34073", and the full stop of a sentence. */
static void trim_ip(char *ip)
{
	char *colon = strchr(ip, ':');
	size_t n;

	if (colon && !strchr(colon + 1, ':'))
		*colon = '\0';
	for (n = strlen(ip); n > 0 && ip[n - 1] == '.'; n--)
		ip[n - 1] = '\0';
}

static void take_names(struct span text, struct ray_error *e)
{
	char pid[8] = "";

	copy_word(text, node_marks, HEX_DIGITS, HEX_MIN, e->node_id, sizeof(e->node_id));
	copy_word(text, worker_marks, HEX_DIGITS, HEX_MIN, e->worker_id, sizeof(e->worker_id));
	copy_word(text, actor_marks, HEX_DIGITS, HEX_MIN, e->actor_id, sizeof(e->actor_id));
	copy_word(text, ip_marks, HEX_DIGITS ".:", 3, e->ip, sizeof(e->ip));
	copy_word(text, pid_marks, "0123456789", 1, pid, sizeof(pid));
	trim_ip(e->ip);
	e->pid = (pid_t)strtol(pid, NULL, 10);
	/* The PID is the actor's, and what died first was its owner. */
	if (e->pid > PID_MAX_LIMIT || span_find(text, "Owner Id: ").at)
		e->pid = 0;
}

/*
 * Takes the names from raylet's line about a worker that died. If its lines are about several
 * workers, the exception may be about any of them.
 */
static void take_crashed_worker(struct span text, struct ray_error *e)
{
	static const char mark[] = "A worker died or was killed while executing";
	struct span record = span_after(text, mark), next;
	struct ray_error first = { 0 }, other;

	for (; record.at; record = next) {
		next = span_after(record, mark);
		other = (struct ray_error){ 0 };
		take_names((struct span){ record.at,
					  MIN(record.len - next.len, (size_t)ERROR_TEXT_MAX) },
			   &other);
		if (first.worker_id[0] && strcmp(first.worker_id, other.worker_id) != 0)
			return;
		first = other;
	}
	memcpy(first.name, e->name, sizeof(first.name));
	memcpy(first.line, e->line, sizeof(first.line));
	*e = first;
}

/* --- The exception --- */

/*
 * Returns which of Ray's exceptions the line begins with, also as "RayTaskError(NAME)"; NULL: none.
 */
static const char *error_of_line(struct span line)
{
	static const char package[] = "ray.exceptions.", of_task[] = "RayTaskError(";

	if (!span_begins(line, package))
		return NULL;
	line.at += strlen(package);
	line.len -= strlen(package);
	if (span_begins(line, of_task)) {
		line.at += strlen(of_task);
		line.len -= strlen(of_task);
	}
	for (size_t i = 0; i < ARRAY_SIZE(error_names); i++) {
		size_t n = strlen(error_names[i]);

		if (span_begins(line, error_names[i]) &&
		    (line.len == n || line.at[n] == ':' || line.at[n] == ')'))
			return error_names[i];
	}
	return NULL;
}

/* Returns whether the next traceback belongs to the one before it. */
static bool is_chain_of_tracebacks(struct span line)
{
	return span_begins(
		       line,
		       "The above exception was the direct cause of the following exception:") ||
	       span_begins(line,
			   "During handling of the above exception, another exception occurred:");
}

/* Cuts the text before the next line that raylet wrote, which may name others. */
static struct span before_raylet(struct span text)
{
	static const char *const marks[] = { "\n(raylet", "\n\033[33m(raylet", "\n\033[36m(" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		text.len -= span_find(text, marks[i]).len;
	return text;
}

struct error_text {
	struct span text;
	const char *name; /* NULL: there is none */
};

/*
 * The trials of Tune that failed. Tune survives them, prints the exception of each, and raises an
 * error with their names when all have ended.
 */
struct tune {
	struct span trial; /* the name of the last one */
	struct error_text error; /* Ray's, by which it ended */
	unsigned int tracebacks; /* since that name; the first is the trial's */
	bool by_itself; /* one has failed for another reason than Ray's errors */
};

static void tune_note_error(struct tune *tune, struct error_text error)
{
	if (!tune->trial.len || tune->tracebacks != 1)
		return;
	tune->error = error;
	tune->by_itself = tune->by_itself || !error.name;
}

/*
 * Returns whether the line is Tune's error, and the last trial is in its list of names, "[a, b]".
 */
static bool tune_fails_by_trial(const struct tune *tune, struct span line)
{
	static const char mark[] = "ray.tune.error.TuneError: ('Trials did not complete', ";
	struct span names = span_begins(line, mark) ? span_after(line, mark) : (struct span){ 0 };
	size_t len = tune->trial.len > TRIAL_NAME_MAX ? 0 : tune->trial.len;

	while (len && names.len > len + 1) {
		const char *at = memmem(names.at + 1, names.len - 2, tune->trial.at, len);

		if (!at)
			return false;
		if ((at[-1] == '[' || at[-1] == ' ') && (at[len] == ',' || at[len] == ']'))
			return true;
		names.len -= (size_t)(at - names.at);
		names.at = at;
	}
	return false;
}

/* Finds the text of the exception that counts. */
static struct error_text find_error(struct span text)
{
	struct error_text found = { 0 };
	struct tune tune = { 0 };
	struct span rest = text;
	bool chained = false;

	while (rest.len) {
		struct span line = span_take_line(&rest),
			    trial = span_after(line, "Trial task failed for trial ");
		const char *name = error_of_line(line);
		bool begins = span_begins(line, "Traceback (most recent call last):") && !chained;

		if (trial.at || begins)
			tune_note_error(&tune, found);
		if (trial.at)
			tune = (struct tune){ .trial = trial, .by_itself = tune.by_itself };
		if (begins) {
			tune.tracebacks++;
			found = (struct error_text){ 0 };
		}
		if (name)
			found = (struct error_text){
				{ line.at, text.len - (size_t)(line.at - text.at) }, name
			};
		else if (tune_fails_by_trial(&tune, line) && !tune.by_itself)
			found = tune.error;
		if (line.len)
			chained = is_chain_of_tracebacks(line);
	}
	return found;
}

bool ray_error_parse(const char *text, size_t len, struct ray_error *ret_error)
{
	struct ray_error e = { 0 };
	struct span all = { text, len }, line;
	struct error_text error = find_error(all);

	*ret_error = e;
	if (!error.name)
		return false;
	snprintf(e.name, sizeof(e.name), "%s", error.name);
	line = span_line(error.text);
	copy_printable(e.line, sizeof(e.line), line.at, line.len);
	error.text.len = MIN(error.text.len, (size_t)ERROR_TEXT_MAX);
	error.text = before_raylet(error.text);
	if (span_find(error.text, "it was killed by `ray.kill`").at)
		e.meant = "ray.kill";
	else if (strcmp(e.name, "TaskCancelledError") == 0)
		e.meant = "ray.cancel";
	else
		take_names(error.text, &e);
	if (strcmp(e.name, "WorkerCrashedError") == 0)
		take_crashed_worker(all, &e);
	*ret_error = e;
	return true;
}

const char *ray_error_about(const struct ray_error *e, char text[static RAY_ERROR_ABOUT_MAX])
{
	const char *node = e->ip[0] ? e->ip : "of that ID";
	char id[24] = "", who[64] = "";

	if (e->node_id[0])
		snprintf(id, sizeof(id), " (%.12s...)", e->node_id);
	if (e->pid)
		snprintf(who, sizeof(who), "worker PID %d on ", (int)e->pid);
	else if (e->worker_id[0])
		snprintf(who, sizeof(who), "worker %.12s... on ", e->worker_id);
	text[0] = '\0';
	if (e->ip[0] || e->node_id[0])
		snprintf(text, RAY_ERROR_ABOUT_MAX, "%snode %s%s", who, node, id);
	return text;
}
