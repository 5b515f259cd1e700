/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the patches of an incident plan. */
#include <stdio.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "operator/failures/incident_plan.h"
#include "operator/failures/story.h"
#include "operator/kube/object.h"

static cJSON *patch_of(const char *namespace, const struct incident_change *change)
{
	cJSON *patch = object_new("afterglow.dev/v1alpha1", "RayFailure", namespace, change->name);

	/* With the uid the patch cannot change a new object of the same name. */
	if (*change->uid)
		json_set_str(json_get(patch, "metadata"), "uid", change->uid);
	return patch;
}

static void set_or_clear(cJSON *to, const char *name, const char *text)
{
	json_set_str(to, name, text && *text ? text : NULL);
}

/* Returns the patch, or NULL if memory was missing for a part of it. */
static cJSON *if_whole(cJSON *patch, size_t lost)
{
	if (oom_count() == lost)
		return patch;
	cJSON_Delete(patch);
	return NULL;
}

cJSON *incident_status_patch(const char *namespace, const struct incident_change *change)
{
	size_t lost = oom_count();
	cJSON *patch = patch_of(namespace, change), *status = json_object_at(patch, "status");

	set_or_clear(status, "incident", change->id);
	set_or_clear(status, "causedByText", change->text);
	json_set(status, "consequences",
		 change->consequences ? cJSON_CreateNumber((double)change->consequences) :
					cJSON_CreateNull());
	json_set(status, "causedBy", change->first ? cJSON_CreateObject() : cJSON_CreateNull());
	if (change->first) {
		cJSON *cause = json_get(status, "causedBy");

		json_set_str(cause, "name", change->first);
		json_set_str(cause, "class", failure_class_name(change->class));
		set_or_clear(cause, "pod", change->pod);
		set_or_clear(cause, "container", change->container);
	}
	return if_whole(patch, lost);
}

cJSON *incident_marks_patch(const char *namespace, const struct incident_change *change)
{
	size_t lost = oom_count();
	cJSON *patch = patch_of(namespace, change), *metadata = json_get(patch, "metadata");
	cJSON *annotations = json_object_at(metadata, "annotations");
	char number[32] = "";

	if (change->consequences)
		snprintf(number, sizeof(number), "%zu", change->consequences);
	set_or_clear(json_object_at(metadata, "labels"), INCIDENT_LABEL, change->id);
	set_or_clear(annotations, CAUSED_BY_ANNOTATION, change->first);
	set_or_clear(annotations, CONSEQUENCES_ANNOTATION, number);
	return if_whole(patch, lost);
}
