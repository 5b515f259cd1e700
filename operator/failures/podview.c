/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out from the pod's status why a container died. */
#include "operator/failures/podview.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/exit_code.h"
#include "lib/json.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/made_up_end.h"
#include "operator/failures/pod_deletion.h"
#include "operator/failures/termination.h"

/* The difference between the node's clock and the API server's. */
#define CLOCKS_NS (5 * NS_PER_SEC)

static bool is(const char *text, const char *word)
{
	return text && strcmp(text, word) == 0;
}

/*
 * Returns whether a request to stop may have caused the code. Some commands then exit with a code
 * of their own, but SIGSEGV is not a request to stop.
 */
static bool may_be_from_outside(int64_t exit_code)
{
	return exit_code_is_of_stop(exit_code) || exit_code < EXIT_CODE_OF_SIGNAL(0);
}

static void podview_decide(struct podview *v, enum failure_class class, enum confidence confidence,
			   bool from_outside)
{
	v->class = class;
	v->confidence = confidence;
	v->from_outside = from_outside;
}

/*
 * Sets the evidence. Messages of the kubelet and the scheduler become evidence, but never the
 * sentence.
 */
static void set_evidence(struct podview *v, const char *what, const char *reason,
			 const char *message)
{
	char text[512], tame[400] = "";

	if (message)
		text_tame(message, tame, sizeof(tame));
	snprintf(text, sizeof(text), "%s: %.60s%s%s", what, reason ? reason : "?",
		 *tame ? ": " : "", tame);
	text_tame(text, v->evidence, sizeof(v->evidence));
}

/*
 * Takes the first sentence of a kubelet's message as the reason: "The node was low on resource:
 * memory."
 */
static void by_node(const cJSON *pod, enum ended_by_kind kind, const char *message,
		    struct podview *v)
{
	const char *end = message ? strstr(message, ". ") : NULL;
	size_t len = end ? (size_t)(end - message) : message ? strlen(message) : 0;
	char why[ENDED_BY_REASON_MAX] = "";

	while (len && strchr(" .", message[len - 1]))
		len--;
	if (len)
		snprintf(why, sizeof(why), "%.*s", (int)MIN(len, sizeof(why) - 1), message);
	ended_by_init(&v->by, kind, "Node", json_str(pod, "spec.nodeName"), why);
}

static bool by_pod_reason(const cJSON *pod, struct podview *v)
{
	const char *reason = json_str(pod, "status.reason"),
		   *message = json_str(pod, "status.message");

	if (is(reason, "Evicted"))
		podview_decide(v, FAILURE_EVICTED, CONFIDENCE_CERTAIN, true);
	else if (TEXT_IS_ONE_OF(reason, "Preempting", "Preempted"))
		podview_decide(v, FAILURE_PREEMPTED, CONFIDENCE_CERTAIN, true);
	else if (is(reason, "NodeLost"))
		podview_decide(v, FAILURE_NODE_LOST, CONFIDENCE_LIKELY, true);
	else if (TEXT_IS_ONE_OF(reason, "Terminated", "NodeShutdown", "Shutdown"))
		podview_decide(v, FAILURE_NODE_SHUTDOWN, CONFIDENCE_CERTAIN, true);
	else if (is(reason, "DeadlineExceeded")) {
		podview_decide(v, FAILURE_EVICTED, CONFIDENCE_CERTAIN, true);
		v->fate =
			"was ended by the kubelet: its pod ran longer than its activeDeadlineSeconds";
	} else {
		return false;
	}
	set_evidence(v, "pod status", reason, message);
	by_node(pod, v->class == FAILURE_NODE_LOST ? ENDED_BY_TAINT_EVICTION : ENDED_BY_KUBELET,
		v->class == FAILURE_NODE_LOST ? NULL : message, v);
	return true;
}

struct disruption {
	const char *reason, *message; /* message: a part of it; NULL: any message */
	enum failure_class class;
	enum confidence confidence;
	enum ended_by_kind by;
};

