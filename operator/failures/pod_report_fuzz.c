/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as a sidecar's answer. Each RayFailure from it must be about this pod, and
 * must be printable as JSON. What it says of the end that the pod's status shows must not change
 * whose end it was.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/pod_report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"

static const char pod_text[] =
	"{\"metadata\":{\"name\":\"w\",\"namespace\":\"ml\",\"uid\":\"u1\",\"labels\":{\"ray.io/cluster\":\"demo\"}},"
	"\"spec\":{\"containers\":[{\"name\":\"ray-worker\"},{\"name\":\"afterglow\"}]},\"status\":{\"containerStatuses\":"
	"[{\"name\":\"ray-worker\",\"restartCount\":1,\"state\":{\"running\":{\"startedAt\":\"2026-11-21T01:05:01Z\"}},\"lastState\":{\"terminated\":"
	"{\"exitCode\":137,\"finishedAt\":\"2026-11-21T01:05:00Z\",\"containerID\":\"containerd://" ID
	"\"}}}]}}";

static void check_end(const cJSON *pod, const struct unmet_ends *unmet)
{
	struct ray_failures found = { 0 };

	if (failures_from_pod_and_node(pod, unmet, 1795224546 * NS_PER_SEC, &found, NULL) < 0 ||
	    found.n != 1)
		abort();
	_cleanup_json_ cJSON *failure = ray_failure_to_json(found.list[0]);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(failure);

	if (!text || strcmp(json_str(failure, "spec.podUID"), "u1") != 0 ||
	    strcmp(json_str(failure, "spec.containerID"), "containerd://" ID) != 0 ||
	    json_int(failure, "spec.exitCode", 0) != 137)
		abort();
	ray_failures_release(&found);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_json_ cJSON *pod = NULL;
	struct pod_report report;

	if (json_parse(pod_text, sizeof(pod_text) - 1, &pod, NULL) < 0)
		abort();
	if (pod_report_parse(pod, (const char *)data, size, 1795224546 * NS_PER_SEC, &report,
			     NULL) < 0)
		return 0;
	for (size_t i = 0; i < report.failures.n; i++) {
		_cleanup_json_ cJSON *failure = ray_failure_to_json(report.failures.list[i]);
		_cleanup_free_ char *text = cJSON_PrintUnformatted(failure);

		if (!text || strcmp(json_str(failure, "spec.podUID"), "u1") != 0 ||
		    strcmp(json_str(failure, "spec.container"), "ray-worker") != 0)
			abort();
	}
	check_end(pod, &report.unmet);
	for (size_t i = 0; i < report.n_holds; i++)
		cJSON_Delete(pod_hold_event(pod, &report.holds[i], 1795224546 * NS_PER_SEC));
	for (size_t i = 0; i < report.n_growths; i++) {
		_cleanup_json_ cJSON *event =
			growth_event(pod, pod, &report.growths[i], 1795224546 * NS_PER_SEC);

		if (!event || report.growths[i].rate <= 0)
			abort();
	}
	pod_report_release(&report);
	return 0;
}
