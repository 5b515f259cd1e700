/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and building JSON with cJSON. Paths are field names joined by '.',
 * as in "spec.headGroupSpec.template"; read a name that contains a dot with
 * cJSON_GetObjectItemCaseSensitive.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

static inline void cjson_deletep(cJSON **json)
{
	cJSON_Delete(*json);
}
#define _cleanup_json_ _cleanup_(cjson_deletep)

/*
 * Parses len bytes that hold one JSON value, blanks around it allowed. Errors
 * name the line and column. Nesting is limited by cJSON (1000 levels).
 */
int json_parse(const char *text, size_t len, cJSON **ret_json, struct err *err);

/* Returns the value at path below obj, or NULL. obj may be NULL. */
cJSON *json_get(const cJSON *obj, const char *path);

/* Returns the string at path, owned by obj; NULL if it is absent or of another type. */
const char *json_str(const cJSON *obj, const char *path);
/* The same of one member, whose name may contain dots, as those of annotations and labels do. */
const char *json_member(const cJSON *obj, const char *name);
/* The same with another text in place of NULL. */
const char *json_str_or(const cJSON *obj, const char *path, const char *otherwise);

/*
 * Declares item and walks over the items of an array, or the members of an object. Either may be
 * NULL.
 */
#define json_each(item, array) for (const cJSON *item = json_first(array); item; item = item->next)
static inline const cJSON *json_first(const cJSON *array)
{
	return array ? array->child : NULL;
}

/* Returns whether the string at path equals text; false if either is absent or NULL. */
bool json_is(const cJSON *obj, const char *path, const char *text);

/* Reads the time at path, as time_parse does. Returns false if there is none. */
bool json_time(const cJSON *obj, const char *path, int64_t *ret_ns);

/*
 * Returns the integer at path, cut to the range of int64_t; fallback if it is absent or not a
 * number.
 */
int64_t json_int(const cJSON *obj, const char *path, int64_t fallback);

/* Returns the number, cut to the range of int64_t. */
int64_t json_number_cut(double number);

/* Returns the boolean at path, or fallback. */
bool json_bool(const cJSON *obj, const char *path, bool fallback);

/*
 * Returns the element of array in which the string field key equals value, or NULL. NULL if value
 * is NULL.
 */
cJSON *json_find(const cJSON *array, const char *key, const char *value);

/*
 * Returns the object or array called name in obj, which is made if absent; NULL if there is no
 * memory.
 */
cJSON *json_object_at(cJSON *obj, const char *name);
cJSON *json_array_at(cJSON *obj, const char *name);

/* Sets name in obj to value, which obj owns afterwards, in place of the present value. */
void json_set(cJSON *obj, const char *name, cJSON *value);
void json_set_str(cJSON *obj, const char *name, const char *value); /* NULL value: JSON null */
void json_set_int(cJSON *obj, const char *name, int64_t value);
/* Sets a string of the decimal digits, as labels and parameters have numbers. */
void json_set_digits(cJSON *obj, const char *name, int64_t value);

/*
 * Appends item to array, which owns it afterwards. If array is NULL or memory ran out, item is
 * freed.
 */
void json_append(cJSON *array, cJSON *item);
void json_append_str(cJSON *array, const char *text);
/* Appends an object with two strings, as the lists of evidence have. */
void json_append_pair(cJSON *array, const char *name, const char *text, const char *other,
		      const char *more);
/* Makes an object with a name, as Kubernetes' lists have. The caller frees it; NULL: no memory. */
cJSON *json_named_new(const char *name);
