/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any JSON as {"node", "events", "cluster", "job"}, which tenants write in part. The failure stays one of this pod,
 * none that Events or a cluster explain is certain, and its texts fit the CRD.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/fate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WHOSE "\"pod\":\"w\",\"podUID\":\"u1\",\"container\":\"ray-worker\",\"node\":\"n1\",\"cluster\":\"demo\",\"group\":\"g\"," \
	      "\"startedAt\":\"2026-11-21T01:00:00Z\",\"endedAt\":\"2026-11-21T01:05:00Z\",\"exitCode\":137,\"verdict\":\"v\""
#define FAILURE(class, by) "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"x\",\"labels\":{}},\"spec\":{" WHOSE ",\"class\":\"" class \
			   "\",\"confidence\":\"likely\"" by "}}"
#define BY(kind) ",\"endedBy\":{\"kind\":\"" kind "\",\"time\":\"2026-11-21T01:04:59Z\"}"

static void check(const cJSON *failure)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(failure);
	const char *verdict = json_str(failure, "spec.verdict"), *reason = json_str(failure, "spec.endedBy.reason");
	const char *name = json_str(failure, "spec.endedBy.name");

	if (!text || !verdict || strlen(verdict) > 1024 || strcmp(json_str(failure, "spec.podUID"), "u1") != 0 ||
	    strcmp(json_str(failure, "spec.confidence"), "certain") == 0 || (reason && strlen(reason) > 256) || (name && strlen(name) > 320))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const failures[] = { FAILURE("Killed", ""), FAILURE("Terminated", ""), FAILURE("PodDeleted", BY("Client")),
						FAILURE("PodDeleted", BY("EvictionAPI")), FAILURE("NodeLost", BY("TaintEviction")),
						FAILURE("NodeLost", BY("PodGC")), FAILURE("Preempted", BY("Scheduler")) };
	_cleanup_json_ cJSON *input = NULL;

	if (size > 1 << 16 || json_parse((const char *)data, size, &input, NULL) < 0)
		return 0;
	const cJSON *events = json_get(input, "events");
	const struct fate_facts facts = { .asked = ~0u, .node = json_get(input, "node"), .node_state = FATE_FOUND,
					  .job = json_get(input, "job"), .job_state = FATE_FOUND, .cluster = json_get(input, "cluster"),
					  .cluster_state = FATE_FOUND, .pod_events = events, .cluster_events = events,
					  .owner_events = events, .node_events = events, .now_ns = 1795223101 * NS_PER_SEC };

	for (size_t i = 0; i < ARRAY_SIZE(failures); i++) {
		_cleanup_json_ cJSON *failure = NULL;

		if (json_parse(failures[i], strlen(failures[i]), &failure, NULL) < 0)
			abort();
		fate_refine(failure, &facts);
		check(failure);
	}
	return 0;
}
