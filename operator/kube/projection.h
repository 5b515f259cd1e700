/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes the members of an object that the operator does not read. Of a pod of 8 kB, it needs
 * 1.5 kB; the API server has the rest. Pure.
 *
 * The result has the members that the paths in the NULL-terminated fields name, and everything
 * below: "status.phase". A path goes through arrays: "spec.containers.name" is the name
 * of each container. A '*' at the end matches any rest of the name: "labels.ray*". There
 * are at most PROJECTION_FIELDS_MAX fields.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"
#include "operator/kube/skim.h"

#define PROJECTION_FIELDS_MAX 64
/* What every copy of an object needs: which one it is, and of which version. */
#define PROJECTION_IDENTITY \
	"apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", \
		"metadata.resourceVersion"

void project(cJSON *object, const char *const *fields);

/*
 * Like json_parse followed by project, but removed members are not even parsed. If fields is NULL,
 * nothing is removed.
 */
int project_text(const char *text, size_t len, const char *const *fields, cJSON **ret_json,
		 struct err *err);

/*
 * Parses only those of the fields that are texts of at most text_max bytes, quotes included, and
 * the objects around them. So it needs little memory, whatever else the text has. It leaves out
 * lists, and the second of two members with one name. Returns NULL if the text is no JSON object,
 * or there is no memory.
 */
cJSON *project_texts(const char *text, size_t len, const char *const *fields, size_t text_max);

/* Parses and projects the next value of s. Returns NULL if s failed. */
cJSON *project_next(struct skim *s, const char *const *fields);
