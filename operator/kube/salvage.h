/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an object whose text a tenant may have made too deep or too wide to
 * read: then what is known of it is its name, and why. One such object must not
 * keep anybody from the others of its kind, and its status can still say so. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_SALVAGE_H
#define AFTERGLOW_OPERATOR_KUBE_SALVAGE_H

#include "lib/err.h"
#include "lib/json.h"

/*
 * As project_text (projection.h). But of an object that is nested too deep, or holds more than
 * JSON_VALUES_MAX values while all of them are wanted (fields NULL), it gives a remnant: identity,
 * labels and status, no spec. Negative: not even its name can be read.
 */
int salvage_text(const char *text, size_t len, const char *const *fields, cJSON **ret_object,
		 struct err *err);

/*
 * Why there is only a remnant of the object: "spec.a.b...: nested more than 1000 levels deep".
 * NULL: it is whole.
 */
const char *salvage_reason(const cJSON *object);
/* Whether the remnant has its status, so that what was said of the object there is known. */
bool salvage_has_status(const cJSON *object);

#endif
