/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth allocation fails, for every N until all succeed, in the pure code. There must be no crash
 * and no leak (under the address sanitizer), and the result must be an error or the same as with
 * enough memory. A pod without its memory limit would be worse than no pod.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/faults_testing.h"
#include "lib/fileio.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/incident_plan.h"
#include "operator/failures/lost_head.h"
#include "operator/failures/pod_report.h"
#include "operator/failures/termination.h"
#include "operator/failures/testing.h"
#include "operator/fate/fate.h"
#include "operator/podspec/notes.h"
#include "operator/raycluster/plan.h"
#include "operator/raycluster/pod_template.h"
#include "operator/raycluster/status.h"
#include "operator/raycluster/testing.h"
#include "operator/raycluster/validate.h"

#define NOW (1795224546 * NS_PER_SEC)
#define POD_HEAD "metadata: {name: demo-worker-x, namespace: ml, uid: 0123456789ab, labels: {ray.io/cluster: demo, " \
	"ray.io/group: g, ray.io/node-type: worker}}\nspec: {nodeName: n1, containers: [{name: ray-worker}, {name: afterglow}]}\n"
#define REPORT "\"Sentence\\n#afterglow/1 {\\\"class\\\":\\\"KernelOOMContainer\\\",\\\"confidence\\\":\\\"certain\\\"," \
	"\\\"sentence\\\":\\\"S\\\",\\\"exitCode\\\":137,\\\"signal\\\":\\\"SIGKILL\\\",\\\"final\\\":true,\\\"memory\\\":{" \
	"\\\"limitBytes\\\":1073741824},\\\"processes\\\":[{\\\"pid\\\":4,\\\"name\\\":\\\"ray::f\\\",\\\"rssBytes\\\":5}]," \
	"\\\"evidence\\\":[{\\\"source\\\":\\\"s\\\",\\\"text\\\":\\\"t\\\"}],\\\"missing\\\":[]}\\n\""

static struct policy policy;
static cJSON *cluster, *everything, *pods[6], *dead_pod, *failure, *events, *head_failure,
	*worker_failure, *deletion, *drained_node;

/* The results when no allocation fails, from the first run in the setup. */
static struct strbuf expected[16];
static size_t at;

/* Compares the result, printed without further failures, with that of the first run. Takes both. */
static void check(int r, const struct err *err, cJSON *made)
{
	until_failure = NEVER;
	_cleanup_free_ char *text = cJSON_PrintUnformatted(made);
	struct strbuf *want = &expected[at++];

	if (r < 0) {
		assert_true(failed && err->code && *err->text);
	} else if (!want->len) {
		assert_false(failed);
		strbuf_adds(want, text);
	} else if (strcmp(text, strbuf_str(want)) != 0) {
		size_t same = 0;
		while (text[same] == strbuf_str(want)[same])
			same++;
		same -= MIN(same, 100);
		fail_msg("with memory: %.200s\nwithout:     %.200s", strbuf_str(want) + same,
			 text + same);
	}
	cJSON_Delete(made);
}

