/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and building JSON with cJSON. */
#include "lib/json.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/oom.h"
#include "lib/units.h"

static void *json_allocate(size_t size)
{
	void *memory = malloc(size);

	if (!memory)
		oom_note();
	return memory;
}

/* This runs before main, so that no program can forget it. */
__attribute__((constructor)) static void count_lost_allocations(void)
{
	cJSON_InitHooks(&(cJSON_Hooks){ .malloc_fn = json_allocate, .free_fn = free });
}

static int parse_error(const char *text, const char *at, struct err *err)
{
	int line = 1, column = 1;

	for (const char *p = text; p < at; p++) {
		column = *p == '\n' ? 1 : column + 1;
		line += *p == '\n';
	}
	return err_set(err, EPROTO, "not JSON at line %d, column %d", line, column);
}

int json_parse(const char *text, size_t len, cJSON **ret_json, struct err *err)
{
	const char *end = text;
	size_t lost = oom_count();
	cJSON *json = cJSON_ParseWithLengthOpts(text, len, &end, false);

	if (!json)
		return oom_count() == lost ? parse_error(text, end, err) :
					     err_set(err, ENOMEM, "JSON");
	while (end < text + len && *end && strchr(" \t\r\n", *end))
		end++;
	/* A NUL ends a C string, so callers that pass its terminator along are fine. */
	if (end < text + len && *end) {
		cJSON_Delete(json);
		return parse_error(text, end, err);
	}
	*ret_json = json;
	return 0;
}

cJSON *json_get(const cJSON *obj, const char *path)
{
	char name[128];

	while (obj && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		obj = cJSON_GetObjectItemCaseSensitive(obj, name);
		path += len + (path[len] == '.');
	}
	return (cJSON *)obj;
}

const char *json_str(const cJSON *obj, const char *path)
{
	return cJSON_GetStringValue(json_get(obj, path));
}

const char *json_member(const cJSON *obj, const char *name)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(obj, name));
}

const char *json_str_or(const cJSON *obj, const char *path, const char *otherwise)
{
	const char *text = json_str(obj, path);

	return text ? text : otherwise;
}

bool json_is(const cJSON *obj, const char *path, const char *text)
{
	const char *found = json_str(obj, path);

	return found && text && strcmp(found, text) == 0;
}

bool json_time(const cJSON *obj, const char *path, int64_t *ret_ns)
{
	const char *text = json_str(obj, path);

	return text && time_parse(text, ret_ns, NULL) == 0;
}

int64_t json_number_cut(double number)
{
	if (number >= 9223372036854775807.0)
		return INT64_MAX;
	return number > -9223372036854775808.0 ? (int64_t)number : INT64_MIN;
}

int64_t json_int(const cJSON *obj, const char *path, int64_t fallback)
{
	const cJSON *item = json_get(obj, path);

	if (!cJSON_IsNumber(item) || item->valuedouble != item->valuedouble)
		return fallback;
	return json_number_cut(item->valuedouble);
}

bool json_bool(const cJSON *obj, const char *path, bool fallback)
{
	const cJSON *item = json_get(obj, path);

	return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

cJSON *json_find(const cJSON *array, const char *key, const char *value)
{
	cJSON *item;

	cJSON_ArrayForEach(item, array) {
		const char *found =
			cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(item, key));

		if (found && value && strcmp(found, value) == 0)
			return item;
	}
	return NULL;
}

/*
 * The new value takes over the old value's name. cJSON's own replacement copies
 * the name, and without memory for that it leaves a nameless item, behind which
 * lookups find nothing any more.
 */
static bool json_replace(cJSON *obj, cJSON *old, cJSON *value)
{
	cJSON_free(value->string);
	value->string = TAKE_PTR(old->string);
	return cJSON_ReplaceItemViaPointer(obj, old, value);
}

static bool json_put(cJSON *obj, const char *name, cJSON *value)
{
	cJSON *old = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (!value)
		return false;
	if (old ? json_replace(obj, old, value) : cJSON_AddItemToObject(obj, name, value))
		return true;
	/* If cJSON has no memory for the name, it does not free the value. */
	cJSON_Delete(value);
	return false;
}

cJSON *json_object_at(cJSON *obj, const char *name)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (cJSON_IsObject(item))
		return item;
	item = cJSON_CreateObject();
	return json_put(obj, name, item) ? item : NULL;
}

cJSON *json_array_at(cJSON *obj, const char *name)
{
	cJSON *item = cJSON_GetObjectItemCaseSensitive(obj, name);

	if (cJSON_IsArray(item))
		return item;
	item = cJSON_CreateArray();
	return json_put(obj, name, item) ? item : NULL;
}

void json_set(cJSON *obj, const char *name, cJSON *value)
{
	json_put(obj, name, value);
}

void json_set_str(cJSON *obj, const char *name, const char *value)
{
	json_set(obj, name, value ? cJSON_CreateString(value) : cJSON_CreateNull());
}

void json_set_int(cJSON *obj, const char *name, int64_t value)
{
	json_set(obj, name, cJSON_CreateNumber((double)value));
}

void json_set_digits(cJSON *obj, const char *name, int64_t value)
{
	char text[24];

	snprintf(text, sizeof(text), "%" PRId64, value);
	json_set_str(obj, name, text);
}

void json_append(cJSON *array, cJSON *item)
{
	/* cJSON would also accept an object here and add a member without a name. */
	if (!cJSON_IsArray(array) || !cJSON_AddItemToArray(array, item))
		cJSON_Delete(item);
}

void json_append_str(cJSON *array, const char *text)
{
	json_append(array, cJSON_CreateString(text));
}

void json_append_pair(cJSON *array, const char *name, const char *text, const char *other,
		      const char *more)
{
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, name, text);
	json_set_str(json, other, more);
	json_append(array, json);
}

cJSON *json_named_new(const char *name)
{
	cJSON *object = cJSON_CreateObject();

	json_set_str(object, "name", name);
	return object;
}
