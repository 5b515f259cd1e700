/* SPDX-License-Identifier: Apache-2.0 */
/* The rules by which one end explains another. */
#include "lib/incident_rules.h"

#include <string.h>

#include "lib/macros.h"

/*
 * How long workers survive their GCS. Ray asks for a lost GCS every second and gives up after
 * gcs_rpc_server_reconnect_timeout_s (src/ray/common/ray_config_def.h), 60 s by default; with Ray
 * 2.60 workers ended about 20 s after their GCS. KubeRay sets 600 s where the GCS is
 * fault-tolerant.
 */
#define FATE_S 120
#define GCS_LOST_S 900
/*
 * `ray start --block` checks its processes once a second, and raylet checks its agents a little
 * less often.
 */
#define PROCESS_S 30
/*
 * A victim of the OOM killer ends within seconds, and the sidecar reports both the kill and the
 * end.
 */
#define OOM_KILL_S 10
/* KubeRay's liveness probe fails for ten minutes (120 times 5 s) before the kubelet acts. */
#define PROBE_S 1200
/* Synchronized clocks differ by less than this. The kubelet's times have whole seconds. */
#define SKEW_S 5
#define OWN_CLOCK_S 3
/*
 * A node counts as unreachable after 40 s, its pods are deleted 300 s later (the default
 * toleration) and removed a little later.
 */
#define LOST_S 420
#define NODE_S 600
#define NODE_OOM_S 60
/* The pods of one deletion end within their grace periods. */
#define DELETION_S 120
#define GRACE_S 60
/* A RayJob's cluster is deleted when its TTL is over. */
#define JOB_TTL_S 3600
#define PEER_S 60
/*
 * The GCS needs 15 s to notice that a node is gone, and a driver may go on for a while before it
 * asks for the result. An address names a node for less long: the container's next instance has it,
 * too.
 */
#define NAMED_S 600
#define NAMED_BY_IP_S 60
/*
 * KubeRay's submitter asks for the job's state, and ends when the job has. Its Job starts it again
 * after 10, 20, 40 s, and then it ends for the same reason.
 */
#define SUBMITTER_S 300
#define GPU_S 60
/* The kubelet starts a container again after at most five minutes. */
#define LOOP_S 3600

/* Returns whether it is KubeRay's submitter, in a pod of its own or in the head's. */
static bool is_submitter(const struct incident_death *d)
{
	return !d->ray && !d->lives && strcmp(d->container, SUBMITTER_CONTAINER) == 0;
}

int incident_rank(const struct incident_death *d)
{
	if (IS_ONE_OF(d->class, FAILURE_NODE_LOST, FAILURE_NODE_SHUTDOWN, FAILURE_KERNEL_OOM_NODE))
		return 0;
	if (d->class == FAILURE_GPU_FAILED)
		return 1;
	if (d->class == FAILURE_NCCL_ERROR)
		return 8;
	/* The submitter in the head's pod, too, follows the head. */
	if (is_submitter(d))
		return 7;
	/*
	 * An OOM kill of a process comes before the process's end, and that before the container's.
	 */
	return (d->head ? 2 : 5) + (!d->lives ? 2 : d->class != FAILURE_KERNEL_OOM_PROCESS);
}

int incident_noticed_after_s(const struct incident_death *d)
{
	return d->class == FAILURE_NODE_LOST ? LOST_S : 0;
}

/*
 * --- Keys
 * ----------------------------------------------------------------------------------------------
 */

static const char *by_node(const struct incident_death *d)
{
	return d->node;
}

static const char *by_pod(const struct incident_death *d)
{
	return d->uid;
}

/* Each pod of the submitter's Job is the next try of the same. */
static const char *by_pod_or_submitter(const struct incident_death *d)
{
	return is_submitter(d) ? d->container : d->uid;
}

/* Returns whether it was the driver of a job, which runs in the head. */
static bool ends_the_job(const struct incident_death *d)
{
	return d->head && d->lives &&
	       (strncmp(d->process, "driver", strlen("driver")) == 0 ||
		strncmp(d->process, "job", strlen("job")) == 0);
}

/* Returns whether it is a driver whose log may name another death. */
static bool may_name_a_death(const struct incident_death *d)
{
	return d->class == FAILURE_RAY_JOB_FAILED && ends_the_job(d);
}

/* Of a driver these two return what its exception names, and of other ends what they are. */
static const char *by_ray_node(const struct incident_death *d)
{
	return may_name_a_death(d) ? d->names.ray_node : d->ray_node;
}