/* A first run of the body gives the right result. */
static void for_every_allocation_the_same(void (*body)(void))
{
	memset(expected, 0, sizeof(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		strbuf_init(&expected[i], 1 << 20);
	failed = false;
	at = 0;
	body();
	for_every_allocation(body);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		strbuf_release(&expected[i]);
}

/*
 * --- Bodies
 * ---------------------------------------------------------------------------------------
 */

static cJSON *plan_to_json(const struct plan *plan)
{
	cJSON *json = cJSON_CreateArray();

	for (size_t i = 0; i < plan->n_ops; i++) {
		cJSON *op = cJSON_CreateObject();
		json_set_int(op, "kind", plan->ops[i].kind);
		json_set(op, "body",
			 plan->ops[i].template ? plan_op_pod(&plan->ops[i]) :
						 cJSON_Duplicate(plan->ops[i].body, true));
		json_append(json, op);
	}
	return json;
}

static void plan_for(const cJSON *of, size_t n_pods, bool claim)
{
	const bool pending[ARRAY_SIZE(pods)] = { [3] = true };
	size_t lost = oom_count();
	_cleanup_json_ cJSON *notes = cJSON_CreateArray();
	const struct plan_input in = {
		.cluster = of,
		.notes = notes,
		.pods = (const cJSON *const *)pods,
		.n_pods = n_pods,
		.store_claim_trouble = claim ? NULL : "does not exist",
		.policy = &policy,
		.launchers = testing_launchers(),
		.now_ns = NOW,
		.evidence_pending = pending,
		.token = "token",
		.failure_reason = "FailedCreateWorkerPod",
		.failure_message = "refused",
	};
	struct plan plan = { 0 };
	struct err err = { 0 };
	cJSON *made = NULL;
	validate_cluster(of, notes);
	int r = oom_count() == lost ? plan_cluster(&in, &plan, &err) :
				      err_set(&err, ENOMEM, "notes");

	until_failure = NEVER;
	if (r == 0)
		made = plan_to_json(&plan);
	assert_true(r < 0 || plan.n_ops > 3); /* the plan was not refused */
	check(r, &err, made);
	plan_release(&plan);
}

static void plan_new_cluster(void)
{
	at = 0;
	plan_for(cluster, 0, true);
}

static void plan_everything(void)
{
	at = 0;
	plan_for(everything, ARRAY_SIZE(pods), false);
}

static void plan_with_pods(void)
{
	at = 0;
	plan_for(cluster, ARRAY_SIZE(pods), false);
}

static void build_pod(void)
{
	cJSON *groups = json_get(cluster, "spec.workerGroupSpecs"), *notes = cJSON_CreateArray(),
	      *pod = NULL;
	const struct pod_request request = { .cluster = cluster,
					     .node = RAY_WORKER,
					     .group = cJSON_GetArrayItem(groups, 0),
					     .policy = &policy,
					     .launchers = testing_launchers() };
	struct err err = { 0 };
	int r = notes ? pod_build(&request, &pod, notes, &err) : err_set(&err, ENOMEM, "notes");

	at = 0;
	check(r, &err, pod);
	cJSON_Delete(notes);
}

static void parse_policy(void)
{
	static const char text[] =
		"sidecarImage: a:b\nworkerMemoryLimit: 1Gi\nheadNumCPUs: \"1\"\nheadroom: 5%\n"
		"hooks: {atDeath: [py-spy dump]}\n";
	struct policy parsed = { 0 };
	struct err err = { 0 };
	int r = policy_parse(text, strlen(text), "policy.yaml", &parsed, &err);

	until_failure = NEVER;
	if (r < 0) {
		if (!failed || !err.code || !*err.text)
			fail_msg("%s", err_text(&err));
		return;
	}
	assert_string_equal(parsed.sidecar_image, "a:b");
	assert_string_equal(parsed.memory.head_num_cpus, "1");
	assert_string_equal(parsed.cluster_domain, "cluster.local");
	assert_int_equal(parsed.memory.worker_memory_limit, 1 << 30);
	policy_release(&parsed);
}

/* Returns the failures as JSON; here memory does not fail. */
static cJSON *printed(struct ray_failures *failures)
{
	until_failure = NEVER;
	return json_of_failures(failures);
}

static void find_failures(void)
{
	struct err err = { 0 };
	struct ray_failures failures = { 0 };
	int r = failures_from_pod(dead_pod, NOW, &failures, &err);

	at = 0;
	check(r, &err, printed(&failures));
}

static void parse_message(void)
{
	const cJSON *message =
		cJSON_GetArrayItem(json_get(dead_pod, "status.containerStatuses"), 0);
	const char *text = json_str(message, "state.terminated.message");
	struct err err = { 0 };
	cJSON *report = NULL;
	int r = termination_parse(text, strlen(text), &report, &err);

	at = 0;
	check(r, &err, report);
}

static void parse_answer(void)
{
	static const char answer[] =
		"{\"podUID\":\"0123456789ab\",\"tag\":\"1-2\",\"failures\":[{\"id\":\"a\",\"container\":\"ray-worker\","
		"\"containerLives\":true,\"heldUntil\":\"2026-11-21T01:40:00Z\",\"summary\":{\"class\":\"WorkerCrash\","
		"\"confidence\":\"likely\",\"sentence\":\"S\",\"endedAt\":\"2026-11-21T01:00:00Z\",\"final\":true,"
		"\"processes\":[{\"pid\":4}],\"evidence\":[{\"source\":\"s\",\"text\":\"t\"}]}}]}";
	struct pod_report report = { 0 };
	struct err err = { 0 };
	int r = pod_report_parse(dead_pod, answer, sizeof(answer) - 1, NOW, &report, &err);

	at = 0;
	assert_true(r < 0 || (report.n_holds == 1 && report.refused == 0));
	check(r, &err, printed(&report.failures));
}

/* The failure either gets another class or stays unchanged. */
static void refine_of(const cJSON *json)
{
	const struct fate_facts facts = { .asked = ~0u,
					  .pod_events = events,
					  .node = drained_node,
					  .node_state = FATE_FOUND,
					  .now_ns = NOW };
	uint32_t armed = until_failure;
	until_failure = NEVER;
	struct ray_failure *failure_now = failure_of_json(json);
	_cleanup_json_ cJSON *before = ray_failure_to_json(failure_now);
	until_failure = armed;
	bool refined = fate_refine(failure_now, &facts);

	at = 0;
	until_failure = NEVER;
	cJSON *after = json_of_failure(failure_now);
	if (!refined) {
		assert_true(failed && cJSON_Compare(after, before, true));
		cJSON_Delete(after);
	} else {
		check(0, NULL, after);
	}
}

static void refine(void)
{
	refine_of(failure);
}

static void refine_deletion(void)
{
	refine_of(deletion);
}

#define MEMBER(name, class, type, second) \
	"metadata: {namespace: ml, name: " name ", uid: u-" name ", creationTimestamp: '2026-11-21T01:00:" second "Z', labels: {" \
	"afterglow.dev/class: " class ", ray.io/node-type: " type "}, annotations: {afterglow.dev/ended-at: " \
	"'2026-11-21T01:00:" second "Z', afterglow.dev/facts: \"runsRay: yes\\nexitCode: 1\\npodUID: " name "\"}}\n" \
	"spec: {class: " class ", confidence: certain, verdict: v}\n"

/* The patches of a plan in an array, or NULL. */
static cJSON *patches_of(const struct incident_plan *plan)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *array = cJSON_CreateArray();

	for (size_t i = 0; i < plan->n_changes; i++) {
		cJSON *status = incident_status_patch("ml", &plan->changes[i]),
		      *marks = incident_marks_patch("ml", &plan->changes[i]);

		if (!status || !marks) {
			cJSON_Delete(status);
			cJSON_Delete(marks);
			return NULL;
		}
		json_append(array, status);
		json_append(array, marks);
	}
	return oom_count() == lost ? TAKE_PTR(array) : NULL;
}

static void join_failures(void)
{
	struct incident_cluster members = { 0 };
	struct incident_plan plan = { 0 };
	struct err err = { 0 };
	cJSON *patches = NULL;
	int r = incident_cluster_put(&members, head_failure, 1);

	at = 0;
	if (r == 0)
		r = incident_cluster_put(&members, worker_failure, 1);
	if (r == 0 && members.members.n == 2)
		r = incident_plan_make(&members, 1, NOW, &plan);
	patches = r == 0 && members.members.n == 2 ? patches_of(&plan) : NULL;
	if (!patches)
		r = err_set(&err, ENOMEM, "no patches");
	incident_plan_release(&plan);
	incident_cluster_release(&members);
	check(r, &err, patches);
}

static void reconsider_failure(void)
{
	struct story *head = story_read(head_failure), *worker = story_read(worker_failure);
	struct err err = { 0 };
	cJSON *better =
		head && worker ? lost_head_refined(worker, &head->death, 1, worker_failure) : NULL;
	int r = better ? 0 : err_set(&err, ENOMEM, "as it was");

	at = 0;
	story_free(head);
	story_free(worker);
	check(r, &err, better);
}

/*
 * --- Tests
 * ----------------------------------------------------------------------------------------
 */

static void a_plan_for_a_new_cluster_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(plan_new_cluster);
}

