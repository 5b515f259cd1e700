/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of RayFailures of containers whose sidecar never met them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/strbuf.h"
#include "operator/failures/failures.h"
#include "operator/failures/testing.h"
#include "operator/failures/unmet_end.h"

#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
#define OTHER_ID "00000000000000000000000000000000000000000000000000000000000000aa"
#define ENTRY(id, at, class, confidence) \
	"{containerID: \"" id "\", endedAt: \"2026-11-21T01:" at "Z\", class: " class \
		", confidence: " confidence ", " \
		"cause: \"it reached its memory limit of 32.0 MiB\", memory: {limitBytes: 33554432}, evidence: [{source: kernel log, " \
		"text: Tasks in x are going to be killed}], missing: [{what: memory and processes, needs: a sidecar}]}"
#define GOOD ENTRY(ID, "05:00.100", "KernelOOMContainer", "certain")
#define ENDS(entries) "{settled: false, ends: [" entries "]}"
#define OOM "exitCode: 137, reason: OOMKilled"
#define STARTS_LATER "running: {startedAt: \"2026-11-21T01:05:04Z\"}"
#define PORTS ", ports: [{name: afterglow-http, containerPort: 9095}]"

struct row {
	const char *what;
	const char *unmet; /* the member of the sidecar's answer */
	const char *terminated; /* further members of the container's state */
	const char *sidecar; /* the state of the sidecar */
	const char *spec; /* further members of the sidecar's spec, and of the pod's */
	const char *metadata;
};

static cJSON *pod_of(const struct row *r)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);
	cJSON *pod;

	strbuf_addf(
		&sb,
		"metadata: {name: demo-head, namespace: ml, uid: 0123456789ab, labels: {ray.io/cluster: demo, ray.io/group: g, "
		"ray.io/node-type: head}%s}\nspec: {nodeName: n1, containers: [{name: ray-head}, {name: afterglow%s}]}\n"
		"status:\n  phase: Running\n  containerStatuses:\n  - {name: ray-head, restartCount: 0, state: {terminated: "
		"{containerID: \"containerd://" ID
		"\", startedAt: \"2026-11-21T01:04:59Z\", finishedAt: \"2026-11-21T01:05:00Z\", %s}}}\n"
		"  - {name: afterglow, restartCount: 0, state: {%s}}\n",
		r->metadata ? r->metadata : "", r->spec ? r->spec : PORTS,
		r->terminated ? r->terminated : OOM, r->sidecar ? r->sidecar : STARTS_LATER);
	pod = json_of(strbuf_str(&sb));
	sign_pod(pod);
	return pod;
}

static struct ray_failure *only_failure(const cJSON *pod, const char *unmet_yaml)
{
	_cleanup_json_ cJSON *json = unmet_yaml ? json_of(unmet_yaml) : NULL;
	struct ray_failures failures = { 0 };
	struct ray_failure *failure;
	struct unmet_ends unmet;

	unmet_ends_take(json, &unmet);
	assert_int_equal(
		failures_from_pod_and_node(pod, &unmet, 1795224546 * NS_PER_SEC, &failures, NULL),
		0);
	assert_int_equal(failures.n, 1);
	failure = TAKE_PTR(failures.list[0]);
	ray_failures_release(&failures);
	unmet_ends_release(&unmet);
	return failure;
}

/*
 * Says what became of it: its class and confidence, whether the node knew it, and whether it waits
 * for the sidecar.
 */
static void describe(const struct row *r, char *out, size_t size)
{
	_cleanup_json_ cJSON *pod = pod_of(r);
	struct ray_failure *f = only_failure(pod, r->unmet);

	snprintf(out, size, "%s %s%s%s", failure_class_name(f->class),
		 confidence_name(f->confidence), f->from_node ? " node" : "",
		 f->sidecar_was_away ? " waits" : "");
	ray_failure_free(f);
}

