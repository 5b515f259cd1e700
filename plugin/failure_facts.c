/* SPDX-License-Identifier: Apache-2.0 */
/* Lists the facts of a RayFailure. Members that are missing or of a wrong type are left out. */
#include "plugin/failure_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define FACT_MAX ((size_t)64 << 10)

struct facts {
	failure_fact_fn *fn;
	void *arg;
	struct strbuf text; /* of the fact that is being written */
};

static void failure_facts_add(struct facts *f, const char *text)
{
	strbuf_adds(&f->text, text ? text : "");
}

/* Adds text, with `before` between it and any earlier text. */
static void add_after(struct facts *f, const char *before, const char *text)
{
	if (!text)
		return;
	strbuf_adds(&f->text, before);
	strbuf_adds(&f->text, text);
}

static void failure_facts_end(struct facts *f, const char *label)
{
	if (f->text.len)
		f->fn(f->arg, label, strbuf_str(&f->text));
	strbuf_reset(&f->text);
}

static void failure_facts_tell(struct facts *f, const char *label, const char *text)
{
	failure_facts_add(f, text);
	failure_facts_end(f, label);
}

static void tell_place(struct facts *f, const cJSON *failure)
{
	bool run = json_str(failure, "spec.run");

	add_after(f, "", run ? NULL : json_str(failure, "metadata.namespace"));
	add_after(f, run ? "" : "/", json_str(failure, "spec.pod"));
	add_after(f, ", container ", run ? NULL : json_str(failure, "spec.container"));
	add_after(f, ", of ", json_str(failure, "spec.ownerText"));
	add_after(f, ", on node ", json_str(failure, "spec.node"));
	failure_facts_end(f, run ? "command" : "pod");
}

/*
 * The kubelet's times have whole seconds, and a tenth would be made up: the report has "32.8 s"
 * where these say 33.
 */
static const char *duration_of(int64_t from, int64_t to, char text[static DURATION_TEXT_MAX])
{
	if (from % NS_PER_SEC || to % NS_PER_SEC || to - from >= 60 * NS_PER_SEC)
		return duration_format(to - from, text);
	snprintf(text, DURATION_TEXT_MAX, "%" PRId64 " s", (to - from) / NS_PER_SEC);
	return text;
}

static void tell_time(struct facts *f, const cJSON *failure)
{
	const char *started = json_str(failure, "spec.startedAt"),
		   *ended = json_str(failure, "spec.endedAt");
	int64_t from, to, restarts = json_int(failure, "spec.restartCount", 0);
	char text[DURATION_TEXT_MAX];

	if (!ended)
		return;
	failure_facts_add(f, ended);
	if (started && time_parse(started, &from, NULL) == 0 && time_parse(ended, &to, NULL) == 0 &&
	    to >= from)
		strbuf_addf(&f->text, ", %s after its start", duration_of(from, to, text));
	if (restarts > 0)
		strbuf_addf(&f->text, ", after %" PRId64 " restart%s", restarts,
			    restarts == 1 ? "" : "s");
	failure_facts_end(f, "when");
}

static void tell_exit(struct facts *f, const cJSON *failure)
{
	const char *signal = json_str(failure, "spec.signal");

	if (json_bool(failure, "spec.containerLives", false)) {
		failure_facts_add(f, "none: the ");
		failure_facts_tell(f, "exit",
				   json_str(failure, "spec.run") ? "command goes on" :
								   "container lives on");
		return;
	}
	if (!cJSON_IsNumber(json_get(failure, "spec.exitCode")))
		return;
	strbuf_addf(&f->text, "%" PRId64, json_int(failure, "spec.exitCode", 0));
	add_after(f, " (", signal);
	failure_facts_add(f, signal ? ")" : "");
	failure_facts_end(f, "exit");
}

static void tell_class(struct facts *f, const cJSON *failure)
{
	failure_facts_add(f, json_str(failure, "spec.class"));
	add_after(f, ", ", json_str(failure, "spec.confidence"));
	failure_facts_end(f, "class");
}

static void tell_story(struct facts *f, const cJSON *failure)
{
	const char *kind = json_str(failure, "spec.endedBy.kind"),
		   *incident = json_str(failure, "status.incident");
	int64_t consequences = json_int(failure, "status.consequences", 0);

	failure_facts_tell(f, "caused by", json_str(failure, "status.causedByText"));
	if (kind) {
		failure_facts_add(f, kind);
		add_after(f, " ", json_str(failure, "spec.endedBy.name"));
		add_after(f, ": ", json_str(failure, "spec.endedBy.reason"));
		failure_facts_end(f, "ended by");
	}
	if (consequences > 0 && incident) {
		strbuf_addf(&f->text, "%" PRId64 " other end%s: %safterglow incidents %s",
			    consequences, consequences == 1 ? "" : "s",
			    json_str(failure, "spec.run") ? "" : "kubectl ", incident);
		failure_facts_end(f, "caused");
	}
}

