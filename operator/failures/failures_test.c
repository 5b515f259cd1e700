/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of making RayFailures from pods: every end that a pod's status shows, with and without a
 * report.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/testing.h"

#define POD_HEAD                                                                                                             \
	"metadata: {name: demo-worker-x, namespace: ml, uid: 0123456789ab, labels: {ray.io/cluster: demo, ray.io/group: g, " \
	"ray.io/node-type: worker}%s}\n"                                                                                     \
	"spec: {nodeName: n1, containers: [{name: ray-worker}, {name: afterglow}]}\n"
#define REPORT(fields) "\"Sentence\\n#afterglow/1 {" fields "}\\n\""
#define Q "\\\""

/*
 * Makes a pod with one dead instance. The arguments add metadata, status, and members of the
 * terminated state. Anything in the container may have written the message.
 */
static cJSON *unsigned_pod(const char *metadata, const char *status, const char *terminated)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&sb,
		POD_HEAD
		"status:\n  phase: Running\n%s  containerStatuses:\n  - name: ray-worker\n    restartCount: 2\n"
		"    state: {terminated: {containerID: \"containerd://abc\", startedAt: \"2026-11-21T01:00:00Z\", "
		"finishedAt: \"2026-11-21T01:05:00Z\", %s}}\n",
		metadata, status, terminated);
	return json_of(strbuf_str(&sb));
}

/* Does the same, and the pod's sidecar wrote the message. */
static cJSON *pod_with(const char *metadata, const char *status, const char *terminated)
{
	cJSON *pod = unsigned_pod(metadata, status, terminated);

	sign_pod(pod);
	return pod;
}

static cJSON *failures_of(const cJSON *pod)
{
	struct err err = { 0 };
	struct ray_failures failures = { 0 };

	if (failures_from_pod(pod, 1795224546 * NS_PER_SEC, &failures, &err) < 0)
		fail_msg("%s", err.text);
	return json_of_failures(&failures);
}

/* Returns whether the only failure of that pod, as it was, is still open with the pod as it is. */
static bool is_open(const cJSON *pod, const cJSON *object)
{
	struct ray_failure *failure = failure_of_json(object);
	bool open = failure_is_open(pod, failure);

	ray_failure_free(failure);
	return open;
}

static bool any_has(const cJSON *array, const char *key, const char *part)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, array)
		if (strstr(json_str(item, key), part))
			return true;
	return false;
}