static void the_nodes_proof_counts_for_that_container_and_that_end_only(void **state)
{
	static const struct {
		struct row row;
		const char *expected;
	} rows[] = {
		{ { .what = "its own limit", .unmet = ENDS(GOOD) },
		  "KernelOOMContainer certain node" },
		{ { .what = "the pod's limit",
		    .unmet = ENDS(ENTRY(ID, "05:00.100", "KernelOOMPod", "certain")) },
		  "KernelOOMPod certain node" },
		{ { .what = "the node",
		    .unmet = ENDS(ENTRY(ID, "05:00.100", "KernelOOMNode", "certain")) },
		  "KernelOOMNode certain node" },
		{ { .what = "not proved",
		    .unmet = ENDS(ENTRY(ID, "05:00.100", "KernelOOMContainer", "likely")) },
		  "KernelOOMContainer likely node" },
		{ { .what = "the kubelet does not say OOMKilled",
		    .unmet = ENDS(GOOD),
		    .terminated = "exitCode: 137, reason: Error" },
		  "KernelOOMContainer certain node" },
		{ { .what = "another container",
		    .unmet = ENDS(ENTRY(OTHER_ID, "05:00.100", "KernelOOMContainer", "certain")) },
		  "KernelOOMContainer likely waits" },
		{ { .what = "the second of two",
		    .unmet = ENDS(
			    ENTRY(OTHER_ID, "05:00.100", "KernelOOMPod", "certain") "," GOOD) },
		  "KernelOOMContainer certain node" },
		{ { .what = "a kill long before the end",
		    .unmet = ENDS(ENTRY(ID, "03:00.100", "KernelOOMContainer", "certain")) },
		  "KernelOOMContainer likely node" },
		{ { .what = "a kill long after the end",
		    .unmet = ENDS(ENTRY(ID, "07:00.100", "KernelOOMContainer", "certain")) },
		  "KernelOOMContainer likely node" },
		{ { .what = "no time",
		    .unmet = ENDS("{containerID: \"" ID
				  "\", class: KernelOOMPod, confidence: certain, cause: x}") },
		  "KernelOOMPod likely node" },
		{ { .what = "another exit code",
		    .unmet = ENDS(GOOD),
		    .terminated = "exitCode: 1, reason: Error" },
		  "ApplicationError certain" },
		{ { .what = "another exit code, after a kill that it survived",
		    .unmet = ENDS(GOOD),
		    .terminated = "exitCode: 1, reason: OOMKilled" },
		  "KernelOOMContainer likely" },
		{ { .what = "a class that no kernel proves",
		    .unmet = ENDS(ENTRY(ID, "05:00.100", "Completed", "certain")) },
		  "KernelOOMContainer likely waits" },
		{ { .what = "no class",
		    .unmet = ENDS("{containerID: \"" ID "\", confidence: certain, cause: x}") },
		  "KernelOOMContainer likely waits" },
		{ { .what = "no cause",
		    .unmet = ENDS("{containerID: \"" ID
				  "\", class: KernelOOMPod, confidence: certain}") },
		  "KernelOOMContainer likely waits" },
		{ { .what = "an ID that is cut",
		    .unmet = ENDS(
			    "{containerID: \"46b3\", class: KernelOOMPod, confidence: certain, cause: x}") },
		  "KernelOOMContainer likely waits" },
		{ { .what = "nonsense", .unmet = "{settled: 7, ends: {a: 1}}" },
		  "KernelOOMContainer likely waits" },
		{ { .what = "entries that are no objects",
		    .unmet = "{settled: true, ends: [1, [], null, \"x\"]}" },
		  "KernelOOMContainer likely waits" },
		{ { .what = "a report in the termination message is better",
		    .unmet = ENDS(GOOD),
		    OOM
		    ", message: \"#afterglow/1 {\\\"class\\\":\\\"KernelOOMPod\\\",\\\"confidence\\\":\\\"likely\\\",\\\"sentence\\\":\\\"s\\\","
		    "\\\"exitCode\\\":137,\\\"final\\\":true}\"" },
		  "KernelOOMPod likely" },
		{ { .what = "a snapshot is not",
		    .unmet = ENDS(GOOD),
		    OOM
		    ", message: \"#afterglow/1 {\\\"class\\\":\\\"KernelOOMPod\\\",\\\"confidence\\\":\\\"likely\\\",\\\"sentence\\\":\\\"s\\\","
		    "\\\"exitCode\\\":137,\\\"final\\\":false}\"" },
		  "KernelOOMContainer certain node" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[128];

		describe(&rows[i].row, text, sizeof(text));
		if (strcmp(text, rows[i].expected) != 0)
			fail_msg("%s: %s, not %s", rows[i].row.what, text, rows[i].expected);
	}
}

static void an_end_waits_only_for_a_sidecar_that_was_away_and_comes(void **state)
{
	static const struct {
		struct row row;
		bool waits;
	} rows[] = {
		{ { .what = "it started later" }, true },
		{ { .what = "it started in the same second",
		    .sidecar = "running: {startedAt: \"2026-11-21T01:05:00Z\"}" },
		  true },
		{ { .what = "it had just started, and may not have listened",
		    .sidecar = "running: {startedAt: \"2026-11-21T01:04:55Z\"}" },
		  true },
		{ { .what = "it had been running",
		    .sidecar = "running: {startedAt: \"2026-11-21T01:04:00Z\"}" },
		  false },
		{ { .what = "it is being created",
		    .sidecar = "waiting: {reason: ContainerCreating}" },
		  true },
		{ { .what = "its image cannot be pulled",
		    .sidecar = "waiting: {reason: ImagePullBackOff}" },
		  false },
		{ { .what = "it starts again after a crash",
		    .sidecar = "waiting: {reason: CrashLoopBackOff}" },
		  true },
		{ { .what = "it has ended and starts again",
		    .sidecar = "terminated: {exitCode: 1}" },
		  true },
		{ { .what = "it has ended for good",
		    .sidecar = "terminated: {exitCode: 1}",
		    .spec = PORTS "}], restartPolicy: Never, x: [{" },
		  false },
		{ { .what = "it serves no HTTP", .spec = "" }, false },
		{ { .what = "the operator cannot reach it",
		    .spec = PORTS "}], hostNetwork: true, x: [{" },
		  false },
		{ { .what = "the pod is being deleted",
		    .metadata = ", deletionTimestamp: \"2026-11-21T01:30:00Z\"" },
		  false },
		{ { .what = "the container ended by itself",
		    .terminated = "exitCode: 1, reason: Error" },
		  false },
		{ { .what = "the container crashed", .terminated = "exitCode: 139, reason: Error" },
		  false },
		{ { .what = "nobody knows who killed it",
		    .terminated = "exitCode: 137, reason: Error" },
		  true },
		{ { .what = "the kubelet lost it",
		    .terminated = "exitCode: 137, reason: ContainerStatusUnknown" },
		  false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_of(&rows[i].row);
		struct ray_failure *f = only_failure(pod, NULL);

		if (f->sidecar_was_away != rows[i].waits)
			fail_msg("%s: %d", rows[i].row.what, f->sidecar_was_away);
		ray_failure_free(f);
	}
}

static void the_failure_has_what_the_node_saw(void **state)
{
	const struct row row = { .unmet = ENDS(GOOD) };
	_cleanup_json_ cJSON *pod = pod_of(&row), *json = NULL;

	(void)state;
	json = json_of_failure(only_failure(pod, row.unmet));
	assert_string_equal(
		json_str(json, "spec.verdict"),
		"Container ray-head was killed by the kernel: it reached its memory limit of 32.0 MiB.");
	assert_string_equal(json_str(json, "spec.signal"), "SIGKILL");
	assert_int_equal(json_int(json, "spec.exitCode", 0), 137);
	assert_int_equal(json_int(json, "spec.memory.limitBytes", 0), 32 << 20);
	assert_string_equal(
		json_str(cJSON_GetArrayItem(json_get(json, "spec.evidence"), 0), "source"),
		"kernel log");
	assert_int_equal(cJSON_GetArraySize(json_get(json, "spec.missing")), 1);
	/* As the kubelet saw it, not as the sidecar says. */
	assert_string_equal(json_str(json, "spec.endedAt"), "2026-11-21T01:05:00Z");
}

static void an_older_sidecar_has_nothing_to_say(void **state)
{
	struct unmet_ends unmet;

	(void)state;
	unmet_ends_take(NULL, &unmet);
	assert_true(unmet.settled);
	assert_int_equal(unmet.n, 0);
}

static void the_number_of_ends_is_bounded(void **state)
{
	_cleanup_json_ cJSON *json =
		json_of(ENDS(GOOD "," GOOD "," GOOD "," GOOD "," GOOD "," GOOD));
	struct unmet_ends unmet;

	(void)state;
	unmet_ends_take(json, &unmet);
	assert_int_equal(unmet.n, UNMET_ENDS_MAX);
	assert_false(unmet.settled);
	unmet_ends_release(&unmet);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nodes_proof_counts_for_that_container_and_that_end_only),
		cmocka_unit_test(an_end_waits_only_for_a_sidecar_that_was_away_and_comes),
		cmocka_unit_test(the_failure_has_what_the_node_saw),
		cmocka_unit_test(an_older_sidecar_has_nothing_to_say),
		cmocka_unit_test(the_number_of_ends_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
