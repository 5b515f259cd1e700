/* SPDX-License-Identifier: Apache-2.0 */
/* Measures how deep and how wide JSON text is. */
#include "operator/kube/json_shape.h"

#include <stdbool.h>

#include "lib/macros.h"

/* Returns what follows the string that begins at p, or end if the string has no end. */
static const char *json_shape_skip_string(const char *p, const char *end)
{
	for (p++; p < end && *p != '"'; p++)
		p += *p == '\\' && p + 1 < end;
	return p < end ? p + 1 : end;
}

void json_shape(const char *text, size_t len, struct json_shape *ret_shape)
{
	struct json_shape shape = { .values = 1 };
	const char *p = text, *end = text + len;
	size_t depth = 0;

	while (p < end) {
		bool opens = *p == '{' || *p == '[';

		if (*p == '"') {
			p = json_shape_skip_string(p, end);
			continue;
		}
		shape.values += opens || *p == ',';
		if (opens)
			depth++;
		else if ((*p == '}' || *p == ']') && depth > 0)
			depth--;
		shape.depth = MAX(shape.depth, depth);
		p++;
	}
	*ret_shape = shape;
}