static void a_plan_for_dead_and_living_pods_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(plan_with_pods);
}

static void a_plan_for_all_that_a_cluster_may_ask_for_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(plan_everything);
}

static void a_pod_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(build_pod);
}

static void a_policy_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation(parse_policy);
}

static void failures_are_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(find_failures);
}

static void a_sidecars_message_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(parse_message);
}

static void a_sidecars_answer_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation_the_same(parse_answer);
}

static void a_probes_kill_is_reported_whole_or_not_at_all(void **state)
{
	(void)state;
	for_every_allocation_the_same(refine);
}

static void a_failure_on_a_drained_node_is_refined_whole_or_left_alone(void **state)
{
	(void)state;
	for_every_allocation_the_same(refine_deletion);
}

/* --- The objects ----------------------------------------------------------------------------- */

static cJSON *pod(const char *name, const char *group, const char *type, const char *status)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&text,
		"metadata: {name: %s, namespace: ml, uid: uid-%s, resourceVersion: \"5\", creationTimestamp: "
		"\"2026-11-21T00:00:00Z\", labels: {ray.io/cluster: demo, ray.io/group: %s, ray.io/node-type: %s}, "
		"ownerReferences: [{kind: RayCluster, name: demo, controller: true, uid: 6b1c0f4e-0000-4000-8000-000000000001}]}\n"
		"spec: {restartPolicy: Never, containers: [{name: ray}]}\nstatus: %s\n",
		name, name, group, type, status);
	return json_of(strbuf_str(&text));
}