static void the_pods_status_tells_what_it_can(void **state)
{
	static const struct {
		const char *metadata, *status, *terminated;
		const char *class, *confidence, *signal, *sentence;
	} rows[] = {
		{ "", "", "exitCode: 137, reason: OOMKilled", "KernelOOMContainer", "likely", "SIGKILL",
		  "OOMKilled" },
		{ "", "", "exitCode: 1, reason: OOMKilled", "KernelOOMContainer", "likely", NULL,
		  "OOMKilled" },
		{ "", "", "exitCode: 137, reason: Error", "Killed", "likely", "SIGKILL",
		  "ended with exit code 137, as after SIGKILL (sender unknown)" },
		{ "", "", "exitCode: 139, reason: Error", "Segfault", "likely", "SIGSEGV",
		  "ended with exit code 139, as after SIGSEGV" },
		{ "", "", "exitCode: 134", "Abort", "likely", "SIGABRT", "ended with exit code 134, as after SIGABRT" },
		{ "", "", "exitCode: 135", "BusError", "likely", "SIGBUS", "" },
		{ "", "", "exitCode: 132", "IllegalInstruction", "likely", "SIGILL", "" },
		{ "", "", "exitCode: 136", "ArithmeticError", "likely", "SIGFPE", "" },
		{ "", "", "exitCode: 133", "Trap", "likely", "SIGTRAP", "" },
		{ "", "", "exitCode: 130", "Interrupted", "likely", "SIGINT", "" },
		{ "", "", "exitCode: 143, reason: Error", "Terminated", "likely", "SIGTERM",
		  "sender unknown" },
		{ "", "", "exitCode: 129", "Signaled", "likely", "SIGHUP", "ended with exit code 129, as after SIGHUP" },
		{ "", "", "exitCode: 141", "Signaled", "likely", "SIGPIPE", "" },
		{ "", "", "exitCode: 145", "ApplicationError", "likely", NULL, "ended with exit code 145" },
		{ "", "", "exitCode: 168", "ApplicationError", "likely", NULL, "ended with exit code 168" },
		{ "", "", "exitCode: 1", "ApplicationError", "certain", NULL, "ended with exit code 1" },
		{ "", "", "exitCode: 126", "CommandNotExecutable", "likely", NULL, "as a shell does when a command could not be executed" },
		{ "", "", "exitCode: 127", "CommandNotFound", "likely", NULL, "as a shell does when a command is not found" },
		{ "", "", "exitCode: 255", "ApplicationError", "likely", NULL, "exit code 255" },
		{ "", "", "exitCode: 128", "Unknown", "unknown", NULL, "" },
		{ "", "", "exitCode: 4000000000", "Unknown", "unknown", NULL, "" },
		{ "", "", "exitCode: -1", "Unknown", "unknown", NULL, "" },
		{ "", "", "exitCode: 128, reason: StartError, message: \"exec: no such file\"",
		  "StartFailure", "certain", NULL, "could not be started: exec: no such file" },
		/*
		 * The last one in the runtime's chain of causes counts. And it was us who put a
		 * shell there.
		 */
		{ "", "", "exitCode: 128, reason: StartError, message: 'failed to create containerd task: failed to create shim "
		  "task: OCI runtime create failed: runc create failed: unable to start container process: exec: \"/bin/sh\": "
		  "stat /bin/sh: no such file or directory: unknown'", "StartFailure", "certain", NULL,
		  "could not be started: exec: \"/bin/sh\": stat /bin/sh: no such file or directory: unknown (Afterglow starts the "
		  "command by that shell; annotation afterglow.dev/inject: \"false\" leaves it as it is)" },
		{ "", "", "exitCode: 128, reason: ContainerCannotRun", "StartFailure", "certain", NULL, "" },
		{ "", "", "exitCode: 137, reason: ContainerStatusUnknown", "Unknown", "unknown", NULL,
		  "unknown reason" },
		{ "", "  reason: Evicted\n  message: low on memory\n", "exitCode: 137, reason: Error",
		  "Evicted", "certain", "SIGKILL", "its pod was evicted: low on memory" },
		{ "", "  reason: Evicted\n", "exitCode: 137, reason: ContainerStatusUnknown", "Evicted", "certain", NULL,
		  "its pod was evicted" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\"", "", "exitCode: 137, reason: ContainerStatusUnknown",
		  "PodDeleted", "likely", NULL, "" },
		{ "", "  reason: Evicted\n", "exitCode: 1", "Evicted", "likely", NULL, "" },
		{ "", "  reason: Evicted\n", "exitCode: 139", "Segfault", "likely", "SIGSEGV", "" },
		/*
		 * The runtime remembers an OOM kill that the container survived, so the kubelet
		 * says OOMKilled for any later end.
		 */
		{ "", "  reason: Evicted\n", "exitCode: 137, reason: OOMKilled", "Evicted", "likely", "SIGKILL", "its pod was evicted" },
		{ "", "  reason: Evicted\n", "exitCode: 143, reason: OOMKilled", "Evicted", "certain", "SIGTERM", "" },
		{ "", "  reason: Evicted\n", "exitCode: 1, reason: OOMKilled", "Evicted", "likely", NULL, "" },
		{ "", "  conditions: [{type: DisruptionTarget, status: \"True\", reason: PreemptionByScheduler}]\n",
		  "exitCode: 137, reason: OOMKilled", "Preempted", "likely", "SIGKILL", "" },
		/* KubeRay deletes an evicted pod within seconds. */
		{ ", deletionTimestamp: \"2026-11-21T01:05:40Z\", deletionGracePeriodSeconds: 30", "  reason: Evicted\n",
		  "exitCode: 137, reason: OOMKilled", "Evicted", "likely", "SIGKILL", "" },
		{ "", "  reason: DeadlineExceeded\n", "exitCode: 143, reason: Error", "Evicted", "certain", "SIGTERM",
		  "ran longer than its activeDeadlineSeconds" },
		{ "", "  reason: Terminated\n", "exitCode: 143, reason: Error", "NodeShutdown", "certain", "SIGTERM",
		  "its node was shut down" },
		{ "", "  reason: Terminated\n", "exitCode: 1, reason: Error", "NodeShutdown", "likely", NULL, "" },
		{ "", "  conditions: [{type: DisruptionTarget, status: \"True\", reason: TerminationByKubelet, "
		      "message: \"Pod was terminated in response to imminent node shutdown.\"}]\n",
		  "exitCode: 143", "NodeShutdown", "certain", "SIGTERM", "" },
		{ "", "  conditions: [{type: DisruptionTarget, status: \"True\", reason: TerminationByKubelet, "
		      "message: \"Pod was preempted by Kubelet to accommodate a critical pod.\"}]\n",
		  "exitCode: 143", "Preempted", "certain", "SIGTERM", "" },
		{ "", "  conditions: [{type: DisruptionTarget, status: \"True\", reason: TerminationByKubelet, message: low on memory}]\n",
		  "exitCode: 137", "Evicted", "certain", "SIGKILL", "" },
		{ "", "  reason: NodeLost\n", "exitCode: 137", "NodeLost", "likely", "SIGKILL", "" },
		{ "",
		  "  conditions: [{type: DisruptionTarget, status: \"True\", reason: PreemptionByScheduler}]\n",
		  "exitCode: 143", "Preempted", "certain", "SIGTERM", "preempted" },
		{ "",
		  "  conditions: [{type: DisruptionTarget, status: \"True\", reason: EvictionByEvictionAPI}]\n",
		  "exitCode: 137", "PodDeleted", "certain", "SIGKILL", "" },
		{ "",
		  "  conditions: [{type: DisruptionTarget, status: \"False\", reason: PreemptionByScheduler}]\n",
		  "exitCode: 143", "Terminated", "likely", "SIGTERM", "" },
		/*
		 * The pod was deleted at 01:04:30 with 30 s of grace, and the container ended at
		 * 01:05:00.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 137", "PodDeleted", "likely", "SIGKILL", "its pod was deleted" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 143", "PodDeleted", "likely", "SIGTERM", "" },
		/* Ray's `ray start --block` exits with 1 when it is asked to stop. */
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1", "PodDeleted", "likely", NULL, "its pod was deleted" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:30Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1", "PodDeleted", "likely", NULL, "" },
		/*
		 * KubeRay deletes a pod a second after its container's end, so the deletion is not
		 * the cause.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1", "ApplicationError", "likely", NULL, "ended with exit code 1" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 137", "Killed", "likely", "SIGKILL", "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 143", "PodDeleted", "likely", "SIGTERM", "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:36Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1", "ApplicationError", "certain", NULL, "" },
		/* Ends that a deletion cannot cause. */
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 139", "Segfault", "likely", "SIGSEGV", "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 127", "CommandNotFound", "likely", NULL, "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:10Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 137, reason: OOMKilled", "KernelOOMContainer", "likely", "SIGKILL", "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, reason: OOMKilled", "KernelOOMContainer", "likely", NULL, "" },
		/*
		 * The kernel killed a process at some time. The container lived on, and was asked
		 * to stop later, or killed after its grace period.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:05:10Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, reason: OOMKilled", "PodDeleted", "likely", NULL, "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 137, reason: OOMKilled", "PodDeleted", "likely", "SIGKILL", "" },
		/*
		 * The same holds for evictions by the API and other deletions: they are not the
		 * cause of an earlier end.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:05:35Z\", deletionGracePeriodSeconds: 30",
		  "  conditions: [{type: DisruptionTarget, status: \"True\", reason: EvictionByEvictionAPI}]\n",
		  "exitCode: 1", "ApplicationError", "likely", NULL, "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:35Z\", deletionGracePeriodSeconds: 30",
		  "  conditions: [{type: DisruptionTarget, status: \"True\", reason: EvictionByEvictionAPI}]\n",
		  "exitCode: 137, reason: OOMKilled", "KernelOOMContainer", "likely", "SIGKILL", "" },
		{ ", deletionTimestamp: \"2026-11-21T01:05:25Z\", deletionGracePeriodSeconds: 30",
		  "  conditions: [{type: DisruptionTarget, status: \"True\", reason: EvictionByEvictionAPI}]\n",
		  "exitCode: 1, reason: OOMKilled", "PodDeleted", "likely", NULL, "" },
		/*
		 * The pod was deleted with a grace period of 2 seconds, which is less than its own.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:04:58Z\", deletionGracePeriodSeconds: 2", "",
		  "exitCode: 137, reason: OOMKilled", "PodDeleted", "likely", "SIGKILL", "" },
		/* The pod was deleted an hour after the end, so that is not the cause. */
		{ ", deletionTimestamp: \"2026-11-21T02:05:00Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 137", "Killed", "likely", "SIGKILL", "" },
		{ ", deletionTimestamp: soon", "", "exitCode: 137", "Killed", "likely", "SIGKILL", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod =
			pod_with(rows[i].metadata, rows[i].status, rows[i].terminated);
		_cleanup_json_ cJSON *array = failures_of(pod);
		const cJSON *spec = json_get(array->child, "spec");
		const char *signal = json_str(spec, "signal");

		assert_int_equal(cJSON_GetArraySize(array), 1);
		if (strcmp(json_str(spec, "class"), rows[i].class) ||
		    strcmp(json_str(spec, "confidence"), rows[i].confidence) ||
		    !strstr(json_str(spec, "verdict"), rows[i].sentence) ||
		    !signal != !rows[i].signal || (signal && strcmp(signal, rows[i].signal)))
			fail_msg("row %zu (%s): %s, %s, %s, %s", i, rows[i].terminated,
				 json_str(spec, "class"), json_str(spec, "confidence"),
				 signal ? signal : "-", json_str(spec, "verdict"));
		assert_true(any_has(json_get(spec, "evidence"), "source", "kubelet"));
		/* A container that never ran cannot have a report. */
		assert_int_equal(any_has(json_get(spec, "missing"), "what", "the sidecar's report"),
				 strcmp(rows[i].class, "StartFailure") != 0);
	}
}

/* For another container, or an init container, only the kubelet reports the end. */
static void a_container_that_is_not_rays_is_named_so(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with("", "", "exitCode: 137, reason: OOMKilled"),
			     *array = NULL;

	(void)state;
	json_set_str(cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0), "name", "ray");
	array = failures_of(pod);
	assert_true(any_has(json_get(array->child, "spec.missing"), "what",
			    "the sidecar watches Ray's container, and this is another container"));
}

