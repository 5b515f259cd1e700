/* SPDX-License-Identifier: Apache-2.0 */
/* Prepares objects of one kind for the store. */
#include "operator/cache/intake.h"

#include <errno.h>

#include "operator/kube/projection.h"
#include "operator/kube/salvage.h"

static void name_kind(const struct intake *intake, cJSON *object)
{
	json_set_str(object, "apiVersion", intake->resource->api_version);
	json_set_str(object, "kind", intake->resource->kind);
}

void intake_prepare(const struct intake *intake, cJSON *object)
{
	name_kind(intake, object);
	cJSON_DeleteItemFromObjectCaseSensitive(json_get(object, "metadata"), "managedFields");
	if (intake->fields)
		project(object, intake->fields);
	if (!intake->metadata_only)
		return;
	cJSON_DeleteItemFromObjectCaseSensitive(object, "spec");
	cJSON_DeleteItemFromObjectCaseSensitive(object, "status");
}

static bool keeps_remnant(const struct intake *intake, const cJSON *object)
{
	return intake->keep_remnants && salvage_has_status(object);
}

/* Puts object, which it takes, into the store. Returns -ENOMEM, or 0. */
static int intake_put(struct intake *intake, struct store *store, cJSON *object, bool own,
		      store_change_fn on_change, void *arg)
{
	_cleanup_free_ char *key = object_key(object);
	int r = store_put(store, object, own, on_change, arg);

	if (r == -E2BIG)
		intake->unreadable++;
	if (r == -E2BIG && key && intake->on_unreadable)
		intake->on_unreadable(intake->arg, key, STORE_NO_ROOM);
	return r == -ENOMEM ? r : 0;
}

/*
 * Takes what can be read of an object, because one unreadable object must not hide the others. An
 * older copy is removed, because it is not true any more. Takes object. Returns -ENOMEM, or 0.
 */
static int take_remnant(struct intake *intake, struct store *store, cJSON *object,
			store_change_fn on_change, void *arg)
{
	_cleanup_json_ cJSON *remnant = object;
	_cleanup_free_ char *key = object_key(object);

	intake->unreadable++;
	if (!key)
		return 0;
	if (intake->on_unreadable)
		intake->on_unreadable(intake->arg, key, salvage_reason(remnant));
	if (keeps_remnant(intake, remnant))
		return intake_put(intake, store, TAKE_PTR(remnant), false, on_change, arg);
	store_remove(store, key, NULL, on_change, arg);
	return 0;
}

int intake_take(struct intake *intake, struct store *store, cJSON *object,
		store_change_fn on_change, void *arg)
{
	if (salvage_reason(object)) {
		name_kind(intake, object);
		return take_remnant(intake, store, object, on_change, arg);
	}
	intake_prepare(intake, object);
	return intake_put(intake, store, object, false, on_change, arg);
}

void intake_learn(struct intake *intake, struct store *store, cJSON *object,
		  store_change_fn on_change, void *arg)
{
	if (salvage_reason(object) && !keeps_remnant(intake, object)) {
		cJSON_Delete(object);
		return;
	}
	intake_prepare(intake, object);
	intake_put(intake, store, object, true, on_change, arg);
}