static bool by_condition(const cJSON *pod, const struct disruption *rows, size_t n,
			 struct podview *v)
{
	const cJSON *condition =
		json_find(json_get(pod, "status.conditions"), "type", "DisruptionTarget");
	const char *reason = json_str(condition, "reason"),
		   *message = json_str(condition, "message");

	if (!json_is(condition, "status", "True"))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is(reason, rows[i].reason) ||
		    (rows[i].message && !(message && strstr(message, rows[i].message))))
			continue;
		podview_decide(v, rows[i].class, rows[i].confidence, true);
		set_evidence(v, "condition DisruptionTarget", reason, message);
		by_node(pod, rows[i].by, rows[i].by == ENDED_BY_KUBELET ? message : NULL, v);
		if (rows[i].by != ENDED_BY_KUBELET)
			pod_deletion_began(pod, &v->by.at_ns);
		return true;
	}
	return false;
}

/*
 * The reasons of a disruption:
 * https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions. The
 * kubelet uses one reason for three cases, which its messages tell apart (kubelet/nodeshutdown,
 * kubelet/preemption and kubelet/eviction of Kubernetes 1.34).
 */
static bool by_kubelet_disruption(const cJSON *pod, struct podview *v)
{
	/* clang-format off */
	static const struct disruption rows[] = {
		{ "TerminationByKubelet", "node shutdown", FAILURE_NODE_SHUTDOWN, CONFIDENCE_CERTAIN, ENDED_BY_KUBELET },
		{ "TerminationByKubelet", "preempted", FAILURE_PREEMPTED, CONFIDENCE_CERTAIN, ENDED_BY_KUBELET },
		{ "TerminationByKubelet", NULL, FAILURE_EVICTED, CONFIDENCE_CERTAIN, ENDED_BY_KUBELET },
	};
	/* clang-format on */

	return by_condition(pod, rows, ARRAY_SIZE(rows), v);
}

/*
 * Handles a pod that is deleted because of a disruption. A container that had ended before did not
 * end because of it.
 */
static bool by_disruption(const cJSON *pod, const cJSON *terminated, struct podview *v)
{
	/* clang-format off */
	static const struct disruption rows[] = {
		{ "PreemptionByScheduler", NULL, FAILURE_PREEMPTED, CONFIDENCE_CERTAIN, ENDED_BY_SCHEDULER },
		{ "DeletionByTaintManager", NULL, FAILURE_NODE_LOST, CONFIDENCE_LIKELY, ENDED_BY_TAINT_EVICTION },
		{ "DeletionByDeviceTaintManager", NULL, FAILURE_POD_DELETED, CONFIDENCE_CERTAIN, ENDED_BY_TAINT_EVICTION },
		{ "EvictionByEvictionAPI", NULL, FAILURE_POD_DELETED, CONFIDENCE_CERTAIN, ENDED_BY_EVICTION_API },
		{ "DeletionByPodGC", NULL, FAILURE_NODE_LOST, CONFIDENCE_LIKELY, ENDED_BY_POD_GC },
	};
	/* clang-format on */
	int64_t lead_ns;

	if (pod_deletion_lead(pod, terminated, &lead_ns) && lead_ns < -NS_PER_SEC)
		return false;
	return by_condition(pod, rows, ARRAY_SIZE(rows), v);
}

static bool by_kubelet_reason(const cJSON *terminated, struct podview *v)
{
	const char *reason = json_str(terminated, "reason");

	if (TEXT_IS_ONE_OF(reason, "StartError", "ContainerCannotRun")) {
		podview_decide(v, FAILURE_START_FAILURE, CONFIDENCE_CERTAIN, true);
		set_evidence(v, "kubelet", reason, json_str(terminated, "message"));
		return true;
	}
	return false;
}

/*
 * Returns whether the runtime says OOMKilled. It says so of every container in which the kernel
 * ever killed a process, however the container ended later.
 */