static void an_oom_kill_without_a_report_names_the_limit_and_who_sets_it(void **state)
{
	static const struct {
		const char *container, *limit, *diagnosis, *advice;
	} rows[] = {
		{ "wait-gcs-ready", "256Mi", "limit of container wait-gcs-ready is 256Mi", "ENABLE_INIT_CONTAINER_INJECTION=false" },
		{ "prepare", "1Gi", "limit of container prepare is 1Gi", "raise resources.limits.memory of this container" },
		{ "ray-job-submitter", "1Gi", "limit of container ray-job-submitter is 1Gi", "set submissionMode: K8sJobMode" },
		{ "prepare", NULL, "Container prepare has no memory limit of its own", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_with("", "", "exitCode: 137, reason: OOMKilled"),
				     *array = NULL;
		cJSON *init = cJSON_CreateObject(), *inits = cJSON_CreateArray();
		const char *advice;
		char limit[80];

		json_set_str(init, "name", rows[i].container);
		if (rows[i].limit)
			json_set_str(json_object_at(json_object_at(init, "resources"), "limits"),
				     "memory", rows[i].limit);
		cJSON_AddItemToArray(inits, init);
		json_set(json_object_at(pod, "spec"), "initContainers", inits);
		json_set_str(cJSON_GetArrayItem(json_get(pod, "status.containerStatuses"), 0),
			     "name", rows[i].container);
		array = failures_of(pod);
		advice = json_str(array->child, "spec.advice");
		assert_non_null(
			strstr(json_str(array->child, "spec.diagnosis"), rows[i].diagnosis));
		assert_true(rows[i].advice ? advice && strstr(advice, rows[i].advice) : !advice);
		snprintf(limit, sizeof(limit),
			 rows[i].limit ? "(the kubelet says OOMKilled; the limit is %s)" :
					 "(the kubelet says OOMKilled)",
			 rows[i].limit);
		assert_non_null(strstr(json_str(array->child, "spec.verdict"), limit));
	}
}

static void the_object_is_complete(void **state)
{
	_cleanup_json_ cJSON *pod =
		pod_with("", "",
			 "exitCode: 137, reason: OOMKilled, message: " REPORT(
				 Q "class" Q ":" Q "KernelOOMContainer" Q "," Q "confidence" Q ":" Q
				   "certain" Q "," Q "sentence" Q ":" Q "It reached 1.0 GiB" Q "," Q
				   "exitCode" Q ":137," Q "signal" Q ":" Q "SIGKILL" Q "," Q
				   "memory" Q ":{" Q "usageBytes" Q ":1073741824}," Q "processes" Q
				   ":[{" Q "pid" Q ":7}]," Q "bundle" Q ":" Q
				   "pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T-K" Q "," Q
				   "evidence" Q ":[{" Q "source" Q ":" Q "memory.events" Q "," Q
				   "text" Q ":" Q "t" Q "}]," Q "final" Q ":true"));
	_cleanup_json_ cJSON *array = failures_of(pod);
	const cJSON *failure = array->child, *spec = json_get(failure, "spec"),
		    *labels = json_get(failure, "metadata.labels");

	(void)state;
	assert_string_equal(json_str(failure, "apiVersion"), "afterglow.dev/v1alpha1");
	assert_string_equal(json_str(failure, "kind"), "RayFailure");
	assert_string_equal(json_str(failure, "metadata.namespace"), "ml");
	/* printf containerd://abc | sha256sum */
	assert_string_equal(json_str(failure, "metadata.name"),
			    "demo-worker-x-ray-worker-a66fbcbe39");
	assert_null(json_get(failure, "metadata.ownerReferences"));
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(labels, "ray.io/cluster")),
			    "demo");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(labels, "ray.io/group")), "g");
	assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItem(labels, "ray.io/node-type")),
			    "worker");
	assert_string_equal(
		cJSON_GetStringValue(cJSON_GetObjectItem(labels, "afterglow.dev/class")),
		"KernelOOMContainer");
	assert_string_equal(json_str(spec, "cluster"), "demo");
	assert_string_equal(json_str(spec, "pod"), "demo-worker-x");
	assert_string_equal(json_str(spec, "podUID"), "0123456789ab");
	assert_string_equal(json_str(spec, "containerID"), "containerd://abc");
	assert_string_equal(json_str(spec, "node"), "n1");
	assert_int_equal(json_int(spec, "restartCount", -1), 2);
	assert_string_equal(json_str(spec, "startedAt"), "2026-11-21T01:00:00Z");
	assert_string_equal(json_str(spec, "endedAt"), "2026-11-21T01:05:00Z");
	assert_string_equal(json_str(spec, "kubernetesReason"), "OOMKilled");
	assert_string_equal(json_str(spec, "confidence"), "certain");
	assert_string_equal(json_str(spec, "verdict"), "It reached 1.0 GiB");
	assert_string_equal(json_str(spec, "memoryText"), "1.0 GiB");
	assert_int_equal(cJSON_GetArraySize(json_get(spec, "processes")), 1);
	assert_string_equal(json_str(spec, "bundle"),
			    "pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T-K");
	assert_true(any_has(json_get(spec, "evidence"), "source", "memory.events"));
	assert_null(json_get(spec, "missing"));
}

#define UNSURE(class, code)                                                                                  \
	REPORT(Q "class" Q ":" Q class Q "," Q "confidence" Q ":" Q "likely" Q "," Q "exitCode" Q ":" code   \
					 "," Q "sentence" Q ":" Q "Mine" Q "," Q "memory" Q ":{" Q           \
					 "usageBytes" Q ":2048}," Q "final" Q ":true")
#define FINAL(class, code)                                                                                   \
	REPORT(Q "class" Q ":" Q class Q "," Q "confidence" Q ":" Q "certain" Q "," Q "exitCode" Q ":" code  \
					 "," Q "sentence" Q ":" Q "Mine" Q "," Q "memory" Q ":{" Q           \
					 "usageBytes" Q ":2048}," Q "final" Q ":true")
#define OF_RAYLET(how)                                                                                       \
	REPORT(Q "class" Q ":" Q "RayletFailed" Q "," Q "confidence" Q ":" Q "certain" Q "," Q "exitCode" Q  \
					 ":1," Q "sentence" Q ":" Q "Mine" Q "," Q "memory" Q ":{" Q         \
					 "usageBytes" Q ":2048}," Q "process" Q ":{" Q "name" Q ":" Q        \
					 "raylet" Q "," how "}," Q "final" Q ":true")

