/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes the annotation that lists the values set by memory safety. */
#include "operator/webhook/memory_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/kube/object.h"
#include "operator/podspec/quantity.h"

#define TAIL_MAX 3 /* bytes of the end of the text: "}}" and a NUL */

void memory_record_release(struct memory_record *record)
{
	free(record->head);
	strmap_release(&record->workers, free);
	*record = (struct memory_record){ 0 };
}

const struct group_values *memory_record_get(const struct memory_record *record, enum ray_node node,
					     const char *name)
{
	return node == RAY_HEAD ? record->head : strmap_get(&record->workers, name);
}

/* Returns whether it is a field that memory safety never sets in a group of that kind. */
static bool is_foreign(enum ray_node node, enum group_field field)
{
	if (node == RAY_HEAD)
		return field == GROUP_LIMIT;
	return field == GROUP_PARAM_CPUS || field == GROUP_CPUS;
}

/* Returns false if memory safety did not write this entry. */
static bool read_entry(const cJSON *entry, enum ray_node node, struct group_values *ret_values)
{
	const cJSON *set = json_get(entry, "set");
	const char *limit = json_str(entry, "limit");

	*ret_values = (struct group_values){ 0 };
	if (limit && (!group_value_is_valid(GROUP_LIMIT, limit) ||
		      quantity_parse(limit, &ret_values->limit, NULL) < 0))
		return false;
	for (int f = 0; f < GROUP_FIELD_COUNT; f++) {
		const char *text = cJSON_GetStringValue(
			cJSON_GetObjectItemCaseSensitive(set, group_field_name(f)));

		if (!text)
			continue;
		if (is_foreign(node, f) || !group_value_is_valid(f, text))
			return false;
		snprintf(ret_values->text[f], sizeof(ret_values->text[f]), "%s", text);
	}
	return !group_values_empty(ret_values);
}

static struct group_values *memory_record_entry_new(const cJSON *entry, enum ray_node node)
{
	struct group_values values, *copy = NULL;

	if (read_entry(entry, node, &values))
		copy = malloc(sizeof(*copy));
	if (copy)
		*copy = values;
	return copy;
}

static int read_workers(const cJSON *workers, struct memory_record *record, struct err *err)
{
	json_each(entry, workers) {
		struct group_values *values =
			entry->string ? memory_record_entry_new(entry, RAY_WORKER) : NULL;
		void *old = NULL;

		if (!values)
			continue;
		if (strmap_put(&record->workers, entry->string, values, &old) < 0) {
			free(values);
			return err_set(err, ENOMEM, "annotation " RECORD_ANNOTATION);
		}
		free(old);
	}
	return 0;
}

int memory_record_read(const cJSON *object, struct memory_record *ret_record, struct err *err)
{
	const char *text = object_annotation(object, RECORD_ANNOTATION);
	_cleanup_(memory_record_release) struct memory_record record = { 0 };
	_cleanup_json_ cJSON *json = NULL;
	size_t len = text ? strlen(text) : 0;

	if (len && len <= RECORD_MAX && json_parse(text, len, &json, NULL) < 0)
		json = NULL;
	record.head = memory_record_entry_new(json_get(json, "head"), RAY_HEAD);
	int r = read_workers(json_get(json, "workers"), &record, err);
	if (r < 0)
		return r;
	*ret_record = record;
	record = (struct memory_record){ 0 };
	return 0;
}

static char *print_entry(const struct group_values *values)
{
	_cleanup_json_ cJSON *entry = cJSON_CreateObject();
	char limit[QUANTITY_TEXT_MAX];

	if (values->limit)
		json_set_str(entry, "limit", quantity_format_bytes(values->limit, limit));
	cJSON *set = json_object_at(entry, "set");
	for (int f = 0; f < GROUP_FIELD_COUNT; f++)
		if (*values->text[f])
			json_set_str(set, group_field_name(f), values->text[f]);
	return cJSON_PrintUnformatted(entry);
}

void record_writer_release(struct record_writer *w)
{
	strbuf_release(&w->text);
}

static const char *separator(const struct record_writer *w, enum ray_node node)
{
	if (node == RAY_HEAD)
		return "{";
	if (w->workers)
		return ",";
	return w->head ? ",\"workers\":{" : "{\"workers\":{";
}

bool record_writer_add(struct record_writer *w, enum ray_node node, const char *name,
		       const struct group_values *values)
{
	_cleanup_json_ cJSON *key = cJSON_CreateString(node == RAY_HEAD ? "head" : name);
	_cleanup_free_ char *quoted = cJSON_PrintUnformatted(key), *entry = print_entry(values);
	const char *before = separator(w, node);

	if (!quoted || !entry ||
	    w->text.len + strlen(before) + strlen(quoted) + 1 + strlen(entry) + TAIL_MAX >
		    RECORD_MAX)
		return false;
	strbuf_addf(&w->text, "%s%s:%s", before, quoted, entry);
	w->head = w->head || node == RAY_HEAD;
	w->workers = w->workers || node == RAY_WORKER;
	return !strbuf_failed(&w->text);
}

const char *record_writer_text(struct record_writer *w)
{
	if (!w->text.len)
		return NULL;
	strbuf_adds(&w->text, w->workers ? "}}" : "}");
	return strbuf_failed(&w->text) ? NULL : strbuf_str(&w->text);
}