static bool is_oom(const cJSON *terminated)
{
	return json_is(terminated, "reason", "OOMKilled");
}

static bool by_oom_reason(const cJSON *terminated, int64_t exit_code, struct podview *v)
{
	if (!is_oom(terminated))
		return false;
	podview_decide(v, FAILURE_KERNEL_OOM_CONTAINER, CONFIDENCE_LIKELY, false);
	v->signal = exit_code == EXIT_CODE_OF_SIGNAL(SIGKILL) ? SIGKILL : v->signal;
	return true;
}

static void by_loss(const cJSON *terminated, struct podview *v)
{
	podview_decide(v, FAILURE_UNKNOWN, CONFIDENCE_UNKNOWN, true);
	set_evidence(v, "kubelet", json_str(terminated, "reason"), json_str(terminated, "message"));
}

/* Handles a command that was asked to stop. Ray's own `ray start --block` exits with 1. */
static bool by_deletion(const cJSON *pod, const cJSON *terminated, int64_t exit_code,
			struct podview *v)
{
	const char *deleted = json_str(pod, "metadata.deletionTimestamp");
	int64_t grace = pod_deletion_grace(pod);

	if (!pod_deletion_explains(pod, terminated, exit_code))
		return false;
	podview_decide(v, FAILURE_POD_DELETED, CONFIDENCE_LIKELY, true);
	ended_by_init(&v->by, ENDED_BY_CLIENT, NULL, NULL, NULL);
	pod_deletion_began(pod, &v->by.at_ns);
	snprintf(v->evidence, sizeof(v->evidence),
		 "metadata.deletionTimestamp %.40s, grace %" PRId64 " s", deleted, grace);
	return true;
}

/*
 * Decides by what happened to the pod. That counts more than the exit code, and more than the
 * kubelet's OOMKilled, which may be about a kill that the container survived. Only if the pod was
 * deleted do the times show that the OOM kill came first.
 */
static bool by_fate(const cJSON *pod, const cJSON *terminated, int64_t exit_code, struct podview *v)
{
	int64_t lead_ns;
	bool oom_first = is_oom(terminated) && pod_deletion_lead(pod, terminated, &lead_ns) &&
			 pod_deletion_is_after_oom(pod, terminated, exit_code);

	if (!may_be_from_outside(exit_code))
		return false;
	return (!pod_deletion_outlived(pod, terminated) &&
		(by_pod_reason(pod, v) || by_kubelet_disruption(pod, v))) ||
	       (!oom_first &&
		(by_disruption(pod, terminated, v) || by_deletion(pod, terminated, exit_code, v)));
}

static void settle_fate(const cJSON *terminated, int64_t exit_code, struct podview *v)
{
	v->oom_open = is_oom(terminated);
	/*
	 * A command with an exit code of its own may have ended by itself, and SIGKILL may have
	 * come from the OOM killer.
	 */
	if (!exit_code_is_of_stop(exit_code) ||
	    (v->oom_open && exit_code == EXIT_CODE_OF_SIGNAL(SIGKILL)))
		v->confidence = CONFIDENCE_LIKELY;
}

/*
 * Lowers the confidence: clocks differ, so an exit code shortly before the deletion began may still
 * be a consequence of it.
 */
static void doubt_near_deletion(const cJSON *pod, const cJSON *terminated, struct podview *v)
{
	int64_t lead_ns;

	if (v->class != FAILURE_APPLICATION_ERROR ||
	    !pod_deletion_lead(pod, terminated, &lead_ns) || lead_ns < -CLOCKS_NS)
		return;
	v->confidence = CONFIDENCE_LIKELY;
	snprintf(v->evidence, sizeof(v->evidence),
		 "the pod's deletion began %" PRId64 " s after the end", -lead_ns / NS_PER_SEC);
}

/*
 * A code alone proves neither a signal nor a missing command, because any program may exit with 127
 * or 139.
 */
