/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an object whose text a tenant may have made too deep or too wide to read. */
#include "operator/kube/salvage.h"

#include <errno.h>
#include <string.h>

#include "operator/kube/json_shape.h"
#include "operator/kube/projection.h"

/* No field of an API object has this name, because no schema allows it at the root. */
#define REASON "afterglow.dev/unreadable"
#define REASON_MAX 160
/* A text this short has fewer than JSON_VALUES_MAX values, because each takes two bytes. */
#define SURELY_NARROW (2 * JSON_VALUES_MAX)

/* managedFields are as deep as the object. */
static const char *const remnant_fields[] = {
	PROJECTION_IDENTITY,	      "metadata.generation",	  "metadata.creationTimestamp",
	"metadata.deletionTimestamp", "metadata.labels",	  "metadata.annotations",
	"metadata.finalizers",	      "metadata.ownerReferences", NULL,
};

static const char *const name_fields[] = {
	PROJECTION_IDENTITY,
	NULL,
};

static const char *const status_fields[] = { "status", NULL };

static bool is_narrow(const char *text, size_t len)
{
	struct json_shape shape;

	if (len <= SURELY_NARROW)
		return true;
	json_shape(text, len, &shape);
	return shape.values <= JSON_VALUES_MAX;
}

static cJSON *read_fields(const char *text, size_t len, const char *const *fields)
{
	struct skim s;

	skim_init(&s, text, len);
	cJSON *object = project_next(&s, fields);
	if (!skim_ended(&s))
		cJSON_Delete(TAKE_PTR(object));
	return object;
}

/* Finds the value of the member in text. Returns false if there is none. */
static bool find_member(const char *text, size_t len, const char *wanted, const char **ret_at,
			size_t *ret_len)
{
	bool found = false;
	const char *name;
	size_t name_len;
	struct skim s;

	skim_init(&s, text, len);
	for (skim_object(&s); !found && skim_member(&s, &name, &name_len);) {
		skim_peek(&s);
		*ret_at = s.at;
		skim_skip(&s);
		*ret_len = (size_t)(s.at - *ret_at);
		found = name_len == strlen(wanted) && memcmp(name, wanted, name_len) == 0;
	}
	return found && !s.failed;
}

static bool member_is_narrow(const char *text, size_t len, const char *name)
{
	const char *at;
	size_t member_len;

	return !find_member(text, len, name, &at, &member_len) || is_narrow(at, member_len);
}

/* Adds the status: an empty one if the text has none. A status that cannot be read is left out. */
static void salvage_add_status(cJSON *remnant, const char *text, size_t len)
{
	_cleanup_json_ cJSON *with_status = member_is_narrow(text, len, "status") ?
						    read_fields(text, len, status_fields) :
						    NULL;

	if (!with_status)
		return;
	cJSON *status = cJSON_DetachItemFromObjectCaseSensitive(with_status, "status");
	json_set(remnant, "status", status ? status : cJSON_CreateObject());
}

/*
 * Describes why the object cannot be read. The text stays the same when others write the object: it
 * names the spec even if managedFields, which grow, are too wide as well.
 */
static void salvage_describe(const char *text, size_t len, const struct err *why, cJSON *remnant)
{
	struct json_shape shape, spec = { 0 };
	const char *at;
	size_t spec_len;
	char words[REASON_MAX];

	json_shape(text, len, &shape);
	if (find_member(text, len, "spec", &at, &spec_len))
		json_shape(at, spec_len, &spec);
	if (shape.depth > JSON_DEPTH_MAX)
		snprintf(words, sizeof(words), "%s is nested more than %d levels deep",
			 spec.depth > JSON_DEPTH_MAX ? "spec" : "the object", JSON_DEPTH_MAX);
	else if (shape.values > JSON_VALUES_MAX)
		snprintf(words, sizeof(words), "the object has more than %zu values",
			 JSON_VALUES_MAX);
	else
		snprintf(words, sizeof(words), "%s", why->text);
	json_set_str(remnant, REASON, words);
}

/* Returns NULL if the object's name cannot be read. */
static cJSON *remnant_of(const char *text, size_t len, const struct err *why)
{
	_cleanup_json_ cJSON *remnant = member_is_narrow(text, len, "metadata") ?
						read_fields(text, len, remnant_fields) :
						NULL;

	if (!remnant)
		remnant = read_fields(text, len, name_fields);
	const char *name = json_str(remnant, "metadata.name");
	if (!name || !*name)
		return NULL;
	salvage_add_status(remnant, text, len);
	salvage_describe(text, len, why, remnant);
	return TAKE_PTR(remnant);
}

int salvage_text(const char *text, size_t len, const char *const *fields, cJSON **ret_object,
		 struct err *err)
{
	struct err why = { 0 };
	int r = fields || is_narrow(text, len) ? project_text(text, len, fields, ret_object, &why) :
						 err_set(&why, E2BIG, "too many values");
	cJSON *remnant = r < 0 && r != -ENOMEM ? remnant_of(text, len, &why) : NULL;

	if (remnant) {
		*ret_object = remnant;
		return 0;
	}
	if (r < 0 && err)
		*err = why;
	return r;
}

void salvage_reduce(cJSON *object, const char *reason)
{
	_cleanup_json_ cJSON *status = cJSON_DetachItemFromObjectCaseSensitive(object, "status");

	project(object, remnant_fields);
	json_set(object, "status", status ? TAKE_PTR(status) : cJSON_CreateObject());
	json_set_str(object, REASON, reason);
}

const char *salvage_reason(const cJSON *object)
{
	return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, REASON));
}

bool salvage_has_status(const cJSON *object)
{
	return cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(object, "status"));
}