static void report_and_status_are_weighed(void **state)
{
	static const struct {
		const char *metadata, *status, *terminated;
		const char *class, *missing;
		bool memory;
	} rows[] = {
		{ "", "", "exitCode: 137, reason: Error, message: " FINAL("KernelOOMContainer", "137"),
		  "KernelOOMContainer", NULL, true },
		/* The exit code decides whether the report is believed. */
		{ "", "", "exitCode: 139, message: " FINAL("KernelOOMContainer", "137"), "Segfault",
		  "contradicts", false },
		{ "", "", "exitCode: 1, message: " FINAL("Completed", "1"), "ApplicationError", "contradicts",
		  false },
		{ "", "", "exitCode: 137, message: " REPORT(Q "exitCode" Q ":137," Q "final" Q ":true"),
		  "Killed", "contradicts", false },
		/* Only the status shows who sent the signal. */
		{ "", "  reason: Evicted\n", "exitCode: 137, message: " FINAL("Killed", "137"), "Evicted",
		  NULL, true },
		{ "", "  reason: Evicted\n", "exitCode: 143, message: " FINAL("PodDeleted", "143"), "Evicted",
		  NULL, true },
		{ "", "", "exitCode: 143, message: " FINAL("PodDeleted", "143"), "PodDeleted", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\"", "",
		  "exitCode: 143, message: " FINAL("Terminated", "143"), "PodDeleted", NULL, true },
		{ "", "", "exitCode: 137, reason: OOMKilled, message: " UNSURE("Killed", "137"),
		  "KernelOOMContainer", NULL, true },
		/*
		 * A sidecar that saw no rise of the counter is believed more than the runtime,
		 * which may remember an earlier OOM kill.
		 */
		{ "", "", "exitCode: 137, reason: OOMKilled, message: " FINAL("Killed", "137"),
		  "Killed", "why the kubelet says OOMKilled", true },
		/*
		 * When a pod is stopped, Ray's own processes end, too. One that is proved to have
		 * crashed is the cause.
		 */
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " UNSURE("GCSLost", "1"), "PodDeleted", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " OF_RAYLET(Q "signal" Q ":" Q "SIGSEGV" Q), "RayletFailed", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " OF_RAYLET(Q "signal" Q ":" Q "SIGKILL" Q), "PodDeleted", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " OF_RAYLET(Q "exitCode" Q ":1"), "PodDeleted", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " OF_RAYLET(Q "signal" Q ":" Q "SIGKILL" Q), "RayletFailed", NULL, true },
		{ "", "", "exitCode: 1, message: " OF_RAYLET(Q "signal" Q ":" Q "SIGKILL" Q), "RayletFailed", NULL, true },
		{ "", "", "exitCode: 1, message: " UNSURE("GCSLost", "1"), "GCSLost", NULL, true },
		/* A proved eviction has precedence over an OOM kill that is not proved. */
		{ "", "  reason: Evicted\n", "exitCode: 137, message: " UNSURE("KernelOOMNode", "137"), "Evicted", NULL, true },
		{ "", "  reason: Evicted\n", "exitCode: 137, reason: OOMKilled, message: " FINAL("KernelOOMContainer", "137"),
		  "KernelOOMContainer", NULL, true },
		/* After a request to stop the exit code means nothing. */
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " FINAL("ApplicationError", "1"), "PodDeleted", NULL, true },
		{ "", "", "exitCode: 1, message: " FINAL("ApplicationError", "1"), "ApplicationError", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:31Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " FINAL("ApplicationError", "1"), "ApplicationError", NULL, true },
		{ ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", "",
		  "exitCode: 1, message: " FINAL("KernelOOMContainer", "1"), "KernelOOMContainer", NULL, true },
		/* What the sidecar proved remains. */
		{ "", "  reason: Evicted\n", "exitCode: 137, message: " FINAL("KernelOOMNode", "137"),
		  "KernelOOMNode", NULL, true },
		{ "", "", "exitCode: 137, reason: ContainerStatusUnknown, message: " FINAL("Killed", "137"),
		  "Killed", NULL, true },
		/* A snapshot provides its numbers, but no verdict. */
		{ "", "",
		  "exitCode: 137, reason: OOMKilled, message: " REPORT(Q "class" Q ":null," Q "memory" Q
									 ":{" Q "usageBytes" Q ":2048}," Q
									 "final" Q ":false"),
		  "KernelOOMContainer", "only a snapshot", true },
		{ "", "", "exitCode: 137, message: " REPORT("broken"), "Killed", "damaged", false },
		{ "", "", "exitCode: 137, message: \"some text\"", "Killed", "did not reach", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod =
			pod_with(rows[i].metadata, rows[i].status, rows[i].terminated);
		_cleanup_json_ cJSON *array = failures_of(pod);
		const cJSON *spec = json_get(array->child, "spec");

		if (strcmp(json_str(spec, "class"), rows[i].class) ||
		    !json_get(spec, "memoryText") != !rows[i].memory ||
		    (rows[i].missing ?
			     !any_has(json_get(spec, "missing"), "what", rows[i].missing) :
			     any_has(json_get(spec, "missing"), "what", "the sidecar's report")))
			fail_msg("row %zu: %s", i, cJSON_PrintUnformatted(spec));
	}
}

static void a_snapshot_is_called_one(void **state)
{
	_cleanup_json_ cJSON *pod =
		pod_with("", "",
			 "exitCode: 137, message: " REPORT(
				 Q "final" Q ":false," Q "bundle" Q ":" Q
				   "pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T" Q));
	_cleanup_json_ cJSON *array = failures_of(pod);
	const cJSON *spec = json_get(array->child, "spec");

	(void)state;
	assert_true(any_has(json_get(spec, "evidence"), "source", "snapshot"));
	assert_null(json_get(spec, "bundle"));
}

static void an_eviction_keeps_what_a_snapshot_says_of_the_disk(void **state)
{
	_cleanup_json_ cJSON *pod = pod_with(
		"", "  reason: Evicted\n",
		"exitCode: 137, message: " REPORT(
			Q "evidence" Q ":[{" Q "source" Q ":" Q "Ray" Q "," Q "text" Q ":" Q
			  "Ray's logs take up 250.0 MiB" Q "}]," Q "final" Q ":false"));
	_cleanup_json_ cJSON *array = failures_of(pod);
	const cJSON *spec = json_get(array->child, "spec");

	(void)state;
	assert_string_equal(json_str(spec, "class"), "Evicted");
	assert_true(any_has(json_get(spec, "evidence"), "text", "Ray's logs take up 250.0 MiB"));
}

/* Returns the failures of a pod whose report names that bundle. */
static cJSON *failures_with_bundle(const char *bundle)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
	_cleanup_json_ cJSON *pod = NULL;

	strbuf_addf(&sb,
		    "exitCode: 1, message: \"#afterglow/1 {" Q "class" Q ":" Q "Abort" Q "," Q
		    "exitCode" Q ":1," Q "final" Q ":true," Q "bundle" Q ":" Q "%s" Q "}\"",
		    bundle);
	pod = pod_with("", "", strbuf_str(&sb));
	return failures_of(pod);
}

static void a_bundle_of_this_pod_is_passed_on_wherever_it_is(void **state)
{
	static const char *const bundles[] = {
		"pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"s3://b/p/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"/srv/store/ml/demo/demo-worker-x.01234567/ray-worker/T",
		/* In the pod, where there is no store. */
		"spool/ml/demo/demo-worker-x.01234567/ray-worker/T",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		_cleanup_json_ cJSON *array = failures_with_bundle(bundles[i]);
		const cJSON *spec = json_get(array->child, "spec");

		if (!json_is(spec, "bundle", bundles[i]) ||
		    any_has(json_get(spec, "missing"), "what", "the bundle"))
			fail_msg("%s: %s", bundles[i], cJSON_PrintUnformatted(spec));
	}
}

static void a_bundle_of_somebody_else_is_not_passed_on(void **state)
{
	static const char *const bundles[] = {
		"pvc:c/other/demo/demo-worker-x.01234567/ray-worker/T",
		"pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/../../x",
		"pvc:c/ml/demo/other.01234567/ray-worker/T",
		"pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T;rm -rf",
		"/etc/passwd",
		/* Its own path stands there, but somewhere else in the name. */
		"pvc:c/evil/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/T/other/x",
		"pvc:/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"http://evil/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"evil/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"spool/evil/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"spool2/ml/demo/demo-worker-x.01234567/ray-worker/T",
		"pvc:c/ml/demo/demo-worker-x.01234567/ray-worker/",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		_cleanup_json_ cJSON *array = failures_with_bundle(bundles[i]);

		assert_null(json_get(array->child, "spec.bundle"));
		assert_true(any_has(json_get(array->child, "spec.missing"), "what",
				    "a bundle of another pod"));
	}
}

static void each_dead_instance_is_one_failure_but_not_the_sidecars(void **state)
{
	static const char status[] =
		"status:\n"
		"  initContainerStatuses:\n"
		"  - {name: prepare, restartCount: 1, state: {terminated: {exitCode: 0, containerID: \"c://1\"}},\n"
		"     lastState: {terminated: {exitCode: 3, containerID: \"c://0\"}}}\n"
		"  containerStatuses:\n"
		"  - {name: ray-worker, restartCount: 5, state: {terminated: {exitCode: 1, containerID: \"c://3\"}},\n"
		"     lastState: {terminated: {exitCode: 139, containerID: \"c://2\"}}}\n"
		"  - {name: back-off, restartCount: 5, state: {waiting: {reason: CrashLoopBackOff}},\n"
		"     lastState: {terminated: {exitCode: 2, containerID: \"c://5\"}}}\n"
		"  - {name: lives, restartCount: 5, state: {running: {}}, lastState: {terminated: {exitCode: 2}}}\n"
		"  - {name: created, restartCount: 5, containerID: \"c://7\", state: {waiting: {}},\n"
		"     lastState: {terminated: {exitCode: 2, containerID: \"c://6\"}}}\n"
		"  - {name: afterglow, state: {terminated: {exitCode: 137, containerID: \"c://4\"}}}\n";
	static const struct {
		const char *container;
		int exit_code, restart;
	} want[] = { { "prepare", 3, 0 },
		     { "ray-worker", 139, 4 },
		     { "ray-worker", 1, 5 },
		     { "back-off", 2, 5 },
		     { "lives", 2, 4 },
		     { "created", 2, 4 } };
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
	_cleanup_json_ cJSON *pod = NULL, *array = NULL, *again = NULL;

	(void)state;
	strbuf_addf(&sb, POD_HEAD "%s", "", status);
	pod = json_of(strbuf_str(&sb));
	array = failures_of(pod);
	again = failures_of(pod);
	assert_true(cJSON_Compare(array, again, true));
	assert_int_equal(cJSON_GetArraySize(array), ARRAY_SIZE(want));
	for (int i = 0; i < (int)ARRAY_SIZE(want); i++) {
		const cJSON *spec = json_get(cJSON_GetArrayItem(array, i), "spec");

		assert_string_equal(json_str(spec, "container"), want[i].container);
		assert_int_equal(json_int(spec, "exitCode", -1), want[i].exit_code);
		assert_int_equal(json_int(spec, "restartCount", -1), want[i].restart);
		assert_string_equal(json_str(spec, "endedAt"), "2026-11-21T01:29:06.000Z");
	}
}

static void a_pod_without_the_label_or_the_dead_makes_nothing(void **state)
{
	static const char *const pods[] = {
		"{}",
		"metadata: {labels: {a: b}}\nstatus: {containerStatuses: [{name: x, state: {terminated: {exitCode: 1}}}]}",
		"metadata: {labels: {ray.io/cluster: c}}\nstatus: {containerStatuses: [{name: x, state: {running: {}}}, {}, 5, {name: 4}]}",
		"metadata: {labels: {ray.io/cluster: c}}\nstatus: 7",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pods); i++) {
		_cleanup_json_ cJSON *pod = json_of(pods[i]), *array = failures_of(pod);

		assert_int_equal(cJSON_GetArraySize(array), 0);
	}
}