static void by_exit_code(int64_t exit_code, struct podview *v)
{
	enum failure_class class = exit_code_class(exit_code);
	bool own = exit_code < EXIT_CODE_NOT_EXECUTABLE;

	podview_decide(v, class,
		       class == FAILURE_UNKNOWN ? CONFIDENCE_UNKNOWN :
		       own			? CONFIDENCE_CERTAIN :
						  CONFIDENCE_LIKELY,
		       false);
}

/* Says what became of the container; NULL where the exit code says it. */
static const char *const fates[FAILURE_CLASS_COUNT] = {
	[FAILURE_KERNEL_OOM_CONTAINER] = "ran out of memory (the kubelet says OOMKilled)",
	[FAILURE_EVICTED] = "ended because its pod was evicted",
	[FAILURE_PREEMPTED] = "ended because its pod was preempted",
	[FAILURE_POD_DELETED] = "ended because its pod was deleted",
	[FAILURE_NODE_LOST] = "was lost with its node",
	[FAILURE_NODE_SHUTDOWN] = "ended because its node was shut down",
	[FAILURE_START_FAILURE] = "could not be started",
	[FAILURE_COMMAND_NOT_FOUND] =
		"ended with exit code 127, as a shell does when a command is not found",
	[FAILURE_COMMAND_NOT_EXECUTABLE] =
		"ended with exit code 126, as a shell does when a command could not be executed",
	[FAILURE_UNKNOWN] = "ended for an unknown reason",
};

/*
 * Adds the reason of an eviction, such as "The node was low on resource: memory.", which people ask
 * for next.
 */
static void add_eviction(const cJSON *pod, struct podview *v)
{
	const char *message = json_str(pod, "status.message");
	size_t len = strlen(v->sentence);

	if (v->class != FAILURE_EVICTED || v->fate || !message || !*message ||
	    len + 16 > sizeof(v->sentence))
		return;
	memcpy(v->sentence + len, ": ", 3);
	text_tame(message, v->sentence + len + 2, MIN(sizeof(v->sentence) - len - 2, (size_t)200));
	for (len = strlen(v->sentence); len && strchr(" .", v->sentence[len - 1]); len--)
		v->sentence[len - 1] = '\0';
}

const char *podview_memory_limit(const cJSON *pod, const char *container)
{
	const cJSON *spec = json_find(json_get(pod, "spec.containers"), "name", container);

	if (!spec)
		spec = json_find(json_get(pod, "spec.initContainers"), "name", container);
	return json_str_or(spec, "resources.limits.memory", "");
}

static void set_sentence(const cJSON *pod, const char *container, int64_t exit_code,
			 struct podview *v)
{
	const char *name = json_str_or(pod, "metadata.name", "?"),
		   *how = v->fate ? v->fate : fates[v->class], *signal = signal_name(v->signal);
	const char *limit = podview_memory_limit(pod, container);
	char text[96];

	if (!how)
		snprintf(text, sizeof(text), "ended with exit code %" PRId64 "%s%s%s", exit_code,
			 signal ? ", as after " : "", signal ? signal : "",
			 IS_ONE_OF(v->class, FAILURE_KILLED, FAILURE_TERMINATED) ?
				 " (sender unknown)" :
				 "");
	else if (how == fates[FAILURE_KERNEL_OOM_CONTAINER] && *limit)
		snprintf(text, sizeof(text), "%.*s; the limit is %.32s)", (int)strlen(how) - 1, how,
			 limit);
	else
		snprintf(text, sizeof(text), "%s", how);
	snprintf(v->sentence, sizeof(v->sentence), "Container %.63s of %.253s %s%s", container,
		 name, how && v->confidence == CONFIDENCE_LIKELY ? "most likely " : "", text);
}

/* Adds a hint that the image has no shell, and that the webhook has put one before the command. */
static void add_shell_hint(const cJSON *pod, const char *message, char *sentence, size_t size)
{
	size_t len = strlen(sentence);

	if (!json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER) ||
	    (!strstr(message, "exec: \"/bin/sh\"") && !strstr(message, "exec: \"/bin/bash\"")))
		return;
	snprintf(
		sentence + len, size - len,
		" (Afterglow starts the command by that shell; annotation afterglow.dev/inject: \"false\""
		" leaves it as it is)");
}