static const char *by_ip(const struct incident_death *d)
{
	return may_name_a_death(d) ? d->names.ip : d->ip;
}

static const char *by_cluster(const struct incident_death *)
{
	return "cluster";
}

/*
 * Makes "kind/name/reason", or "" without a name, because two different clients may have ended two
 * pods.
 */
static const char *by_sender(const struct incident_death *d)
{
	const char *name = strchr(d->ended_by, '/');

	return name && name[1] && name[1] != '/' ? d->ended_by : "";
}

/*
 * --- Nodes
 * ---------------------------------------------------------------------------------------------
 */

static bool is_node_gone(const struct incident_death *d)
{
	return d->class == FAILURE_NODE_LOST || d->class == FAILURE_NODE_SHUTDOWN;
}

static bool is_node_oom(const struct incident_death *d)
{
	return d->class == FAILURE_KERNEL_OOM_NODE;
}

static bool may_go_with_node(const struct incident_death *d)
{
	return IS_ONE_OF(d->class, FAILURE_EVICTED, FAILURE_UNKNOWN, FAILURE_TERMINATED,
			 FAILURE_KILLED) ||
	       (d->class == FAILURE_POD_DELETED && !*d->ended_by);
}

/*
 * Returns whether the end follows from that of the node. A node that shuts down ends its containers
 * in order; the containers of a lost node cannot report their ends.
 */
static bool goes_with_node(const struct incident_death *node, const struct incident_death *d)
{
	return node->class == FAILURE_NODE_SHUTDOWN ||
	       IS_ONE_OF(d->class, FAILURE_UNKNOWN, FAILURE_POD_DELETED);
}

/*
 * --- Processes of a container
 * ---------------------------------------------------------------------------
 */