/* Adds each note: its first member, and the second one between two texts. */
static void tell_notes(struct facts *f, const char *label, const cJSON *notes, const char *first,
		       const char *second, const char *between, const char *after)
{
	json_each(note, notes) {
		failure_facts_add(f, json_str(note, first));
		add_after(f, between, json_str(note, second));
		failure_facts_add(f, json_str(note, second) ? after : "");
		failure_facts_end(f, label);
	}
}

static void failure_facts_add_part(struct facts *f, const char *name, int64_t bytes,
				   const char **separator)
{
	if (bytes < 0)
		return;
	strbuf_addf(&f->text, "%s%s %s", *separator, name, SIZE_TEXT(bytes));
	*separator = ", ";
}

static void tell_memory(struct facts *f, const cJSON *failure)
{
	const cJSON *memory = json_get(failure, "spec.memory");
	/* Of a cgroup that others share nothing is shown: the memory is that of the processes. */
	bool shared = json_bool(memory, "shared", false);
	int64_t usage = json_int(memory, "usageBytes", -1),
		limit = json_int(shared ? NULL : memory, "limitBytes", -1),
		age = json_int(memory, "sampleAgeMs", -1);
	const char *separator = ": ";

	if (usage < 0)
		return;
	failure_facts_add(f,
			  shared ? json_str_or(failure, "spec.memoryText", "?") : SIZE_TEXT(usage));
	memory = shared ? NULL : memory;
	if (limit > 0)
		strbuf_addf(&f->text, " of %s", SIZE_TEXT(limit));
	if (age >= 0)
		strbuf_addf(&f->text, ", %" PRId64 " ms before the end", age);
	failure_facts_add_part(f, "anon", json_int(memory, "anonBytes", -1), &separator);
	failure_facts_add_part(f, "shmem", json_int(memory, "shmemBytes", -1), &separator);
	failure_facts_add_part(f, "file", json_int(memory, "fileBytes", -1), &separator);
	failure_facts_end(f, "memory");
}

/*
 * Says where the core is. The RayFailure is written before the core is packed, so it cannot promise
 * that it was kept. The texts compared here are those of sidecar/verdict/crash_verdict.c.
 */
static void tell_core(struct facts *f, const cJSON *failure)
{
	const cJSON *evidence = json_get(failure, "spec.evidence"),
		    *missing = json_get(failure, "spec.missing");
	const char *bundle = json_str(failure, "spec.bundle");

	if (json_find(missing, "what", "core file and backtrace"))
		failure_facts_tell(f, "core", "none: the line missing says what it needs");
	else if (!json_find(evidence, "source", "core"))
		return;
	else if (bundle && strncmp(bundle, "spool/", 6) == 0)
		failure_facts_tell(
			f, "core",
			"core.COMMAND.PID.zst in the bundle, which is lost with its pod: there is no store");
	else if (bundle)
		failure_facts_tell(
			f, "core",
			bundle[0] == '/' ?
				"core.COMMAND.PID.zst in the bundle, if there was room for it" :
				"core.COMMAND.PID.zst in the bundle, if there was room for it and this was no "
				"crash loop; kubectl afterglow bundle saves it");
	else
		failure_facts_tell(f, "core", "none is kept: there is no bundle");
}

void failure_facts_each(const cJSON *failure, failure_fact_fn *fn, void *arg)
{
	struct facts f = { .fn = fn, .arg = arg, .text = STRBUF_INIT(FACT_MAX) };

	failure_facts_tell(&f, "failure", json_str(failure, "metadata.name"));
	tell_place(&f, failure);
	tell_time(&f, failure);
	tell_exit(&f, failure);
	tell_class(&f, failure);
	tell_story(&f, failure);
	failure_facts_tell(&f, "diagnosis", json_str(failure, "spec.diagnosis"));
	failure_facts_tell(&f, "try", json_str(failure, "spec.advice"));
	tell_notes(&f, "evidence", json_get(failure, "spec.evidence"), "source", "text", ": ", "");
	tell_memory(&f, failure);
	tell_notes(&f, "missing", json_get(failure, "spec.missing"), "what", "needs", " (needs ",
		   ")");
	failure_facts_tell(&f, "signature", json_str(failure, "spec.signature"));
	failure_facts_tell(&f, "bundle", json_str(failure, "spec.bundle"));
	tell_core(&f, failure);
	strbuf_release(&f.text);
}