static void a_bare_death_with_hardly_any_member_still_gives_a_name(void **state)
{
	_cleanup_json_ cJSON *pod = json_of(
		"metadata: {labels: {ray.io/cluster: c}}\n"
		"status: {containerStatuses: [{name: x, state: {terminated: {exitCode: 1}}}]}");
	_cleanup_json_ cJSON *array = failures_of(pod);

	(void)state;
	assert_int_equal(cJSON_GetArraySize(array), 1);
	assert_int_equal(strncmp(json_str(array->child, "metadata.name"), "pod-x-", 6), 0);
	assert_true(
		any_has(json_get(array->child, "spec.missing"), "what", "the pod has no sidecar"));
}

static void a_container_that_cannot_be_started_is_one_failure_for_each_reason(void **state)
{
	static const char status[] =
		"status:\n  containerStatuses:\n"
		"  - {name: ray-worker, state: {waiting: {reason: %s, message: \"Back-off pulling image \\\"no/such:1\\\"\"}}}\n";
	static const char *const reasons[] = { "ImagePullBackOff", "ErrImageNeverPull",
					       "CreateContainerConfigError" };
	static const char *const passing[] = { "ContainerCreating", "ErrImagePull",
					       "CrashLoopBackOff", "PodInitializing" };
	char last[300] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *pod = NULL, *array = NULL, *again = NULL;
		const cJSON *spec;

		strbuf_addf(&sb, POD_HEAD, "");
		strbuf_addf(&sb, status, reasons[i]);
		pod = json_of(strbuf_str(&sb));
		array = failures_of(pod);
		again = failures_of(pod);
		assert_int_equal(cJSON_GetArraySize(array), 1);
		assert_true(cJSON_Compare(array, again, true));
		spec = json_get(array->child, "spec");
		assert_string_equal(json_str(spec, "class"), "StartFailure");
		assert_string_equal(json_str(spec, "confidence"), "certain");
		assert_string_equal(json_str(spec, "kubernetesReason"), reasons[i]);
		assert_null(json_get(spec, "exitCode"));
		assert_null(json_get(spec, "missing"));
		assert_true(any_has(json_get(spec, "evidence"), "text", "no/such:1"));
		assert_non_null(strstr(json_str(spec, "verdict"),
				       "could not be started: Back-off pulling"));
		assert_string_not_equal(json_str(array->child, "metadata.name"), last);
		snprintf(last, sizeof(last), "%s", json_str(array->child, "metadata.name"));
	}
	for (size_t i = 0; i < ARRAY_SIZE(passing); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *pod = NULL, *array = NULL;

		strbuf_addf(&sb, POD_HEAD, "");
		strbuf_addf(&sb, status, passing[i]);
		pod = json_of(strbuf_str(&sb));
		array = failures_of(pod);
		assert_int_equal(cJSON_GetArraySize(array), 0);
	}
}

