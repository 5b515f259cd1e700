/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the warnings about the memory of a cluster's groups. */
#include "operator/webhook/memory_advice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/webhook/warnings.h"

/* Bytes of one warning besides the group's name, the beginning and the numbers */
#define FRAME_MAX 40

#define WOULD_SET "memory safety (" MEMORY_ANNOTATION ": \"apply\" asks for it) would set"
#define SETS "memory safety (" MEMORY_ANNOTATION ": \"off\" prevents it) sets"

/* Writes `rayStartParams.memory "2577399808" (2.4 GiB)`. */
static void print_number(enum group_field field, const char *text, char *buf, size_t size)
{
	if (group_field_is_budget(field))
		snprintf(buf, size, "%s \"%s\" (%s)", group_field_name(field), text,
			 SIZE_TEXT(strtoll(text, NULL, 10)));
	else
		snprintf(buf, size, "%s \"%s\"", group_field_name(field), text);
}

static void memory_advice_say(const char *group, const char *lead, int64_t limit,
			      struct strbuf *numbers, cJSON *warnings)
{
	if (!numbers->len)
		return;
	if (limit)
		warnings_addf(warnings, "group %s: %s %s, from the limit of %s", group, lead,
			      strbuf_str(numbers), SIZE_TEXT(limit));
	else
		warnings_addf(warnings, "group %s: %s %s", group, lead, strbuf_str(numbers));
	strbuf_reset(numbers);
}

/*
 * Adds as many warnings as the numbers of fields in this mode need. Values that are already in the
 * group are not mentioned.
 */
static void say_numbers(const struct advice_request *req, const cJSON *group,
			const struct group_values *want, enum memory_mode mode, const char *name,
			const char *lead, cJSON *warnings)
{
	_cleanup_strbuf_ struct strbuf numbers = STRBUF_INIT(2 * WARNING_TEXT_MAX);
	size_t room = WARNING_TEXT_MAX - FRAME_MAX - strlen(name) - strlen(lead);
	int64_t limit = 0;
	char number[96];

	for (int f = 0; f < GROUP_FIELD_COUNT; f++) {
		if (!*want->text[f] || group_field_mode(f, req->modes) != mode ||
		    group_field_is(group, f, want->text[f]))
			continue;
		print_number(f, want->text[f], number, sizeof(number));
		if (numbers.len + strlen(number) > room)
			memory_advice_say(name, lead, limit, &numbers, warnings);
		if (group_field_is_budget(f))
			limit = want->limit;
		strbuf_addf(&numbers, "%s%s", numbers.len ? ", " : "", number);
	}
	memory_advice_say(name, lead, limit, &numbers, warnings);
}

static void say_notes(const struct advice_request *req, const cJSON *group,
		      const struct group_context *cx, const cJSON *notes, cJSON *warnings)
{
	if (req->modes.budgets == MEMORY_MODE_OFF)
		return;
	json_each(note, notes)
		warnings_addf(warnings, "%s", json_str(note, "text"));
	if (req->created && req->modes.budgets == MEMORY_MODE_APPLY &&
	    group_own_sizing(group, cx->cluster_keeps_command).unseen)
		warnings_addf(
			warnings,
			"group %s: its envFrom may size Ray's memory, so memory safety sets no budget",
			cx->name);
}

static void advise_group(const struct advice_request *req, const cJSON *group,
			 const struct group_context *cx, const struct group_values *ours,
			 cJSON *warnings)
{
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();
	struct group_values want;
	char lead[80];

	if (!group_plan(group, ours, cx, &want, notes))
		return;
	say_notes(req, group, cx, notes, warnings);
	if (cx->node == RAY_WORKER && req->keeper != LISTS_FREE) {
		say_numbers(req, group, &want, MEMORY_MODE_WARN, cx->name,
			    "for memory safety the manifest can set", warnings);
		snprintf(lead, sizeof(lead), "%s, so please set", list_keeper_reason(req->keeper));
		say_numbers(req, group, &want, MEMORY_MODE_APPLY, cx->name, lead, warnings);
		return;
	}
	say_numbers(req, group, &want, MEMORY_MODE_WARN, cx->name, WOULD_SET, warnings);
	if (req->created)
		say_numbers(req, group, &want, MEMORY_MODE_APPLY, cx->name, SETS, warnings);
}

static void advise_workers(const struct advice_request *req, const struct resized_groups *resized,
			   struct group_context *cx, cJSON *warnings)
{
	const cJSON *groups = json_get(req->spec, "workerGroupSpecs");
	char name[WARNING_NAME_MAX];

	if (!cJSON_IsArray(groups))
		return;
	json_each(group, groups) {
		const char *key = json_str(group, "groupName");

		if (!key || strlen(key) > RECORD_NAME_MAX)
			continue;
		if (warnings_full(warnings))
			return;
		cx->name = warning_name(key, name);
		cx->resized = resized_groups_have(resized, key);
		advise_group(req, group, cx, memory_record_get(req->record, RAY_WORKER, key),
			     warnings);
	}
}

void memory_advise(const struct advice_request *req, cJSON *warnings)
{
	_cleanup_(resized_groups_release) struct resized_groups resized =
		resized_groups_of(req->annotations);
	struct group_context cx = { .node = RAY_HEAD,
				    .name = HEAD_GROUP_NAME,
				    .policy = req->policy,
				    .head_runs_tasks = cluster_head_runs_tasks(req->spec),
				    .resized = resized_groups_have(&resized, HEAD_GROUP_NAME),
				    .cluster_keeps_command = keeps_own_command(req->annotations),
				    .lists = req->keeper == LISTS_FREE };

	advise_group(req, json_get(req->spec, "headGroupSpec"), &cx, req->record->head, warnings);
	cx.node = RAY_WORKER;
	cx.lists = true;
	advise_workers(req, &resized, &cx, warnings);
}