static void what_failures_have_to_do_with_each_other_is_written_whole_or_not_at_all(void **state)
{
	(void)state;
	for_every_allocation_the_same(join_failures);
}

static void a_failure_is_reconsidered_whole_or_stays(void **state)
{
	(void)state;
	for_every_allocation_the_same(reconsider_failure);
}

static cJSON *everything_of(const cJSON *plain)
{
	cJSON *copy = cJSON_Duplicate(plain, true), *spec = json_get(copy, "spec"),
	      *head = json_get(spec, "headGroupSpec");

	json_set_str(spec, "rayVersion", "2.55.0");
	json_set(spec, "enableInTreeAutoscaling", cJSON_CreateTrue());
	json_set(spec, "autoscalerOptions", json_of("{version: v2, env: [{name: a, value: b}]}"));
	json_set(spec, "authOptions", json_of("{mode: token}"));
	json_set(spec, "gcsFaultToleranceOptions",
		 json_of("{backend: rocksdb, storage: {subPath: a}}"));
	json_set(spec, "upgradeStrategy", json_of("{type: Recreate}"));
	json_set(head, "enableIngress", cJSON_CreateTrue());
	json_set(head, "ingressOptions", json_of("{host: a.example.com, tls: [{secretName: t}]}"));
	json_set_int(cJSON_GetArrayItem(json_get(spec, "workerGroupSpecs"), 0), "numOfHosts", 2);
	return copy;
}