static void a_container_that_the_runtime_forgot_shares_the_fate_of_its_pod(void **state)
{
	static const char status[] =
		"status:\n%s  containerStatuses:\n"
		"  - {name: ray-worker, restartCount: %d, state: {%s},\n"
		"     lastState: {terminated: {exitCode: 137, reason: ContainerStatusUnknown, message: 'could not be located'}}}\n";
	static const struct {
		const char *metadata, *status, *state;
		int count; /* the kubelet adds one, unless the pod is being deleted */
		bool open;
		const char *class, *confidence;
	} rows[] = {
		{ "", "  phase: Running\n", "waiting: {reason: ContainerCreating}", 3, true, "Unknown", "unknown" },
		{ "", "  phase: Failed\n  reason: Evicted\n", "waiting: {reason: ContainerCreating}", 3, false, "Evicted", "certain" },
		{ "", "  phase: Running\n", "running: {}", 3, false, "Unknown", "unknown" },
		{ ", deletionTimestamp: \"2026-11-21T01:10:00Z\"", "  phase: Running\n", "waiting: {reason: ContainerCreating}", 2, false,
		  "PodDeleted", "likely" },
	};
	char name[256] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *pod = NULL, *array = NULL;
		const cJSON *failure, *spec;

		strbuf_addf(&sb, POD_HEAD, rows[i].metadata);
		strbuf_addf(&sb, status, rows[i].status, rows[i].count, rows[i].state);
		pod = json_of(strbuf_str(&sb));
		array = failures_of(pod);
		assert_int_equal(cJSON_GetArraySize(array), 1);
		failure = cJSON_GetArrayItem(array, 0);
		spec = json_get(failure, "spec");
		if (strcmp(json_str(spec, "class"), rows[i].class) != 0 ||
		    strcmp(json_str(spec, "confidence"), rows[i].confidence) != 0)
			fail_msg("row %zu: %s, %s", i, json_str(spec, "class"),
				 json_str(spec, "confidence"));
		if (is_open(pod, failure) != rows[i].open)
			fail_msg("row %zu: open is %d", i, !rows[i].open);
		assert_int_equal(json_int(spec, "restartCount", -1), 2);
		/* It remains one failure, whatever becomes known later. */
		if (*name)
			assert_string_equal(json_str(failure, "metadata.name"), name);
		snprintf(name, sizeof(name), "%s", json_str(failure, "metadata.name"));
	}
}

/*
 * This follows the kubelet's code (kubelet_pods.go and TerminatePod of Kubernetes 1.34): first the
 * forgotten end is filled in, then a second end when the pod is given up. The count depends on
 * whether the pod is deleted.
 */
static void one_eviction_of_a_forgotten_container_is_one_failure(void **state)
{
#define LOST "terminated: {exitCode: 137, reason: ContainerStatusUnknown, message: 'could not be located'}"
	static const struct {
		const char *metadata, *status, *container;
		int n;
		const char *class;
	} rows[] = {
		{ "", "  phase: Running\n", "restartCount: 1, state: {waiting: {reason: ContainerCreating}}, lastState: {" LOST "}", 1, "Unknown" },
		{ "", "  phase: Failed\n  reason: Evicted\n", "restartCount: 1, state: {" LOST "}, lastState: {" LOST "}", 1, "Evicted" },
		{ ", deletionTimestamp: '2026-11-21T01:10:00Z'", "  phase: Failed\n  reason: Evicted\n",
		  "restartCount: 1, state: {" LOST "}, lastState: {" LOST "}", 1, "Evicted" },
		{ ", deletionTimestamp: '2026-11-21T01:10:00Z'", "  phase: Running\n",
		  "restartCount: 0, state: {waiting: {reason: ContainerCreating}}, lastState: {" LOST "}", 1, "PodDeleted" },
	};
	char name[256] = "";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *pod = NULL, *array = NULL;

		strbuf_addf(&sb, POD_HEAD, rows[i].metadata);
		strbuf_addf(&sb, "status:\n%s  containerStatuses:\n  - {name: ray-worker, %s}\n",
			    rows[i].status, rows[i].container);
		pod = json_of(strbuf_str(&sb));
		array = failures_of(pod);
		if (cJSON_GetArraySize(array) != rows[i].n ||
		    strcmp(json_str(array->child, "spec.class"), rows[i].class) != 0)
			fail_msg("row %zu: %s", i, cJSON_PrintUnformatted(array));
		if (*name)
			assert_string_equal(json_str(array->child, "metadata.name"), name);
		snprintf(name, sizeof(name), "%s", json_str(array->child, "metadata.name"));
	}
}

static void a_container_that_never_ran_has_no_end_when_its_pod_is_deleted(void **state)
{
	static const char real[] =
		"terminated: {exitCode: 1, containerID: 'containerd://abc', startedAt: '2026-11-21T01:00:00Z', "
		"finishedAt: '2026-11-21T01:05:00Z'}";
	static const struct {
		const char *ids, *last;
		int n;
	} rows[] = {
		{ "", "", 0 }, /* it waited to be started */
		/* It waited to be restarted: its previous end is the only one. */
		{ "containerID: 'containerd://abc', ", real, 1 },
		{ "containerID: 'containerd://def', ", real, 2 }, /* it ran, and was lost */
		{ "containerID: 'containerd://def', ", "", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(4096);
		_cleanup_json_ cJSON *pod = NULL, *array = NULL;

		strbuf_addf(&sb, POD_HEAD, ", deletionTimestamp: '2026-11-21T01:10:00Z'");
		strbuf_addf(
			&sb,
			"status:\n  phase: Failed\n  containerStatuses:\n  - {name: ray-worker, %srestartCount: 1, state: {" LOST
			"}, "
			"lastState: {%s}}\n",
			rows[i].ids, rows[i].last);
		pod = json_of(strbuf_str(&sb));
		array = failures_of(pod);
		if (cJSON_GetArraySize(array) != rows[i].n)
			fail_msg("row %zu: %s", i, cJSON_PrintUnformatted(array));
	}
}

/*
 * An eviction ends the pod's last containers. A container that had ended minutes before was not
 * evicted.
 */
static void what_ended_long_before_the_rest_of_an_evicted_pod_was_not_evicted(void **state)
{
	static const struct {
		const char *others, *class;
	} rows[] = { { "2026-11-21T01:05:30Z", "Evicted" },
		     { "2026-11-21T01:15:00Z", "ApplicationError" } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_with("", "  reason: Evicted\n", "exitCode: 1"),
				     *array = NULL;
		cJSON *other = json_of("{name: afterglow, state: {terminated: {exitCode: 0}}}");

		json_set_str(json_get(other, "state.terminated"), "finishedAt", rows[i].others);
		cJSON_AddItemToArray(json_get(pod, "status.containerStatuses"), other);
		array = failures_of(pod);
		assert_string_equal(json_str(array->child, "spec.class"), rows[i].class);
	}
}

static void check_unbelieved(const char *message, const char *evidence, const char *missing)
{
	_cleanup_json_ cJSON *pod = pod_with("", "", "exitCode: 137, reason: Error"), *array;
	cJSON *terminated =
		json_get(json_get(pod, "status.containerStatuses")->child, "state.terminated");
	const cJSON *spec;

	json_set_str(terminated, "message", message);
	array = failures_of(pod);
	spec = json_get(array->child, "spec");
	if (strcmp(json_str(spec, "class"), "Killed") != 0 ||
	    strcmp(json_str(spec, "confidence"), "certain") == 0 ||
	    strstr(json_str(spec, "verdict"), "team-b") || json_get(spec, "memoryText") ||
	    any_has(json_get(spec, "evidence"), "text",
		    "is not signed by the sidecar of this pod") != !!evidence ||
	    !any_has(json_get(spec, "missing"), "what", missing))
		fail_msg("%s: %s", message, cJSON_PrintUnformatted(spec));
	cJSON_Delete(TAKE_PTR(array));
}

static void check_forged(const char *message)
{
	check_unbelieved(message, "forged", "something else in the pod wrote it");
}

/*
 * A process of the container overwrites the message while the launcher waits for the container's
 * end.
 */
static void a_message_that_the_sidecar_did_not_sign_is_shown_as_forged_and_not_believed(void **state)
{
#define FORGED "{\"class\":\"KernelOOMNode\",\"confidence\":\"certain\",\"sentence\":\"Pod team-b/noisy used up the node\",\"exitCode\":137," \
	       "\"memory\":{\"usageBytes\":2048},\"evidence\":[{\"source\":\"kernel log\",\"text\":\"x\"}],\"final\":true"
	_cleanup_strbuf_ struct strbuf other = STRBUF_INIT(4096), old = STRBUF_INIT(4096),
				       failures = STRBUF_INIT(4096);

	(void)state;
	check_forged("Pod team-b/noisy used up the node\n#afterglow/1 " FORGED "}\n");
	check_forged("#afterglow/1 " FORGED ",\"mac\":\"00000000000000000000000000000000\"}\n");
	/* a snapshot */
	check_forged("#afterglow/1 {\"memory\":{\"usageBytes\":2048},\"final\":false}\n");
	strbuf_adds(&other, "#afterglow/1 ");
	report_mac_append("ffffffffffffffffffffffffffffffff", REPORT_MAC_TERMINATION, FORGED "}",
			  &other);
	check_forged(strbuf_str(&other));
	/*
	 * What the sidecar really signed, but as an answer, and at the end of an earlier instance.
	 */
	strbuf_adds(&failures, "#afterglow/1 ");
	report_mac_append(TESTING_KEY, REPORT_MAC_FAILURES, FORGED "}", &failures);
	check_forged(strbuf_str(&failures));
	strbuf_adds(&old, "#afterglow/1 ");
	report_mac_append(TESTING_KEY, REPORT_MAC_TERMINATION,
			  FORGED ",\"endedAt\":\"2026-11-21T00:59:58.900Z\"}", &old);
	check_unbelieved(strbuf_str(&old), NULL, "is about an end before this container's start");
}

/*
 * A line of the sidecar's in the message of another container, or of a pod without a sidecar, is a
 * copy or made up. Only a person who may read the pod could sign it.
 */
static void a_line_where_no_sidecar_writes_is_not_believed(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		_cleanup_json_ cJSON *pod = (i == 0 ? unsigned_pod : pod_with)(
			"", "", "exitCode: 1, message: " FINAL("KernelOOMNode", "1"));
		_cleanup_json_ cJSON *array = NULL;
		cJSON *containers = json_get(pod, "spec.containers");

		if (i == 2)
			cJSON_DeleteItemFromArray(containers, 1);
		else
			json_set_str(containers->child, "name", "ray");
		array = failures_of(pod);
		if (!json_is(array->child, "spec.class", "ApplicationError") ||
		    strstr(json_str(array->child, "spec.verdict"), "Sentence"))
			fail_msg("row %d: %s", i, cJSON_PrintUnformatted(array));
	}
}

