/* SPDX-License-Identifier: Apache-2.0 */
/* Names the component that ended a container, when Kubernetes knows it. */
#include "operator/failures/ended_by.h"

#include <stdio.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/termination.h"

static const struct {
	const char *name, *words;
	bool takes_node;
} kinds[ENDED_BY_KIND_COUNT] = {
	{ "", "", false },
#define ENDED_BY(id, name, words, takes_node) { name, words, takes_node },
#include "operator/failures/ended_by.def"
#undef ENDED_BY
};

const char *ended_by_kind_name(enum ended_by_kind kind)
{
	return kinds[kind].name;
}

bool ended_by_takes_node(enum ended_by_kind kind)
{
	return kinds[kind].takes_node;
}

void ended_by_init(struct ended_by *by, enum ended_by_kind kind, const char *of_kind,
		   const char *name, const char *reason)
{
	char text[ENDED_BY_NAME_MAX] = "";

	if (name && *name)
		snprintf(text, sizeof(text), "%.60s%s%.253s", of_kind ? of_kind : "",
			 of_kind ? "/" : "", name);
	by->kind = kind;
	text_tame(text, by->name, sizeof(by->name));
	text_tame(reason ? reason : "", by->reason, sizeof(by->reason));
}

void ended_by_set(const struct ended_by *by, cJSON *spec)
{
	if (by->kind == ENDED_BY_NOBODY) {
		cJSON_DeleteItemFromObjectCaseSensitive(spec, "endedBy");
		return;
	}
	cJSON *object = cJSON_CreateObject();
	json_set_str(object, "kind", ended_by_kind_name(by->kind));
	if (*by->name)
		json_set_str(object, "name", by->name);
	if (*by->reason)
		json_set_str(object, "reason", by->reason);
	if (by->at_ns > 0)
		json_set_str(object, "time", TIME_TEXT(by->at_ns));
	json_set(spec, "endedBy", object);
}

const char *ended_by_text(const struct ended_by *by, char buf[static ENDED_BY_TEXT_MAX])
{
	*buf = '\0';
	if (by->kind != ENDED_BY_NOBODY)
		snprintf(buf, ENDED_BY_TEXT_MAX, "by %s%s%s", kinds[by->kind].words,
			 *by->reason ? ": " : "", by->reason);
	return buf;
}