static int setup(void **state)
{
	struct err err = { 0 };
	size_t n = 0;

	(void)state;
	cluster = fixture("cluster.yaml");
	everything = everything_of(cluster);
	assert_int_equal(policy_load(TESTDATA "policy.yaml", &policy, &err), 0);
	pods[n++] = pod(
		"head", "headgroup", "head",
		"{phase: Running, podIP: 10.0.0.1, containerStatuses: [{name: ray, ready: true, "
		"state: {running: {}}}]}");
	pods[n++] = pod("ready", "Small", "worker",
			"{phase: Running, containerStatuses: [{name: ray, ready: true}]}");
	pods[n++] = pod("dead", "Small", "worker", "{phase: Failed}");
	pods[n++] = pod("evidence", "Small", "worker", "{phase: Failed}");
	pods[n++] = pod("orphan", "gone", "worker", "{phase: Pending}");
	pods[n++] = pod("more", "Small", "worker", "{phase: Pending}");
	dead_pod = json_of(
		POD_HEAD
		"status:\n  phase: Failed\n  containerStatuses:\n  - name: ray-worker\n    restartCount: 1\n"
		"    state: {terminated: {containerID: \"containerd://abc\", startedAt: \"2026-11-21T01:00:00Z\", finishedAt: "
		"\"2026-11-21T01:05:00Z\", exitCode: 137, reason: OOMKilled, message: " REPORT
		"}}\n"
		"    lastState: {terminated: {containerID: \"containerd://def\", startedAt: \"2026-11-21T00:00:00Z\", finishedAt: "
		"\"2026-11-21T00:05:00Z\", exitCode: 1, reason: Error}}\n");
	failure = json_of(
		"metadata: {namespace: ml, name: x, labels: {afterglow.dev/class: Killed}}\n"
		"spec: {class: Killed, confidence: likely, exitCode: 137, pod: demo, podUID: u1, container: ray-worker, "
		"startedAt: \"2026-11-21T01:00:00Z\", endedAt: \"2026-11-21T01:05:00Z\", verdict: v, evidence: [], "
		"missing: [{what: who sent the signal, needs: x}]}\n");
	events = json_of(
		"items:\n- {reason: Killing, involvedObject: {uid: u1, fieldPath: \"spec.containers{ray-worker}\"}, "
		"firstTimestamp: \"2026-11-21T01:04:30Z\", lastTimestamp: \"2026-11-21T01:04:30Z\", "
		"message: \"Container ray-worker failed liveness probe, will be restarted\"}\n");
	deletion = json_of(
		"metadata: {namespace: ml, name: x, labels: {afterglow.dev/class: PodDeleted}}\n"
		"spec: {class: PodDeleted, confidence: certain, exitCode: 143, pod: demo, podUID: u1, container: ray-worker, node: n1, "
		"endedAt: \"2026-11-21T01:28:00Z\", verdict: v, evidence: [], endedBy: {kind: EvictionAPI}}\n");
	drained_node = json_of(
		"metadata: {name: n1}\nspec: {taints: [{key: karpenter.sh/disrupted, effect: NoSchedule}]}\n");
	head_failure = json_of(MEMBER("h", "GCSFailed", "head", "00"));
	worker_failure = json_of(MEMBER("w", "ApplicationError", "worker", "20"));
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++)
		cJSON_Delete(pods[i]);
	cJSON_Delete(cluster);
	cJSON_Delete(everything);
	cJSON_Delete(dead_pod);
	cJSON_Delete(failure);
	cJSON_Delete(events);
	cJSON_Delete(deletion);
	cJSON_Delete(drained_node);
	cJSON_Delete(head_failure);
	cJSON_Delete(worker_failure);
	policy_release(&policy);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plan_for_a_new_cluster_is_whole_or_an_error),
		cmocka_unit_test(a_plan_for_dead_and_living_pods_is_whole_or_an_error),
		cmocka_unit_test(a_plan_for_all_that_a_cluster_may_ask_for_is_whole_or_an_error),
		cmocka_unit_test(a_pod_is_whole_or_an_error),
		cmocka_unit_test(a_policy_is_whole_or_an_error),
		cmocka_unit_test(failures_are_whole_or_an_error),
		cmocka_unit_test(a_sidecars_message_is_whole_or_an_error),
		cmocka_unit_test(a_sidecars_answer_is_whole_or_an_error),
		cmocka_unit_test(a_probes_kill_is_reported_whole_or_not_at_all),
		cmocka_unit_test(a_failure_on_a_drained_node_is_refined_whole_or_left_alone),
		cmocka_unit_test(what_failures_have_to_do_with_each_other_is_written_whole_or_not_at_all),
		cmocka_unit_test(a_failure_is_reconsidered_whole_or_stays),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
