/* SPDX-License-Identifier: Apache-2.0 */
/* One table of phrases, applied to each text. */
#include "sidecar/report/command_words.h"

#include <string.h>

#include "lib/macros.h"
#include "lib/phrases.h"

#define CONTAINER "Container "

/* clang-format off */
static const struct phrase phrases[] = {
	{ "; the container lives on without it", "; the command goes on without it" },
	{ "; the container lives on", "; the command goes on" },
	{ "the command as the container's own process (exec COMMAND)", "the command itself (exec COMMAND)" },
	{ "the container's own log", "the command's own output" },
	{ "the container's own limit", "its own limit" },
	{ "which end a container as a whole", "which end all of its processes" },
	{ "which container's process", "which process" },
	{ "this container", "this command" },
	{ "a container runtime", "a runtime" },
	{ "the report of the head's container", "the report of the head" },
	{ " on the node, or the node agent,", ", as root," },
	{ "outside of all containers", "and not to the working directory" },
	{ ", and the pod's events", "" },
	{ "the pod's events: a probe fails where raylet does not answer", "the words of whoever may stop it here: a scheduler, another user" },
	{ "the pod's events", "the words of whoever may stop it here: a scheduler, another user" },
	{ "/dev/shm is the pod's and keeps", "/dev/shm keeps" },
	{ "what an earlier container left", "what an earlier program left" },
	{ "delete the pod: a new one starts with an empty /dev/shm", "remove what nobody uses from /dev/shm" },
	{ "the container", "the command" },
	{ " in container ", " under " },
};
/* clang-format on */

/* Before those, where the command has ended and Ray goes on. */
static const struct phrase left_behind[] = {
	{ "; the container lives on without it", "; the command had ended before" },
	{ "; the container lives on without raylet", "; the command had ended before" },
	{ "; the container lives on", "; the command had ended before" },
};

static void text_use_command_words(char *text, size_t size)
{
	if (strncmp(text, CONTAINER, strlen(CONTAINER)) == 0)
		memmove(text, text + strlen(CONTAINER), strlen(text) + 1 - strlen(CONTAINER));
	phrases_replace(text, size, phrases, ARRAY_SIZE(phrases));
}

void report_use_command_words(struct report *r)
{
	struct verdict *v = &r->verdict;

	if (r->left_behind)
		phrases_replace(v->sentence, sizeof(v->sentence), left_behind,
				ARRAY_SIZE(left_behind));
	text_use_command_words(v->sentence, sizeof(v->sentence));
	for (unsigned int i = 0; i < v->n_evidence; i++)
		/* a quotation of what the program wrote */
		if (strcmp(v->evidence[i].source, "driver's log") != 0)
			text_use_command_words(v->evidence[i].text, sizeof(v->evidence[i].text));
	for (unsigned int i = 0; i < v->n_missing; i++) {
		text_use_command_words(v->missing[i].what, sizeof(v->missing[i].what));
		text_use_command_words(v->missing[i].needs, sizeof(v->missing[i].needs));
	}
	text_use_command_words(r->diagnosis, sizeof(r->diagnosis));
	text_use_command_words(r->advice, sizeof(r->advice));
}
