/* SPDX-License-Identifier: Apache-2.0 */
/* Copies the labels for batch schedulers. */
#include "operator/raycluster/scheduling_labels.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strbuf.h"

/* The labels that the plugins of KubeRay 1.7 read (controllers/ray/batchscheduler). */
static const char *const names[] = {
	"ray.io/gang-scheduling-enabled",
	"ray.io/priority-class-name",
	"volcano.sh/queue-name",
	"volcano.sh/network-topology-mode",
	"volcano.sh/network-topology-highest-tier-allowed",
	"yunikorn.apache.org/app-id",
	"yunikorn.apache.org/queue",
	"kai.scheduler/queue",
};

char *scheduling_labels_ignored(const cJSON *cluster)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1024);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (cJSON_GetObjectItemCaseSensitive(json_get(cluster, "metadata.labels"), names[i]))
			strbuf_addf(&sb, "%s%s", sb.len ? ", " : "", names[i]);
	return sb.len ? strbuf_detach(&sb) : NULL;
}