static bool is_rays_own(const char *process)
{
	static const char *const beginnings[] = { "raylet",	 "gcs_server",	      "dashboard",
						  "runtime_env", "log_monitor",	      "log monitor",
						  "monitor",	 "ray_client_server", "agent" };

	for (size_t i = 0; i < ARRAY_SIZE(beginnings); i++)
		if (strncmp(process, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}

static bool is_process_of_ray(const struct incident_death *d)
{
	return d->lives && d->ray &&
	       (IS_ONE_OF(d->class, FAILURE_RAYLET_FAILED, FAILURE_GCS_FAILED,
			  FAILURE_RAY_PROCESS_FAILED, FAILURE_GCS_LOST) ||
		(d->class == FAILURE_KERNEL_OOM_PROCESS && is_rays_own(d->process)));
}

static bool is_oom_of_process_of_ray(const struct incident_death *d)
{
	return d->class == FAILURE_KERNEL_OOM_PROCESS && is_process_of_ray(d);
}

/*
 * Returns whether one of Ray's own processes, or a driver, ended by a signal while its container
 * lives on.
 */
static bool may_be_oom_killed(const struct incident_death *d)
{
	return d->signaled && ((d->class != FAILURE_KERNEL_OOM_PROCESS && is_process_of_ray(d)) ||
			       (d->class == FAILURE_RAY_JOB_FAILED && d->lives && d->ray));
}

static bool may_follow_a_process(const struct incident_death *d)
{
	if (d->lives || !d->ray)
		return false;
	return (d->class == FAILURE_APPLICATION_ERROR && d->exit_code == 1) ||
	       IS_ONE_OF(d->class, FAILURE_RAYLET_FAILED, FAILURE_GCS_FAILED,
			 FAILURE_RAY_PROCESS_FAILED, FAILURE_GCS_LOST, FAILURE_TERMINATED,
			 FAILURE_UNKNOWN);
}

static bool is_probe_kill(const struct incident_death *d)
{
	return d->class == FAILURE_PROBE_KILLED && d->ray;
}

static bool is_same_instance(const struct incident_death *process, const struct incident_death *d)
{
	return strcmp(process->container, d->container) == 0 &&
	       (process->restart == d->restart || process->restart < 0 || d->restart < 0);
}

static bool is_same_process(const struct incident_death *oom, const struct incident_death *d)
{
	return is_same_instance(oom, d) && strcmp(oom->process, d->process) == 0;
}

/*
 * --- GPUs
 * -----------------------------------------------------------------------------------------------
 */

static bool is_gpu(const struct incident_death *d)
{
	return d->class == FAILURE_GPU_FAILED;
}

static bool may_follow_a_gpu(const struct incident_death *d)
{
	return IS_ONE_OF(d->class, FAILURE_CUDA_ERROR, FAILURE_NCCL_ERROR, FAILURE_WORKER_CRASH,
			 FAILURE_ABORT, FAILURE_APPLICATION_ERROR);
}

/*
 * --- The head and its workers
 * ----------------------------------------------------------------------------
 */

static bool takes_the_gcs(const struct incident_death *d)
{
	return d->head && d->ray && d->class != FAILURE_START_FAILURE &&
	       (!d->lives || d->class == FAILURE_GCS_FAILED ||
		strncmp(d->process, "gcs_server", strlen("gcs_server")) == 0);
}

static bool lost_its_gcs(const struct incident_death *d)
{
	return !d->head && d->ray && d->class == FAILURE_GCS_LOST;
}

/*
 * Returns whether a lost GCS can cause such an end: exit code 1, or an orderly stop. A signal that
 * killed raylet is neither.
 */
static bool may_lose_its_gcs(const struct incident_death *d)
{
	if (d->head || !d->ray || d->lives || d->outlives_gcs)
		return false;
	if (d->class == FAILURE_APPLICATION_ERROR)
		return d->exit_code == 1;
	return (IS_ONE_OF(d->class, FAILURE_RAYLET_FAILED, FAILURE_RAY_PROCESS_FAILED) &&
		!d->signaled) ||
	       d->class == FAILURE_TERMINATED || (d->class == FAILURE_POD_DELETED && !*d->ended_by);
}

/*
 * --- Deletions
 * -------------------------------------------------------------------------------------------
 */

static bool is_deleted(const struct incident_death *d)
{
	return d->class == FAILURE_POD_DELETED;
}

static bool is_taken_away(const struct incident_death *d)
{
	return IS_ONE_OF(d->class, FAILURE_POD_DELETED, FAILURE_EVICTED, FAILURE_PREEMPTED);
}

static bool is_deleted_head(const struct incident_death *d)
{
	return is_deleted(d) && d->head && d->ray;
}

static bool is_deleted_worker(const struct incident_death *d)
{
	return is_deleted(d) && !d->head;
}

static bool is_one_deletion(const struct incident_death *head, const struct incident_death *d)
{
	return !*head->ended_by || !*d->ended_by || strcmp(head->ended_by, d->ended_by) == 0;
}

static bool is_deleted_with_its_job(const struct incident_death *d)
{
	return is_deleted(d) && (strstr(d->ended_by, "RayJob") || strstr(d->ended_by, "TTL"));
}

/*
 * --- What a driver's exception names
 * ----------------------------------------------------------------------
 */

/* Deletions after the job are consequences of its end. */
static bool may_be_named(const struct incident_death *d)
{
	return d->ray && !ends_the_job(d) && !is_deleted_with_its_job(d);
}

/*
 * Returns whether the exception in the driver's log names this end: the worker by Ray's ID or by
 * its PID, or the node on which it ran. Both have the node's ID or its address in common.
 */
static bool is_named(const struct incident_death *d, const struct incident_death *driver)
{
	const struct incident_names *names = &driver->names;

	if (*names->ray_node && *d->ray_node && strcmp(names->ray_node, d->ray_node) != 0)
		return false;
	if (*names->worker && *d->worker)
		return strcmp(names->worker, d->worker) == 0;
	return !d->lives || d->class == FAILURE_RAYLET_FAILED ||
	       (names->pid && names->pid == d->pid);
}

/* The same, but not by the node alone: that may have ended for another reason, and later. */
static bool is_named_itself(const struct incident_death *d, const struct incident_death *driver)
{
	return is_named(d, driver) && ((*driver->names.worker && *d->worker) ||
				       (driver->names.pid && driver->names.pid == d->pid));
}

/* Returns whether the submitter ended with what it asks for, the job or the head that runs it. */
static bool is_failed_submission(const struct incident_death *d)
{
	return is_submitter(d) && d->class == FAILURE_APPLICATION_ERROR;
}

static bool ends_the_submission(const struct incident_death *d)
{
	return ends_the_job(d) || takes_the_gcs(d);
}

/*
 * Returns whether both deaths are of one pod, or of two pods of one Job. The names of a Job's pods
 * differ only after the last dash.
 */
static bool is_same_try(const struct incident_death *a, const struct incident_death *b)
{
	const char *dash = strrchr(a->pod, '-');
	size_t len = dash ? (size_t)(dash - a->pod) : 0;

	return strcmp(a->uid, b->uid) == 0 ||
	       (len && strncmp(a->pod, b->pod, len + 1) == 0 && !strchr(b->pod + len + 1, '-'));
}

/*
 * Returns whether it is a container beside Ray's that needs more memory than it may have. It dies
 * again and again of the same.
 */
static bool is_oom_beside_ray(const struct incident_death *d)
{
	return d->class == FAILURE_KERNEL_OOM_CONTAINER && !d->ray && !d->lives;
}

/*
 * --- NCCL
 * ------------------------------------------------------------------------------------------------
 */

static bool is_a_lost_peer(const struct incident_death *d)
{
	return d->ray && !IS_ONE_OF(d->class, FAILURE_NCCL_ERROR, FAILURE_START_FAILURE);
}

static bool misses_a_peer(const struct incident_death *d)
{
	return d->class == FAILURE_NCCL_ERROR;
}

static bool is_another_pod(const struct incident_death *a, const struct incident_death *b)
{
	return strcmp(a->uid, b->uid) != 0;
}

/* clang-format off */
const struct incident_rule incident_rules[] = {
	{ .key = by_node, .causes = is_node_gone, .after_s = NODE_S },
	{ .key = by_node, .causes = is_node_oom, .after_s = NODE_OOM_S },
	{ .key = by_node, .causes = is_node_gone, .follows = may_go_with_node, .fits = goes_with_node, .after_s = NODE_S,
	  .before_s = SKEW_S },
	{ .key = by_pod, .causes = is_gpu, .follows = may_follow_a_gpu, .after_s = GPU_S, .before_s = SKEW_S },
	{ .key = by_pod, .causes = is_oom_of_process_of_ray, .follows = may_be_oom_killed, .fits = is_same_process,
	  .after_s = OOM_KILL_S, .before_s = OWN_CLOCK_S, .is_late = true },
	{ .key = by_ray_node, .causes = may_be_named, .follows = may_name_a_death, .fits = is_named, .after_s = NAMED_S,
	  .before_s = SKEW_S, .by_id = true, .is_late = true, .first = true },
	{ .key = by_ip, .causes = may_be_named, .follows = may_name_a_death, .fits = is_named_itself, .after_s = NAMED_BY_IP_S,
	  .before_s = SKEW_S, .by_id = true, .is_late = true },
	{ .key = by_ip, .causes = may_be_named, .follows = may_name_a_death, .fits = is_named, .after_s = NAMED_BY_IP_S,
	  .before_s = SKEW_S, .by_id = true, .is_late = true },
	{ .key = by_pod_or_submitter, .causes = is_oom_beside_ray, .fits = is_same_try, .after_s = LOOP_S },
	{ .key = by_cluster, .causes = ends_the_submission, .follows = is_failed_submission, .after_s = SUBMITTER_S, .before_s = SKEW_S,
	  .is_late = true },
	{ .key = by_pod, .causes = is_process_of_ray, .follows = may_follow_a_process, .fits = is_same_instance,
	  .after_s = PROCESS_S, .before_s = OWN_CLOCK_S, .is_late = true },
	{ .key = by_pod, .causes = is_process_of_ray, .follows = is_probe_kill, .fits = is_same_instance, .after_s = PROBE_S,
	  .before_s = OWN_CLOCK_S },
	{ .key = by_cluster, .causes = takes_the_gcs, .follows = lost_its_gcs, .after_s = GCS_LOST_S, .before_s = 2 * SKEW_S,
	  .is_late = true },
	{ .key = by_cluster, .causes = takes_the_gcs, .follows = may_lose_its_gcs, .after_s = FATE_S, .before_s = SKEW_S,
	  .is_late = true },
	{ .key = by_sender, .causes = is_taken_away, .after_s = DELETION_S },
	{ .key = by_cluster, .causes = is_deleted_head, .follows = is_deleted_worker, .fits = is_one_deletion,
	  .after_s = DELETION_S, .before_s = GRACE_S },
	{ .key = by_cluster, .causes = ends_the_job, .follows = is_deleted_with_its_job, .after_s = JOB_TTL_S,
	  .before_s = SKEW_S },
	{ .key = by_cluster, .causes = is_a_lost_peer, .follows = misses_a_peer, .fits = is_another_pod, .after_s = PEER_S,
	  .before_s = SKEW_S, .is_late = true, .first = true },
};
/* clang-format on */
const size_t n_incident_rules = ARRAY_SIZE(incident_rules);
