/* SPDX-License-Identifier: Apache-2.0 */
/* Takes out of an object what nobody here reads. */
#include "operator/kube/projection.h"

#include <stdio.h>
#include <string.h>

#define PATH_MAX_LEN 512

enum fate { DROP, KEEP, LOOK_BELOW };

static enum fate fate_of(const char *path, size_t len, const char *const *fields)
{
	enum fate fate = DROP;

	for (; *fields; fields++) {
		size_t field_len = strlen(*fields);
		if (field_len == len && memcmp(*fields, path, len) == 0)
			return KEEP;
		if ((*fields)[field_len - 1] == '*' && len >= field_len - 1 && memcmp(*fields, path, field_len - 1) == 0)
			return KEEP;
		if (field_len > len && (*fields)[len] == '.' && memcmp(*fields, path, len) == 0)
			fate = LOOK_BELOW;
	}
	return fate;
}

/* path has len bytes, of which those of value's own name are the last. */
static void project_below(cJSON *value, char path[PATH_MAX_LEN], size_t len, const char *const *fields)
{
	cJSON *child = value->child, *next;

	for (; child; child = next) {
		next = child->next;
		if (cJSON_IsArray(value)) {
			project_below(child, path, len, fields);
			continue;
		}
		int n = snprintf(path + len, PATH_MAX_LEN - len, "%s%s", len ? "." : "", child->string);
		enum fate fate = n < (int)(PATH_MAX_LEN - len) ? fate_of(path, len + (size_t)n, fields) : DROP;
		if (fate == DROP)
			cJSON_Delete(cJSON_DetachItemViaPointer(value, child));
		else if (fate == LOOK_BELOW)
			project_below(child, path, len + (size_t)n, fields);
	}
}

void project(cJSON *object, const char *const *fields)
{
	char path[PATH_MAX_LEN] = "";

	if (cJSON_IsObject(object))
		project_below(object, path, 0, fields);
}