/*
 * Appends why a container could not be started, which only the kubelet's message says. The last
 * one in the runtime's chain of causes is the cause itself. Without a message or room it appends
 * nothing.
 */
static void start_error_add(const cJSON *pod, const char *message, char *sentence, size_t size)
{
	static const char runtime[] = "unable to start container process: ";
	size_t len = strlen(sentence);

	if (!message || !*message || len + 16 > size)
		return;
	const char *cause = strstr(message, runtime);
	memcpy(sentence + len, ": ", 3);
	text_tame(cause ? cause + strlen(runtime) : message, sentence + len + 2,
		  MIN(size - len - 2, (size_t)200));
	add_shell_hint(pod, message, sentence, size);
}

void podview_classify(const cJSON *pod, const char *container, const cJSON *terminated,
		      bool current, struct podview *ret_view)
{
	int64_t exit_code = json_int(terminated, "exitCode", -1);
	struct podview v = { .lost = made_up_is_lost(terminated) };

	v.signal = exit_code_signal(exit_code);
	if (by_kubelet_reason(terminated, &v))
		;
	else if (current && by_fate(pod, terminated, exit_code, &v))
		settle_fate(terminated, exit_code, &v);
	else if (by_oom_reason(terminated, exit_code, &v))
		;
	else if (v.lost)
		by_loss(terminated, &v);
	else
		by_exit_code(exit_code, &v);
	doubt_near_deletion(pod, terminated, &v);
	if (v.lost)
		v.signal = 0;
	set_sentence(pod, container, exit_code, &v);
	if (v.class == FAILURE_START_FAILURE)
		start_error_add(pod, json_str(terminated, "message"), v.sentence,
				sizeof(v.sentence));
	add_eviction(pod, &v);
	*ret_view = v;
}

bool podview_is_open(const cJSON *pod, const char *container, const char *container_id)
{
	const cJSON *status =
		json_find(json_get(pod, "status.containerStatuses"), "name", container);
	const cJSON *forgotten = made_up_forgotten(status),
		    *terminated = forgotten ? forgotten : json_get(status, "state.terminated");
	const char *phase = json_str(pod, "status.phase"),
		   *id = json_str(terminated, "containerID");

	/* An end without an ID belongs to the same instance, because its number is the same. */
	if (!terminated || (container_id && id && strcmp(container_id, id) != 0))
		return false;
	return !is(phase, "Failed") && !is(phase, "Succeeded") &&
	       may_be_from_outside(json_int(terminated, "exitCode", -1));
}

bool podview_lost(const cJSON *pod, const char *container, struct podview *ret_view)
{
	struct podview v = { .lost = true };

	if ((!by_pod_reason(pod, &v) && !by_disruption(pod, NULL, &v)) ||
	    v.class != FAILURE_NODE_LOST)
		return false;
	set_sentence(pod, container, -1, &v);
	*ret_view = v;
	return true;
}

bool podview_cannot_start(const char *reason)
{
	/*
	 * ErrImagePull is not listed: it is a single attempt, and the next may succeed.
	 * ImagePullBackOff follows it.
	 */
	return TEXT_IS_ONE_OF(reason, "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName",
			      "CreateContainerConfigError", "CreateContainerError");
}

void podview_not_started(const cJSON *pod, const char *container, const cJSON *waiting,
			 struct podview *ret_view)
{
	struct podview v = { 0 };

	podview_decide(&v, FAILURE_START_FAILURE, CONFIDENCE_CERTAIN, true);
	set_evidence(&v, "waiting", json_str(waiting, "reason"), json_str(waiting, "message"));
	set_sentence(pod, container, -1, &v);
	start_error_add(pod, json_str(waiting, "message"), v.sentence, sizeof(v.sentence));
	*ret_view = v;
}
