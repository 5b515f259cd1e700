/* SPDX-License-Identifier: Apache-2.0 */
/* A RayFailure as text: the verdict, then a line for each thing that is known. */
#include "plugin/failure_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "plugin/process_table.h"
#include "plugin/table.h"

#define LABEL_WIDTH 11

static void add_label(struct strbuf *out, const char *label)
{
	strbuf_addf(out, "  %-*s", LABEL_WIDTH, label);
}

static void add_line(struct strbuf *out, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	add_label(out, label);
	add_printable(out, text);
	strbuf_addc(out, '\n');
}

static void add_place(const cJSON *failure, struct strbuf *out)
{
	const char *node = json_str(failure, "spec.node"),
		   *owner = json_str(failure, "spec.ownerText");
	const char *container = json_str(failure, "spec.container");

	add_label(out, "pod");
	add_printable(out, json_str(failure, "metadata.namespace"));
	strbuf_addc(out, '/');
	add_printable(out, json_str(failure, "spec.pod"));
	strbuf_adds(out, container ? ", container " : "");
	add_printable(out, container);
	strbuf_adds(out, owner ? ", of " : "");
	add_printable(out, owner);
	strbuf_adds(out, node ? ", on node " : "");
	add_printable(out, node);
	strbuf_addc(out, '\n');
}

static void add_time(const cJSON *failure, struct strbuf *out)
{
	const char *started = json_str(failure, "spec.startedAt"),
		   *ended = json_str(failure, "spec.endedAt");
	int64_t from, to, restarts = json_int(failure, "spec.restartCount", 0);
	char text[DURATION_TEXT_MAX];

	if (!ended)
		return;
	add_label(out, "when");
	add_printable(out, ended);
	if (started && time_parse(started, &from, NULL) == 0 && time_parse(ended, &to, NULL) == 0 &&
	    to >= from)
		strbuf_addf(out, ", %s after its start", duration_format(to - from, text));
	if (restarts > 0)
		strbuf_addf(out, ", after %" PRId64 " restart%s", restarts,
			    restarts == 1 ? "" : "s");
	strbuf_addc(out, '\n');
}

static void add_exit(const cJSON *failure, struct strbuf *out)
{
	const char *signal = json_str(failure, "spec.signal");

	if (json_bool(failure, "spec.containerLives", false)) {
		add_line(out, "exit", "none: the container lives on");
		return;
	}
	if (!cJSON_IsNumber(json_get(failure, "spec.exitCode")))
		return;
	add_label(out, "exit");
	strbuf_addf(out, "%" PRId64, json_int(failure, "spec.exitCode", 0));
	if (signal) {
		strbuf_adds(out, " (");
		add_printable(out, signal);
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, '\n');
}

static void add_class(const cJSON *failure, struct strbuf *out)
{
	const char *confidence = json_str(failure, "spec.confidence");

	add_label(out, "class");
	add_printable(out, json_str(failure, "spec.class"));
	strbuf_adds(out, confidence ? ", " : "");
	add_printable(out, confidence);
	strbuf_addc(out, '\n');
}

static void add_ended_by(const cJSON *failure, struct strbuf *out)
{
	const char *kind = json_str(failure, "spec.endedBy.kind"),
		   *name = json_str(failure, "spec.endedBy.name");
	const char *reason = json_str(failure, "spec.endedBy.reason");

	if (!kind)
		return;
	add_label(out, "ended by");
	add_printable(out, kind);
	strbuf_adds(out, name ? " " : "");
	add_printable(out, name);
	strbuf_adds(out, reason ? ": " : "");
	add_printable(out, reason);
	strbuf_addc(out, '\n');
}

static void add_story(const cJSON *failure, struct strbuf *out)
{
	int64_t consequences = json_int(failure, "status.consequences", 0);
	const char *incident = json_str(failure, "status.incident");

	add_line(out, "caused by", json_str(failure, "status.causedByText"));
	add_ended_by(failure, out);
	if (consequences > 0 && incident) {
		add_label(out, "caused");
		strbuf_addf(out, "%" PRId64 " other end%s: kubectl afterglow incidents ",
			    consequences, consequences == 1 ? "" : "s");
		add_printable(out, incident);
		strbuf_addc(out, '\n');
	}
}

