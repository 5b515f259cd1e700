/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an object that a tenant may have made too deep or too wide to be read. Then the
 * result is a remnant with its name and the reason. So such an object does not prevent
 * reading others of its kind, and its status can report the problem. Pure.
 */
#pragma once

#include "lib/err.h"
#include "lib/json.h"

/*
 * Like project_text (projection.h). But if an object is nested too deep, or has more than
 * JSON_VALUES_MAX values while all of them are wanted (fields NULL), the result is a remnant:
 * identity, labels and status, without spec. The result is negative if not even its name can be
 * read.
 */
int salvage_text(const char *text, size_t len, const char *const *fields, cJSON **ret_object,
		 struct err *err);

/* Leaves only such a remnant of an object that was read, with its status, for that reason. */
void salvage_reduce(cJSON *object, const char *reason);

/*
 * Returns why there is only a remnant of the object: "spec is nested more than 1000 levels
 * deep"; NULL if the object is whole.
 */
const char *salvage_reason(const cJSON *object);
/* Returns whether the remnant has the object's status. */
bool salvage_has_status(const cJSON *object);
