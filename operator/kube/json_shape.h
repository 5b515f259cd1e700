/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures how deep and how wide JSON text is, without parsing it: in constant memory
 * and without recursion, whatever a tenant wrote. Pure.
 *
 * cJSON refuses text that is nested more than 1,000 levels deep, and takes 64
 * bytes for each value: 1.5 MiB of "1,1,1,1" become 50 MiB.
 */
#pragma once

#include <stddef.h>

#define JSON_DEPTH_MAX 1000 /* cJSON's CJSON_NESTING_LIMIT */
/* The largest specs that we know of have 20,000. */
#define JSON_VALUES_MAX ((size_t)100000)

struct json_shape {
	size_t depth; /* "1": 0; "[]": 1; "[[]]": 2 */
	size_t values; /* "[1,{}]" has 3; any number if the text is not JSON */
};

void json_shape(const char *text, size_t len, struct json_shape *ret_shape);