/* Each item's first member, and the second in brackets or after a colon. The label stands before the first. */
static void add_notes(struct strbuf *out, const char *label, const cJSON *notes, const char *first,
		      const char *second, const char *between, const char *after)
{
	const cJSON *note;

	cJSON_ArrayForEach(note, notes) {
		add_label(out, label);
		add_printable(out, json_str(note, first));
		if (json_str(note, second)) {
			strbuf_adds(out, between);
			add_printable(out, json_str(note, second));
			strbuf_adds(out, after);
		}
		strbuf_addc(out, '\n');
		label = "";
	}
}

static void add_part(struct strbuf *out, const char *name, int64_t bytes, const char **separator)
{
	char size[SIZE_TEXT_MAX];

	if (bytes < 0)
		return;
	strbuf_addf(out, "%s%s %s", *separator, name, size_format((uint64_t)bytes, size));
	*separator = ", ";
}

static void add_memory(const cJSON *failure, struct strbuf *out)
{
	const cJSON *memory = json_get(failure, "spec.memory");
	int64_t usage = json_int(memory, "usageBytes", -1),
		limit = json_int(memory, "limitBytes", -1);
	int64_t age = json_int(memory, "sampleAgeMs", -1);
	char used[SIZE_TEXT_MAX], of[SIZE_TEXT_MAX];
	const char *separator = ": ";

	if (usage < 0)
		return;
	add_label(out, "memory");
	strbuf_adds(out, size_format((uint64_t)usage, used));
	if (limit > 0)
		strbuf_addf(out, " of %s", size_format((uint64_t)limit, of));
	if (age >= 0)
		strbuf_addf(out, ", %" PRId64 " ms before the end", age);
	add_part(out, "anon", json_int(memory, "anonBytes", -1), &separator);
	add_part(out, "shmem", json_int(memory, "shmemBytes", -1), &separator);
	add_part(out, "file", json_int(memory, "fileBytes", -1), &separator);
	strbuf_addc(out, '\n');
}

static void add_processes(const cJSON *failure, struct strbuf *out)
{
	const cJSON *processes = json_get(failure, "spec.processes");

	if (cJSON_GetArraySize(processes))
		process_table(processes, "  top     ", out);
}

/* Where the rest of it is. A container that lives on, or a pod that is gone, has no previous log. */
static void add_commands(const cJSON *failure, struct strbuf *out)
{
	bool lives = json_bool(failure, "spec.containerLives", false);

	add_label(out, "its log");
	strbuf_adds(out, lives ? "kubectl logs -n " : "kubectl logs -p -n ");
	add_printable(out, json_str(failure, "metadata.namespace"));
	strbuf_addc(out, ' ');
	add_printable(out, json_str(failure, "spec.pod"));
	strbuf_adds(out, " -c ");
	add_printable(out, json_str(failure, "spec.container"));
	strbuf_adds(out, " (while the pod is there)\n");
}

void failure_text(const cJSON *failure, struct strbuf *out)
{
	add_printable(out, json_str(failure, "spec.verdict"));
	strbuf_addc(out, '\n');
	add_line(out, "failure", json_str(failure, "metadata.name"));
	add_place(failure, out);
	add_time(failure, out);
	add_exit(failure, out);
	add_class(failure, out);
	add_story(failure, out);
	add_notes(out, "evidence", json_get(failure, "spec.evidence"), "source", "text", ": ", "");
	add_memory(failure, out);
	add_processes(failure, out);
	add_notes(out, "missing", json_get(failure, "spec.missing"), "what", "needs", " (needs ",
		  ")");
	add_line(out, "signature", json_str(failure, "spec.signature"));
	add_line(out, "bundle", json_str(failure, "spec.bundle"));
	add_commands(failure, out);
}
