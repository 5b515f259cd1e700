/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a RayFailure as text: the verdict, then a line for each known fact. */
#include "plugin/failure_text.h"

#include <string.h>

#include "lib/json.h"
#include "plugin/failure_facts.h"
#include "plugin/process_table.h"
#include "plugin/table.h"

#define LABEL_WIDTH 11

struct lines {
	struct strbuf *out;
	const char *label; /* the label of the previous line */
};

static void add_label(struct strbuf *out, const char *label)
{
	strbuf_addf(out, "  %-*s", LABEL_WIDTH, label);
}

/* Adds a line. If several lines have the same label, only the first shows it. */
static void add_line(void *arg, const char *label, const char *text)
{
	struct lines *lines = arg;
	bool again = lines->label && strcmp(lines->label, label) == 0;

	add_label(lines->out, again ? "" : label);
	add_between(lines->out, "", text, "\n");
	lines->label = label;
}

/*
 * Adds the commands that show the rest. If the container lives on or the pod is gone, there is no
 * previous log.
 */
static void add_commands(const cJSON *failure, struct strbuf *out)
{
	bool lives = json_bool(failure, "spec.containerLives", false);

	add_label(out, "its log");
	add_between(out, lives ? "kubectl logs -n " : "kubectl logs -p -n ",
		    json_str(failure, "metadata.namespace"), " ");
	add_between(out, "", json_str(failure, "spec.pod"), " -c ");
	add_between(out, "", json_str(failure, "spec.container"), " (while the pod is there)\n");
}

void failure_text(const cJSON *failure, struct strbuf *out)
{
	const cJSON *processes = json_get(failure, "spec.processes");
	struct lines lines = { .out = out };

	add_between(out, "", json_str(failure, "spec.verdict"), "\n");
	failure_facts_each(failure, add_line, &lines);
	if (cJSON_GetArraySize(processes))
		process_table(processes, "  top     ", out);
	add_commands(failure, out);
}
