/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any JSON as {"node", "events", "cluster", "job"}, parts of which tenants write. The
 * failure must remain one of this pod, no conclusion from Events or a cluster may be certain, and
 * the texts must fit the CRD.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/fate/fate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct {
	enum failure_class class;
	enum ended_by_kind by;
} ends[] = {
	{ FAILURE_KILLED, ENDED_BY_NOBODY },
	{ FAILURE_TERMINATED, ENDED_BY_NOBODY },
	{ FAILURE_POD_DELETED, ENDED_BY_CLIENT },
	{ FAILURE_POD_DELETED, ENDED_BY_EVICTION_API },
	{ FAILURE_NODE_LOST, ENDED_BY_TAINT_EVICTION },
	{ FAILURE_NODE_LOST, ENDED_BY_POD_GC },
	{ FAILURE_PREEMPTED, ENDED_BY_SCHEDULER },
};

static struct ray_failure *failure_new(size_t i)
{
	struct ray_failure *f = ray_failure_new();

	if (!f)
		abort();
	ray_failure_set(&f->namespace, "ml");
	ray_failure_set(&f->name, "x");
	ray_failure_set(&f->pod, "w");
	ray_failure_set(&f->pod_uid, "u1");
	ray_failure_set(&f->container, "ray-worker");
	ray_failure_set(&f->node, "n1");
	ray_failure_set(&f->cluster, "demo");
	ray_failure_set(&f->group, "g");
	ray_failure_set(&f->started_at, "2026-11-21T01:00:00Z");
	ray_failure_set(&f->ended_at, "2026-11-21T01:05:00Z");
	ray_failure_set(&f->verdict, "v");
	f->exit_code = 137;
	f->class = ends[i].class;
	f->confidence = CONFIDENCE_LIKELY;
	f->ended_by = (struct ended_by){ .kind = ends[i].by, .at_ns = 1795223099 * NS_PER_SEC };
	return f;
}

static void check(const struct ray_failure *f)
{
	_cleanup_json_ cJSON *object = ray_failure_to_json(f);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(object);

	if (!text || !f->verdict || strlen(f->verdict) > 1024 || strcmp(f->pod_uid, "u1") != 0 ||
	    f->confidence == CONFIDENCE_CERTAIN || strlen(f->ended_by.reason) > 256 ||
	    strlen(f->ended_by.name) > 320)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ cJSON *input = NULL;

	if (size > 1 << 16 || json_parse((const char *)data, size, &input, NULL) < 0)
		return 0;
	const cJSON *events = json_get(input, "events");
	const struct fate_facts facts = { .asked = ~0u,
					  .node = json_get(input, "node"),
					  .node_state = FATE_FOUND,
					  .job = json_get(input, "job"),
					  .job_state = FATE_FOUND,
					  .cluster = json_get(input, "cluster"),
					  .cluster_state = FATE_FOUND,
					  .pod_events = events,
					  .cluster_events = events,
					  .owner_events = events,
					  .node_events = events,
					  .now_ns = 1795223101 * NS_PER_SEC };

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		struct ray_failure *failure = failure_new(i);

		fate_refine(failure, &facts);
		check(failure);
		ray_failure_free(failure);
	}
	return 0;
}
