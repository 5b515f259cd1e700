/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fields of a pod that the operator keeps (kube/projection.h). They determine its
 * memory: 2.5 KiB for each Ray pod of the cluster. Code that reads another field of a
 * watched pod must add it here; otherwise the field is always absent.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

extern const char *const pod_fields[];

/*
 * Leaves of such a pod what manages it and judges its ends, and bounds what whoever made it has
 * written: strings of POD_SHORT_TEXT_MAX bytes, in its status POD_SHORT_STATUS_MAX, which a
 * termination message may have, and POD_SHORT_ITEMS_MAX items of each list. Labels and annotations
 * that nobody reads, and texts that are longer, are then absent. It is done to the pods for which
 * there is no room (always), because a pod that is left out would be made anew, and to those with
 * more than POD_CONTAINERS_MAX containers. The sidecar's container is always kept. Returns whether
 * it was done.
 */
bool pod_shorten(cJSON *pod, bool always);

/*
 * Many readers search a container's parts in lists, for each container. Ray's pods have less than
 * ten.
 */
#define POD_CONTAINERS_MAX 64
#define POD_SHORT_TEXT_MAX 256
#define POD_SHORT_STATUS_MAX 4096
#define POD_SHORT_ITEMS_MAX 16
