/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the times of a pod's deletion and of its containers' ends. */
#include "operator/failures/pod_deletion.h"

#include <signal.h>

#include "lib/exit_code.h"
#include "lib/json.h"
#include "lib/units.h"

/* Allowance beyond the grace period, for a busy kubelet. */
#define SLOW_STOP_S 30

int64_t pod_deletion_grace(const cJSON *pod)
{
	int64_t grace = json_int(pod, "metadata.deletionGracePeriodSeconds", 0);

	return MIN(MAX(grace, 0), 365 * 86400);
}

/*
 * deletionTimestamp is the end of the grace period; the deletion was requested one grace period
 * earlier. Returns false if the pod is not being deleted.
 */
bool pod_deletion_began(const cJSON *pod, int64_t *ret_ns)
{
	int64_t deleted_ns;

	if (!json_time(pod, "metadata.deletionTimestamp", &deleted_ns))
		return false;
	*ret_ns = deleted_ns - pod_deletion_grace(pod) * NS_PER_SEC;
	return true;
}

bool pod_deletion_is_before(const cJSON *pod, const char *finished)
{
	int64_t began_ns, finished_ns;

	if (!pod_deletion_began(pod, &began_ns))
		return false;
	return !finished || time_parse(finished, &finished_ns, NULL) < 0 ||
	       finished_ns >= began_ns - NS_PER_SEC;
}

bool pod_deletion_lead(const cJSON *pod, const cJSON *terminated, int64_t *ret_ns)
{
	int64_t began_ns, finished_ns;

	if (!pod_deletion_began(pod, &began_ns) ||
	    !json_time(terminated, "finishedAt", &finished_ns))
		return false;
	*ret_ns = finished_ns - began_ns;
	return true;
}

/*
 * Returns after how many seconds of deletion the kubelet kills. In a pod's last state the
 * deletion's grace period is 0, because the kubelet has used it up; then the pod's own counts.
 */
static int64_t kill_after(const cJSON *pod)
{
	int64_t own =
		MIN(json_int(pod, "spec.terminationGracePeriodSeconds", 0), (int64_t)365 * 86400);
	int64_t grace = pod_deletion_grace(pod);

	return MAX(grace > 0 ? grace : own, (int64_t)1);
}

bool pod_deletion_explains(const cJSON *pod, const cJSON *terminated, int64_t exit_code)
{
	bool tolerant = exit_code == EXIT_CODE_OF_SIGNAL(SIGTERM) ||
			(exit_code_is_of_stop(exit_code) && kill_after(pod) <= 1);
	int64_t lead_ns;

	/* A command that could not be started did not end because of a deletion. */
	if (exit_code_is_of_shell(exit_code))
		return false;
	if (!pod_deletion_lead(pod, terminated, &lead_ns))
		return exit_code_is_of_stop(exit_code) && pod_deletion_is_before(pod, NULL);
	return lead_ns >= (tolerant ? -NS_PER_SEC : 0);
}

bool pod_deletion_is_after_oom(const cJSON *pod, const cJSON *terminated, int64_t exit_code)
{
	int64_t lead_ns;

	if (!pod_deletion_lead(pod, terminated, &lead_ns))
		return true;
	/* The kubelet sends SIGKILL at the end of the grace period. */
	if (exit_code == EXIT_CODE_OF_SIGNAL(SIGKILL))
		return lead_ns < kill_after(pod) * NS_PER_SEC;
	return lead_ns <= NS_PER_SEC;
}

static bool ended_at(const cJSON *terminated, int64_t *ret_ns)
{
	return json_time(terminated, "finishedAt", ret_ns) && *ret_ns > 0;
}

bool pod_deletion_outlived(const cJSON *pod, const cJSON *terminated)
{
	int64_t own_ns, other_ns, last_ns = 0;

	if (!ended_at(terminated, &own_ns))
		return false;
	json_each(status, json_get(pod, "status.containerStatuses"))
		if (ended_at(json_get(status, "state.terminated"), &other_ns))
			last_ns = MAX(last_ns, other_ns);
	return last_ns - own_ns > (kill_after(pod) + SLOW_STOP_S) * NS_PER_SEC;
}
