/* SPDX-License-Identifier: Apache-2.0 */
/* Makes Kubernetes Events about RayClusters, their pods and other objects. */
#pragma once

#include <cjson/cJSON.h>
#include <stdint.h>

/*
 * Makes an events.k8s.io/v1 Event of type "Normal" or "Warning"; the caller owns it. Its name is
 * derived from the cluster's uid, the reason and the note, so that the same Event is
 * refused as a duplicate while the first still exists.
 */
cJSON *event_of_cluster(const cJSON *cluster, const char *type, const char *reason,
			const char *action, const char *note, int64_t now_ns);
cJSON *event_warning(const cJSON *cluster, const char *reason, const char *action, const char *note,
		     int64_t now_ns);

/* Does the same for an object of any kind, which must have apiVersion and kind. */
cJSON *event_of_object(const cJSON *object, const char *type, const char *reason,
		       const char *action, const char *note, int64_t now_ns);

/* Does the same for a pod, with type "Normal" or "Warning". */
cJSON *event_of_pod(const cJSON *pod, const char *type, const char *reason, const char *action,
		    const char *note, int64_t now_ns);