/* Pods that an older operator made have no key. */
static void of_what_is_not_signed_nothing_is_certain(void **state)
{
	static const struct {
		const char *terminated, *class, *confidence;
	} rows[] = {
		{ "exitCode: 1, message: " FINAL("NodeLost", "1"), "NodeLost", "likely" },
		{ "exitCode: 137, reason: Error, message: " FINAL("KernelOOMNode", "137"), "KernelOOMNode", "likely" },
		{ "exitCode: 137, reason: Error, message: " FINAL("KernelOOMPod", "137"), "KernelOOMPod", "likely" },
		{ "exitCode: 137, reason: Error, message: " FINAL("KernelOOMContainer", "137"), "KernelOOMContainer", "likely" },
		{ "exitCode: 137, reason: OOMKilled, message: " FINAL("KernelOOMContainer", "137"), "KernelOOMContainer", "likely" },
		{ "exitCode: 137, reason: Error, message: " FINAL("Killed", "137"), "Killed", "likely" },
		{ "exitCode: 1, message: " FINAL("Evicted", "1"), "Evicted", "likely" },
		{ "exitCode: 1, message: " FINAL("GPUFailed", "1"), "GPUFailed", "likely" },
		/* The kubelet shows the code, and the sentence may say anything of others. */
		{ "exitCode: 1, message: " FINAL("ApplicationError", "1"), "ApplicationError", "likely" },
		{ "exitCode: 1", "ApplicationError", "certain" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = unsigned_pod("", "", rows[i].terminated),
				     *array = failures_of(pod);
		const cJSON *spec = json_get(array->child, "spec");
		bool doubted = strcmp(rows[i].confidence, "likely") == 0;

		if (strcmp(json_str(spec, "class"), rows[i].class) != 0 ||
		    strcmp(json_str(spec, "confidence"), rows[i].confidence) != 0 ||
		    any_has(json_get(spec, "missing"), "what",
			    "proof that the sidecar wrote its report") != doubted)
			fail_msg("row %zu: %s", i, cJSON_PrintUnformatted(spec));
	}
}

/* The kubelet writes "Evicted" only when the last container of the pod has ended. */
static void what_the_status_may_still_explain_is_open(void **state)
{
	static const struct {
		const char *metadata, *status, *terminated;
		bool open;
	} rows[] = {
		{ "", "", "exitCode: 137, reason: Error", true },
		{ "", "", "exitCode: 137, reason: ContainerStatusUnknown", true },
		{ "", "", "exitCode: 143", true },
		{ "", "", "exitCode: 1", true },
		{ "", "", "exitCode: 143, message: " FINAL("PodDeleted", "143"), true },
		/*
		 * If a pod is evicted after its container had survived an OOM kill, the status says
		 * so last.
		 */
		{ "", "", "exitCode: 137, reason: OOMKilled", true },
		{ "", "", "exitCode: 137, reason: OOMKilled, message: " FINAL("KernelOOMContainer", "137"), false },
		{ "", "", "exitCode: 139", false },
		{ "", "", "exitCode: 127", false },
		{ "", "", "exitCode: 128, reason: StartError", false },
		{ "", "", "exitCode: 137, message: " FINAL("KernelOOMNode", "137"), false },
		{ "", "  reason: Evicted\n", "exitCode: 137, reason: Error", false },
		{ "", "  conditions: [{type: DisruptionTarget, status: \"True\", reason: PreemptionByScheduler}]\n",
		  "exitCode: 143", false },
		{ ", deletionTimestamp: \"2026-11-21T01:05:00Z\"", "", "exitCode: 137", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod =
			pod_with(rows[i].metadata, rows[i].status, rows[i].terminated);
		_cleanup_json_ cJSON *array = failures_of(pod);
		cJSON *status = json_get(pod, "status"),
		      *container = json_get(status, "containerStatuses")->child;

		if (is_open(pod, array->child) != rows[i].open)
			fail_msg("row %zu (%s)", i, rows[i].terminated);
		json_set_str(status, "phase", "Failed");
		assert_false(is_open(pod, array->child));
		/* The container was restarted, so the pod goes on. */
		json_set_str(status, "phase", "Running");
		json_set(container, "lastState",
			 cJSON_Duplicate(json_get(container, "state"), true));
		json_set(container, "state", cJSON_CreateObject());
		assert_false(is_open(pod, array->child));
	}
}

static void a_deletion_that_came_later_does_not_explain_an_end_that_was_seen_before_it(void **state)
{
	static const struct {
		const char *later, *earlier;
		bool better;
	} rows[] = {
		{ "PodDeleted", "ApplicationError", false }, { "PodDeleted", "Killed", false },
		{ "ApplicationError", "ApplicationError", false }, { "Evicted", "Killed", true },
		{ "NodeLost", "ApplicationError", true }, { "Evicted", "Evicted", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct ray_failure later = {
			.class = (enum failure_class)failure_class_from_name(rows[i].later)
		};
		const struct ray_failure earlier = {
			.class = (enum failure_class)failure_class_from_name(rows[i].earlier)
		};

		if (failure_supersedes(&later, &earlier) != rows[i].better)
			fail_msg("row %zu", i);
	}
}

/* Does what failures_of does, for a pod that is gone. */
static cJSON *failures_of_gone(const cJSON *pod)
{
	struct ray_failures failures = { 0 };
	struct err err = { 0 };

	assert_int_equal(failures_from_gone_pod(pod, 1795224546 * NS_PER_SEC, &failures, &err), 0);
	return json_of_failures(&failures);
}

static cJSON *gone_pod(const char *status, const char *state)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(1 << 16);

	strbuf_addf(
		&sb,
		POD_HEAD
		"status:\n%s  containerStatuses:\n"
		"  - {name: ray-worker, restartCount: 2, containerID: \"containerd://abc\", state: {%s}}\n"
		"  - {name: afterglow, containerID: \"containerd://def\", state: {running: {}}}\n",
		", deletionTimestamp: \"2026-11-21T01:10:00Z\"", status, state);
	return json_of(strbuf_str(&sb));
}

static void of_a_pod_that_went_with_its_node_what_ran_was_lost_with_it(void **state)
{
	static const char by_taint
		[] = "  conditions: [{type: DisruptionTarget, status: 'True', reason: DeletionByTaintManager}]\n",
	by_gc[] =
		"  phase: Failed\n  conditions: [{type: DisruptionTarget, status: 'True', reason: DeletionByPodGC}]\n",
	preempted[] =
		"  conditions: [{type: DisruptionTarget, status: 'True', reason: PreemptionByScheduler}]\n",
	runs[] = "running: {startedAt: '2026-11-21T01:00:00Z'}",
	waits[] = "waiting: {reason: ContainerCreating}",
	ended[] = "terminated: {exitCode: 1, containerID: 'containerd://abc'}",
	ended_well[] = "terminated: {exitCode: 0, containerID: 'containerd://abc'}";
	static const struct {
		const char *status, *state, *class;
	} rows[] = {
		{ by_taint, runs, "NodeLost" }, { by_gc, runs, "NodeLost" },	 { "  reason: NodeLost\n", runs, "NodeLost" },
		{ preempted, runs, NULL },	{ "  phase: Running\n", runs, NULL }, { by_taint, waits, NULL },
		{ by_taint, ended, "NodeLost" }, { by_taint, ended_well, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = gone_pod(rows[i].status, rows[i].state),
				     *array = failures_of_gone(pod);

		if (cJSON_GetArraySize(array) != (rows[i].class != NULL))
			fail_msg("row %zu: %d failures", i, cJSON_GetArraySize(array));
		if (!rows[i].class)
			continue;
		const cJSON *spec = json_get(cJSON_GetArrayItem(array, 0), "spec");
		assert_string_equal(json_str(spec, "class"), rows[i].class);
		assert_int_equal(json_int(spec, "exitCode", -1),
				 strcmp(rows[i].state, ended) == 0 ? 1 : -1);
		assert_int_equal(json_int(spec, "restartCount", -1), 2);
	}
}

static void a_container_that_was_lost_has_the_name_of_its_death(void **state)
{
	_cleanup_json_ cJSON *ran = gone_pod("  reason: NodeLost\n", "running: {}");
	_cleanup_json_ cJSON *ended =
		gone_pod("  reason: NodeLost\n",
			 "terminated: {exitCode: 137, containerID: 'containerd://abc'}");
	_cleanup_json_ cJSON *a = failures_of_gone(ran), *b = failures_of_gone(ended);

	(void)state;
	assert_string_equal(json_str(cJSON_GetArrayItem(a, 0), "metadata.name"),
			    json_str(cJSON_GetArrayItem(b, 0), "metadata.name"));
	assert_true(any_has(json_get(cJSON_GetArrayItem(a, 0), "spec.missing"), "what",
			    "nothing on its node reported that it ended"));
}

static void an_end_while_its_pod_was_deleted_says_so_whatever_its_code(void **state)
{
	static const struct {
		const char *deleted;
		bool says;
	} rows[] = { { "", false },
		     { ", deletionTimestamp: \"2026-11-21T01:05:20Z\", deletionGracePeriodSeconds: 30", true },
		     { ", deletionTimestamp: \"2026-11-21T01:09:00Z\", deletionGracePeriodSeconds: 30", false } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *pod = pod_with(rows[i].deleted, "", "exitCode: 139"),
				     *failures = failures_of(pod);
		const cJSON *failure = cJSON_GetArrayItem(failures, 0);

		assert_string_equal(json_str(failure, "spec.class"), "Segfault");
		assert_int_equal(cJSON_HasObjectItem(json_get(failure, "metadata.annotations"),
						     FAILURE_DELETED_ANNOTATION),
				 rows[i].says);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_pods_status_tells_what_it_can),
		cmocka_unit_test(a_container_that_is_not_rays_is_named_so),
		cmocka_unit_test(a_line_where_no_sidecar_writes_is_not_believed),
		cmocka_unit_test(an_oom_kill_without_a_report_names_the_limit_and_who_sets_it),
		cmocka_unit_test(the_object_is_complete),
		cmocka_unit_test(report_and_status_are_weighed),
		cmocka_unit_test(a_container_that_the_runtime_forgot_shares_the_fate_of_its_pod),
		cmocka_unit_test(one_eviction_of_a_forgotten_container_is_one_failure),
		cmocka_unit_test(a_container_that_never_ran_has_no_end_when_its_pod_is_deleted),
		cmocka_unit_test(what_ended_long_before_the_rest_of_an_evicted_pod_was_not_evicted),
		cmocka_unit_test(a_message_that_the_sidecar_did_not_sign_is_shown_as_forged_and_not_believed),
		cmocka_unit_test(of_what_is_not_signed_nothing_is_certain),
		cmocka_unit_test(what_the_status_may_still_explain_is_open),
		cmocka_unit_test(a_deletion_that_came_later_does_not_explain_an_end_that_was_seen_before_it),
		cmocka_unit_test(a_snapshot_is_called_one),
		cmocka_unit_test(an_eviction_keeps_what_a_snapshot_says_of_the_disk),
		cmocka_unit_test(a_bundle_of_this_pod_is_passed_on_wherever_it_is),
		cmocka_unit_test(a_bundle_of_somebody_else_is_not_passed_on),
		cmocka_unit_test(each_dead_instance_is_one_failure_but_not_the_sidecars),
		cmocka_unit_test(a_pod_without_the_label_or_the_dead_makes_nothing),
		cmocka_unit_test(a_container_that_cannot_be_started_is_one_failure_for_each_reason),
		cmocka_unit_test(an_end_while_its_pod_was_deleted_says_so_whatever_its_code),
		cmocka_unit_test(of_a_pod_that_went_with_its_node_what_ran_was_lost_with_it),
		cmocka_unit_test(a_container_that_was_lost_has_the_name_of_its_death),
		cmocka_unit_test(a_bare_death_with_hardly_any_member_still_gives_a_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
