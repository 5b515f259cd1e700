/* SPDX-License-Identifier: Apache-2.0 */
/* Removes the sidecar from a pod that the API server refused with it. */
#include "operator/injection/inject_undo.h"

#include <string.h>

#include "lib/json.h"
#include "lib/printable.h"
#include "lib/sidecar_names.h"

/*
 * Returns whether only the sidecar mounts the volume. Volumes of the launcher stay, because the Ray
 * container mounts them.
 */
static bool is_the_sidecars_volume(const cJSON *sidecar, const cJSON *volume)
{
	const char *name = json_str(volume, "name");

	return name && json_find(json_get(sidecar, "volumeMounts"), "name", name) &&
	       strcmp(name, "afterglow-run") != 0;
}

/*
 * Notes the reason without its beginning "pods \"NAME\" is forbidden: ...", which differs for each
 * pod.
 */
static void inject_undo_note_refusal(cJSON *pod, const char *reason)
{
	const char *forbidden = strstr(reason, "is forbidden: "),
		   *invalid = strstr(reason, "is invalid: ");
	char tame[512];

	if (forbidden)
		reason = forbidden + strlen("is forbidden: ");
	else if (invalid)
		reason = invalid + strlen("is invalid: ");
	copy_printable(tame, sizeof(tame), reason, strlen(reason));
	json_set_str(json_object_at(json_get(pod, "metadata"), "annotations"),
		     INJECT_REFUSED_ANNOTATION, tame);
}

/* Takes an option out of the launcher's command line, with its number. */
static void option_cut(char *text, const char *option)
{
	char *at = strstr(text, option), *end = at ? at + strlen(option) : NULL;

	if (!at)
		return;
	end += strspn(end, "0123456789");
	memmove(at, end, strlen(end) + 1);
}

/* Ray's container, whose launcher would wait for a sidecar after the end of its command. */
static void launcher_waits_for_nobody(const cJSON *containers)
{
	json_each(container, containers)
		json_each(word, json_get(container, "command"))
			if (cJSON_IsString(word) && strstr(word->valuestring, " --socket ")) {
				option_cut(word->valuestring, " --wait-sidecar ");
				option_cut(word->valuestring, " --wait-after-success ");
			}
}

bool inject_undo(cJSON *pod, const char *reason)
{
	cJSON *containers = json_get(pod, "spec.containers"),
	      *volumes = json_get(pod, "spec.volumes"), *item, *next;
	cJSON *sidecar = json_find(containers, "name", SIDECAR_CONTAINER);

	if (!sidecar || !json_find(volumes, "name", "afterglow-spool"))
		return false;
	for (item = volumes->child; item; item = next) {
		next = item->next;
		if (is_the_sidecars_volume(sidecar, item))
			cJSON_Delete(cJSON_DetachItemViaPointer(volumes, item));
	}
	cJSON_Delete(cJSON_DetachItemViaPointer(containers, sidecar));
	launcher_waits_for_nobody(containers);
	inject_undo_note_refusal(pod, reason);
	return true;
}
