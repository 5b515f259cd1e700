/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of joining ends into incidents. Each story is a table, and its ends may come in any order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/incident.h"
#include "lib/incident_rules.h"
#include "lib/macros.h"
#include "lib/units.h"

/* Members that a row leaves out have the usual value. */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define ROWS_MAX 12
#define PODS_MAX 8

/* An end. By default it is that of Ray's container, which ended by itself with exit code 1. */
struct row {
	const char *name;
	enum failure_class class;
	const char *pod; /* "head..." is the head pod */
	double at_s;
	const char *first; /* the name of the first cause; NULL: itself */
	const char *node; /* NULL: a node of its own */
	const char *process, *ended_by;
	int restart; /* counted from 1; 0: unknown */
	bool lives, signaled, ft, other,
		/* other: a container beside Ray's ended; submitter: KubeRay's submitter ended */
		submitter;
	int exit_code; /* 0 stands for 1 */
	/*
	 * Ray's node ID and the address follow from the pod and the instance; a driver names those
	 * of an end.
	 */
	const char *worker, *names_node, *names_worker, *names_ip;
	int pid, names_pid;
};

struct tale {
	const char *what;
	struct row rows[ROWS_MAX];
};

static struct incident_death death_of(const struct row *row)
{
	static char ids[ROWS_MAX * 4][40];
	static size_t n_ids;
	char *id = ids[n_ids++ % ARRAY_SIZE(ids)];

	snprintf(id, sizeof(ids[0]), "%s/%d", row->pod, row->restart);
	return (struct incident_death){
		.ip = row->pod,
		.ray_node = row->other || row->submitter ? "" : id,
		.worker = row->worker ? row->worker : "",
		.pid = row->pid,
		.names = { row->names_node ? row->names_node : "",
			   row->names_worker ? row->names_worker : "",
			   row->names_ip ? row->names_ip : "", row->names_pid },
		.name = row->name,
		.class = row->class,
		.ended_ns = 1700000000 * NS_PER_SEC + (int64_t)(row->at_s * 1e9),
		.pod = row->pod,
		.uid = row->pod,
		.container = row->submitter ? "ray-job-submitter" :
			     row->other	    ? "beside" :
					      "ray",
		.node = row->node ? row->node : row->pod,
		.process = row->process ? row->process : "",
		.ended_by = row->ended_by ? row->ended_by : "",
		.restart = row->restart - 1,
		.exit_code = row->lives	    ? -1 :
			     row->exit_code ? row->exit_code :
					      1,
		.head = strncmp(row->pod, "head", 4) == 0,
		.ray = !row->other && !row->submitter,
		.lives = row->lives,
		.signaled = row->signaled,
		.outlives_gcs = row->ft,
	};
}

static void comes_out(const struct tale *tale, const struct row *const *rows, size_t n)
{
	struct incident_death deaths[ROWS_MAX] = { 0 };
	struct incident_place places[ROWS_MAX];
	size_t followed = 0, counted = 0;

	for (size_t i = 0; i < n; i++)
		deaths[i] = death_of(rows[i]);
	assert_int_equal(incident_join(deaths, n, places), 0);
	for (size_t i = 0; i < n; i++) {
		const char *first = deaths[places[i].first].name,
			   *expected = rows[i]->first ? rows[i]->first : rows[i]->name;

		if (strcmp(first, expected) != 0)
			fail_msg("%s: %s is explained by %s instead of %s", tale->what,
				 rows[i]->name, first, expected);
		followed += places[i].first != i;
		counted += places[i].consequences;
	}
	assert_int_equal(followed, counted);
}

/*
 * Tests the order in which the rows are written, the reverse order, and orders that begin at each
 * row, so that each end comes last once.
 */
static void is_reported(const struct tale *tale)
{
	const struct row *rows[ROWS_MAX];
	size_t n = 0;

	while (n < ROWS_MAX && tale->rows[n].name)
		n++;
	for (size_t begin = 0; begin < n; begin++) {
		for (size_t i = 0; i < n; i++)
			rows[i] = &tale->rows[(begin + i) % n];
		comes_out(tale, rows, n);
		for (size_t i = 0; i < n; i++)
			rows[i] = &tale->rows[(begin + n - i) % n];
		comes_out(tale, rows, n);
	}
}

#define TELL(tales) \
	for (size_t tale_ = 0; tale_ < ARRAY_SIZE(tales); tale_++) \
	is_reported(&(tales)[tale_])

static void workers_follow_their_head(void **state)
{
	static const struct tale tales[] = {
		{ "the GCS killed, then raylets lose it",
		  { { "gcs", FAILURE_GCS_FAILED, "head", 0, .process = "gcs_server", .signaled = true },
		    { "w1", FAILURE_GCS_LOST, "w1", 20, "gcs" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 21.5, "gcs" },
		    { "w3", FAILURE_RAYLET_FAILED, "w3", 60, "gcs" },
		    { "w4", FAILURE_TERMINATED, "w4", 22, "gcs", .signaled = true } } },
		{ "the head's process, then the head, then the workers: the process is the first",
		  { { "oom", FAILURE_KERNEL_OOM_PROCESS, "head", 0, .process = "gcs_server", .lives = true, .signaled = true },
		    { "head", FAILURE_GCS_FAILED, "head", 2, "oom" },
		    { "w1", FAILURE_GCS_LOST, "w1", 25, "oom" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 60, "oom" } } },
		{ "head OOM under three workers",
		  { { "head", FAILURE_KERNEL_OOM_CONTAINER, "head", 100, .signaled = true, .exit_code = 137 },
		    { "w1", FAILURE_APPLICATION_ERROR, "w1", 119, "head" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 120, "head" },
		    { "w3", FAILURE_GCS_LOST, "w3", 121, "head" } } },
		{ "a GCS that died while the head's container lives",
		  { { "gcs", FAILURE_GCS_FAILED, "head", 0, .lives = true, .signaled = true },
		    { "w1", FAILURE_GCS_LOST, "w1", 61, "gcs" } } },
		{ "workers of a fault-tolerant GCS wait ten minutes for it, and fail by themselves before",
		  { { "gcs", FAILURE_GCS_FAILED, "head", 0 },
		    { "own", FAILURE_APPLICATION_ERROR, "w1", 30, .ft = true },
		    { "w2", FAILURE_GCS_LOST, "w2", 610, "gcs", .ft = true } } },
		{ "the autoscaler's container is not the head's Ray",
		  { { "scaler", FAILURE_APPLICATION_ERROR, "head", 0, .other = true },
		    { "w1", FAILURE_APPLICATION_ERROR, "w1", 20 },
		    { "w2", FAILURE_GCS_LOST, "w2", 20 } } },
		{ "what ends for reasons of its own does not follow",
		  { { "head", FAILURE_KERNEL_OOM_CONTAINER, "head", 0 },
		    { "oom", FAILURE_KERNEL_OOM_CONTAINER, "w1", 20 },
		    { "segv", FAILURE_SEGFAULT, "w2", 20 },
		    { "killed", FAILURE_RAYLET_FAILED, "w3", 20, .process = "raylet", .signaled = true },
		    { "exit", FAILURE_APPLICATION_ERROR, "w4", 20, .exit_code = 3 },
		    { "beside", FAILURE_APPLICATION_ERROR, "w5", 20, .other = true },
		    { "worker", FAILURE_WORKER_CRASH, "w6", 20, .lives = true } } },
		{ "a head that could not start takes nobody along",
		  { { "head", FAILURE_START_FAILURE, "head", 0 }, { "w1", FAILURE_GCS_LOST, "w1", 20 } } },
		{ "each to the head's end before it",
		  { { "h1", FAILURE_GCS_FAILED, "head", 0 },
		    { "w1", FAILURE_GCS_LOST, "w1", 20, "h1" },
		    { "h2", FAILURE_KERNEL_OOM_CONTAINER, "head", 100 },
		    { "w2", FAILURE_GCS_LOST, "w1", 120, "h2" },
		    { "w3", FAILURE_APPLICATION_ERROR, "w2", 160, "h2" } } },
	};

	(void)state;
	TELL(tales);
}

static void time_has_bounds_and_clocks_differ(void **state)
{
	static const struct tale tales[] = {
		{ "late by its class",
		  { { "head", FAILURE_GCS_FAILED, "head", 0 },
		    { "in", FAILURE_APPLICATION_ERROR, "w1", 120, "head" },
		    { "out", FAILURE_APPLICATION_ERROR, "w2", 121 },
		    { "lost", FAILURE_GCS_LOST, "w3", 900, "head" },
		    { "later", FAILURE_GCS_LOST, "w4", 901 } } },
		{ "clocks that differ by seconds, and by too many",
		  { { "head", FAILURE_GCS_FAILED, "head", 100 },
		    { "in", FAILURE_APPLICATION_ERROR, "w1", 95, "head" },
		    { "out", FAILURE_APPLICATION_ERROR, "w2", 94 },
		    { "lost", FAILURE_GCS_LOST, "w3", 90, "head" },
		    { "before", FAILURE_GCS_LOST, "w4", 89 } } },
		{ "the same second",
		  { { "z-head", FAILURE_GCS_FAILED, "head", 0 },
		    { "a-worker", FAILURE_APPLICATION_ERROR, "w1", 0, "z-head" },
		    { "b-worker", FAILURE_GCS_LOST, "w2", 0, "z-head" } } },
		{ "no chain from worker to worker, nor from head to head",
		  { { "h1", FAILURE_GCS_FAILED, "head", 0 },
		    { "h2", FAILURE_GCS_FAILED, "head", 10 },
		    { "h3", FAILURE_APPLICATION_ERROR, "head", 20 },
		    { "w1", FAILURE_APPLICATION_ERROR, "w1", 120, "h3" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 200 } } },
		{ "times at the ends of what fits",
		  { { "head", FAILURE_GCS_FAILED, "head", -1.6e9 }, { "w", FAILURE_GCS_LOST, "w1", 7e9 } } },
	};

	(void)state;
	TELL(tales);
}

static void a_process_explains_its_container(void **state)
{
	static const struct tale tales[] = {
		{ "raylet killed by the OOM killer, then the container of the worker",
		  { { "raylet", FAILURE_KERNEL_OOM_PROCESS, "w1", 0.4, .process = "raylet", .lives = true, .restart = 1 },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 1, "raylet", .restart = 1 },
		    { "other", FAILURE_APPLICATION_ERROR, "w2", 2, .restart = 1 } } },
		{ "the kubelet's whole seconds",
		  { { "raylet", FAILURE_RAYLET_FAILED, "w1", 1.9, .lives = true },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 1, "raylet" } } },
		{ "an agent, whose raylet exits with 0: a probe ends the container ten minutes later",
		  { { "agent", FAILURE_RAY_PROCESS_FAILED, "w1", 0, .process = "dashboard_agent", .lives = true, .restart = 1 },
		    { "probe", FAILURE_PROBE_KILLED, "w1", 640, "agent", .restart = 1 } } },
		{ "the probe of a later instance has a reason of its own",
		  { { "agent", FAILURE_RAY_PROCESS_FAILED, "w1", 0, .lives = true, .restart = 1 },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 2, "agent", .restart = 1 },
		    { "probe", FAILURE_PROBE_KILLED, "w1", 640, .restart = 2 } } },
		{ "the OOM killer takes an agent, which takes raylet along; both are reported",
		  { { "oom", FAILURE_KERNEL_OOM_PROCESS, "w1", 0.0, .process = "dashboard_agent", .lives = true, .signaled = true },
		    { "agent", FAILURE_RAY_PROCESS_FAILED, "w1", 0.06, "oom", .process = "dashboard_agent", .lives = true, .signaled = true },
		    { "probe", FAILURE_PROBE_KILLED, "w1", 600, "oom", .restart = 1, .exit_code = 137 } } },
		{ "another process than the one that the OOM killer took",
		  { { "oom", FAILURE_KERNEL_OOM_PROCESS, "w1", 0.0, .process = "log_monitor", .lives = true, .signaled = true },
		    { "raylet", FAILURE_RAYLET_FAILED, "w1", 3, .process = "raylet", .lives = true, .signaled = true } } },
		{ "the same process of another instance of the container",
		  { { "oom", FAILURE_KERNEL_OOM_PROCESS, "w1", 0.0, .process = "raylet", .lives = true, .signaled = true, .restart = 1 },
		    { "raylet", FAILURE_RAYLET_FAILED, "w1", 3, .process = "raylet", .lives = true, .signaled = true, .restart = 2 } } },
		{ "a task's process does not take its container along",
		  { { "task", FAILURE_KERNEL_OOM_PROCESS, "w1", 0, .process = "ray::train", .lives = true },
		    { "nameless", FAILURE_KERNEL_OOM_PROCESS, "w1", 0, .lives = true },
		    { "crash", FAILURE_WORKER_CRASH, "w1", 0, .lives = true },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 1 } } },
		{ "another container of the pod",
		  { { "raylet", FAILURE_RAYLET_FAILED, "w1", 0, .lives = true },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 1, .other = true } } },
		{ "an end that needs no other explanation",
		  { { "raylet", FAILURE_RAYLET_FAILED, "w1", 0, .lives = true },
		    { "oom", FAILURE_KERNEL_OOM_CONTAINER, "w1", 1 },
		    { "late", FAILURE_APPLICATION_ERROR, "w1", 31 } } },
		{ "a worker whose raylet says that the GCS was lost: the head is the first",
		  { { "head", FAILURE_GCS_FAILED, "head", 0 },
		    { "raylet", FAILURE_GCS_LOST, "w1", 60, "head", .lives = true },
		    { "end", FAILURE_APPLICATION_ERROR, "w1", 61, "head" } } },
		{ "a GPU, and what uses it",
		  { { "gpu", FAILURE_GPU_FAILED, "w1", 0, .lives = true },
		    { "cuda", FAILURE_CUDA_ERROR, "w1", 1, "gpu", .lives = true },
		    { "crash", FAILURE_WORKER_CRASH, "w1", 2, "gpu", .lives = true },
		    { "other", FAILURE_CUDA_ERROR, "w2", 1, .lives = true } } },
	};

	(void)state;
	TELL(tales);
}

static void a_node_explains_its_pods(void **state)
{
	static const struct tale tales[] = {
		{ "a node lost with three pods",
		  { { "a", FAILURE_NODE_LOST, "w1", 0, .node = "n1" },
		    { "b", FAILURE_NODE_LOST, "w2", 3, "a", .node = "n1" },
		    { "c", FAILURE_UNKNOWN, "w3", 60, "a", .node = "n1" },
		    { "d", FAILURE_NODE_LOST, "w4", 3, .node = "n2" } } },
		{ "the head's node: the head leads, and workers elsewhere end before anybody notices",
		  { { "w", FAILURE_NODE_LOST, "w1", 340, "h", .node = "n1" },
		    { "h", FAILURE_NODE_LOST, "head", 341, .node = "n1" },
		    { "gone", FAILURE_GCS_LOST, "w2", 60, "h" },
		    { "exit", FAILURE_APPLICATION_ERROR, "w3", 62, "h" },
		    { "own", FAILURE_APPLICATION_ERROR, "w4", -90 } } },
		{ "a node that is shut down",
		  { { "shut", FAILURE_NODE_SHUTDOWN, "w1", 0, .node = "n1" },
		    { "evicted", FAILURE_EVICTED, "w2", 1, "shut", .node = "n1" },
		    { "killed", FAILURE_KILLED, "w3", 30, "shut", .node = "n1" },
		    { "elsewhere", FAILURE_EVICTED, "w4", 1, .node = "n2" } } },
		{ "an eviction is no reason for another, and a lost node none for a kill that was seen",
		  { { "a", FAILURE_EVICTED, "w1", 0, .node = "n1" },
		    { "b", FAILURE_EVICTED, "w2", 1, .node = "n1" },
		    { "killed", FAILURE_KILLED, "w3", 100, .node = "n3" },
		    { "lost", FAILURE_NODE_LOST, "w4", 200, .node = "n3" } } },
		{ "the node's own memory",
		  { { "a", FAILURE_KERNEL_OOM_NODE, "w1", 0, .node = "n1" },
		    { "b", FAILURE_KERNEL_OOM_NODE, "w2", 2, "a", .node = "n1" },
		    { "c", FAILURE_KERNEL_OOM_NODE, "w3", 2, .node = "n2" },
		    { "d", FAILURE_KERNEL_OOM_NODE, "w4", 61, .node = "n1" } } },
		{ "a group reaches from its first, not from member to member",
		  { { "a", FAILURE_NODE_LOST, "w1", 0, .node = "n1" },
		    { "b", FAILURE_NODE_LOST, "w2", 500, "a", .node = "n1" },
		    { "c", FAILURE_NODE_LOST, "w3", 1000, .node = "n1" },
		    { "d", FAILURE_NODE_LOST, "w4", 1500, "c", .node = "n1" } } },
	};

	(void)state;
	TELL(tales);
}

static void a_submitter_in_a_pod_of_its_own_follows_what_it_asks_for(void **state)
{
	static const struct tale tales[] = {
		{ "each try of it follows the driver",
		  { { "driver", FAILURE_RAY_JOB_FAILED, "head", 0, .process = "driver", .lives = true },
		    { "try1", FAILURE_APPLICATION_ERROR, "train-aaaaa", 3, "driver", .submitter = true },
		    { "try2", FAILURE_APPLICATION_ERROR, "train-bbbbb", 40, "driver", .submitter = true },
		    { "late", FAILURE_APPLICATION_ERROR, "train-ccccc", 301, .submitter = true } } },
		{ "the head takes it along, whether or not it is in the head's pod",
		  { { "head", FAILURE_KERNEL_OOM_CONTAINER, "head", 0 },
		    { "beside", FAILURE_APPLICATION_ERROR, "head", 2, "head", .submitter = true },
		    { "apart", FAILURE_APPLICATION_ERROR, "train-aaaaa", 5, "head", .submitter = true } } },
		{ "it ran out of memory by itself, and so did its next try, but not because of another Job's",
		  { { "driver", FAILURE_RAY_JOB_FAILED, "head", 0, .process = "driver", .lives = true },
		    { "try1", FAILURE_KERNEL_OOM_CONTAINER, "train-aaaaa", 3, .submitter = true },
		    { "try2", FAILURE_KERNEL_OOM_CONTAINER, "train-bbbbb", 15, "try1", .submitter = true },
		    { "tune", FAILURE_KERNEL_OOM_CONTAINER, "tune-aaaaa", 16, .submitter = true },
		    { "train-2", FAILURE_KERNEL_OOM_CONTAINER, "train-2-aaaaa", 16, .submitter = true } } },
		{ "a container of that name in a worker's pod follows no worker",
		  { { "w1", FAILURE_SEGFAULT, "w1", 0 }, { "s", FAILURE_APPLICATION_ERROR, "w1", 3, .submitter = true } } },
	};

	(void)state;
	TELL(tales);
}

static void a_container_beside_ray_that_runs_out_of_memory_again_and_again_is_one_incident(void **state)
{
	static const struct tale tales[] = {
		{ "an init container, and Ray's own container later",
		  { { "i0", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0, .restart = 1, .other = true },
		    { "i1", FAILURE_KERNEL_OOM_CONTAINER, "w1", 20, "i0", .restart = 2, .other = true },
		    { "i2", FAILURE_KERNEL_OOM_CONTAINER, "w1", 320, "i0", .restart = 3, .other = true },
		    { "code", FAILURE_APPLICATION_ERROR, "w1", 400, .restart = 4, .other = true },
		    { "ray", FAILURE_KERNEL_OOM_CONTAINER, "w1", 500, .restart = 1 },
		    { "w2", FAILURE_KERNEL_OOM_CONTAINER, "w2", 20, .restart = 1, .other = true } } },
	};

	(void)state;
	TELL(tales);
}

static void a_deletion_explains_what_it_deletes(void **state)
{
	static const struct tale tales[] = {
		{ "a head that somebody deleted",
		  { { "head", FAILURE_POD_DELETED, "head", 0, .ended_by = "Client//" },
		    { "w1", FAILURE_GCS_LOST, "w1", 60, "head" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 20, "head" } } },
		{ "a cluster that is deleted: workers may end before the head",
		  { { "w1", FAILURE_POD_DELETED, "w1", 0, "head" },
		    { "head", FAILURE_POD_DELETED, "head", 30 },
		    { "w2", FAILURE_POD_DELETED, "w2", 31, "head" } } },
		{ "one who deletes, and another",
		  { { "w1", FAILURE_POD_DELETED, "w1", 0, .ended_by = "RayAutoscaler/RayCluster/demo/it scaled the group down" },
		    { "w2", FAILURE_POD_DELETED, "w2", 5, "w1", .ended_by = "RayAutoscaler/RayCluster/demo/it scaled the group down" },
		    { "head", FAILURE_POD_DELETED, "head", 6, .ended_by = "Client/RayCluster/demo/it deleted the RayCluster" } } },
		{ "the autoscaler deletes while the head is gone: that is its own decision",
		  { { "head", FAILURE_KERNEL_OOM_CONTAINER, "head", 0 },
		    { "w1", FAILURE_POD_DELETED, "w1", 5, .ended_by = "RayAutoscaler/RayCluster/demo/it scaled the group down" },
		    { "w2", FAILURE_POD_DELETED, "w2", 5, "head" } } },
		{ "a client of the API that nobody knows may be two",
		  { { "w1", FAILURE_POD_DELETED, "w1", 0, .ended_by = "Client//" },
		    { "w2", FAILURE_POD_DELETED, "w2", 5, .ended_by = "Client//" } } },
		{ "a drain of two pods",
		  { { "w1", FAILURE_EVICTED, "w1", 0, .ended_by = "Drain/Node/n1/by hand" },
		    { "w2", FAILURE_POD_DELETED, "w2", 5, "w1", .ended_by = "Drain/Node/n1/by hand" },
		    { "w3", FAILURE_EVICTED, "w3", 5, .ended_by = "Drain/Node/n2/by hand" } } },
		{ "the driver's end, and the TTL of its RayJob",
		  { { "driver", FAILURE_RAY_JOB_FAILED, "head", 0, .process = "driver", .lives = true },
		    { "w1", FAILURE_POD_DELETED, "w1", 600, "driver", .ended_by = "KubeRay/RayJob/train/its TTL is over" },
		    { "head", FAILURE_POD_DELETED, "head", 601, "driver", .ended_by = "KubeRay/RayJob/train/its TTL is over" } } },
	};

	(void)state;
	TELL(tales);
}

#define NAMES_W1 .process = "driver", .lives = true, .names_node = "w1/1", .names_ip = "w1"

static void a_driver_follows_the_death_that_its_exception_names(void **state)
{
	static const struct tale tales[] = {
		{ "a worker out of memory, the driver, its submitter, and the deletion of both pods",
		  { { "oom", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0, .restart = 1, .signaled = true },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 0.7, "oom", NAMES_W1 },
		    { "submitter", FAILURE_APPLICATION_ERROR, "head", 3, "oom", .submitter = true },
		    { "w1", FAILURE_POD_DELETED, "w1", 20, "oom", .restart = 2, .ended_by = "KubeRay/RayJob/train/its TTL is over" },
		    { "head", FAILURE_POD_DELETED, "head", 21, "oom", .ended_by = "KubeRay/RayJob/train/its TTL is over" } } },
		{ "the instance of the container that it names, and not the next one",
		  { { "first", FAILURE_SEGFAULT, "w1", 0, .restart = 1 },
		    { "second", FAILURE_SEGFAULT, "w1", 50, .restart = 2 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 60, "first", NAMES_W1 } } },
		{ "another node, an older end, an end after it",
		  { { "w2", FAILURE_KERNEL_OOM_CONTAINER, "w2", 0, .restart = 1 },
		    { "old", FAILURE_KERNEL_OOM_CONTAINER, "w1", -700, .restart = 1 },
		    { "late", FAILURE_KERNEL_OOM_CONTAINER, "w1", 10, .restart = 1 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, NAMES_W1 } } },
		{ "a worker by its ID",
		  { { "other", FAILURE_WORKER_CRASH, "w1", 0, .restart = 1, .lives = true, .worker = "bb", .pid = 8 },
		    { "worker", FAILURE_WORKER_CRASH, "w1", 0, .restart = 1, .lives = true, .worker = "aa", .pid = 7 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, "worker", NAMES_W1, .names_worker = "aa" } } },
		{ "a worker by its PID, which another pod has, too",
		  { { "w2", FAILURE_KERNEL_OOM_PROCESS, "w2", 0, .restart = 1, .lives = true, .pid = 7 },
		    { "w1", FAILURE_KERNEL_OOM_PROCESS, "w1", 0, .restart = 1, .lives = true, .pid = 7 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, "w1", .process = "driver", .lives = true, .names_ip = "w1",
		      .names_pid = 7 } } },
		{ "a worker by its PID, whose pod was scaled down right after it",
		  { { "worker", FAILURE_KERNEL_OOM_PROCESS, "w1", 0, .restart = 1, .lives = true, .pid = 7 },
		    { "w1", FAILURE_POD_DELETED, "w1", 5, .restart = 1, .ended_by = "ray-autoscaler//" },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 6, "worker", .process = "driver", .lives = true, .names_ip = "w1",
		      .names_pid = 7 } } },
		{ "no ID and no PID in common",
		  { { "w1", FAILURE_KERNEL_OOM_PROCESS, "w1", 0, .restart = 1, .lives = true, .pid = 7 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, NAMES_W1, .names_pid = 8 } } },
		{ "an address, whose container ended long before",
		  { { "w1", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0, .restart = 1 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 100, .process = "driver", .lives = true, .names_ip = "w1" } } },
		{ "an exception that names nothing",
		  { { "w1", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0, .restart = 1 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, .process = "driver", .lives = true } } },
		{ "what goes with the job is never the cause of its end",
		  { { "w1", FAILURE_POD_DELETED, "w1", 0, "driver", .restart = 1, .ended_by = "KubeRay/RayJob/train/its TTL is over" },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 1, NAMES_W1 } } },
		{ "no circle: the head is deleted with the job, and the worker that the driver names lost its GCS",
		  { { "w1", FAILURE_RAYLET_FAILED, "w1", 3, "head", .restart = 1 },
		    { "driver", FAILURE_RAY_JOB_FAILED, "head", 0, "head", NAMES_W1 },
		    { "head", FAILURE_POD_DELETED, "head", 1, .ended_by = "KubeRay/RayJob/train/its TTL is over" } } },
	};

	(void)state;
	TELL(tales);
}

static void no_worker_explains_another_but_nccl_says_that_a_peer_was_gone(void **state)
{
	static const struct tale tales[] = {
		{ "crashes side by side",
		  { { "w1", FAILURE_SEGFAULT, "w1", 0, .node = "n1" },
		    { "w2", FAILURE_APPLICATION_ERROR, "w2", 1, .node = "n1" },
		    { "w3", FAILURE_RAYLET_FAILED, "w3", 2, .node = "n1" },
		    { "w4", FAILURE_TERMINATED, "w4", 2, .node = "n1" },
		    { "w5", FAILURE_GCS_LOST, "w5", 2, .node = "n1" } } },
		{ "a worker never explains the head",
		  { { "w1", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0 }, { "head", FAILURE_APPLICATION_ERROR, "head", 1 } } },
		{ "a peer that ran out of memory, and one that failed because of it",
		  { { "oom", FAILURE_KERNEL_OOM_CONTAINER, "w1", 0 },
		    { "fails", FAILURE_APPLICATION_ERROR, "w2", 1.5 },
		    { "nccl", FAILURE_NCCL_ERROR, "w3", 2, "oom", .lives = true },
		    { "end", FAILURE_NCCL_ERROR, "w4", 3, "oom" },
		    { "late", FAILURE_NCCL_ERROR, "w5", 70 } } },
		{ "its own pod is no peer, nor is another that misses one",
		  { { "crash", FAILURE_WORKER_CRASH, "w1", 0, .lives = true },
		    { "nccl", FAILURE_NCCL_ERROR, "w1", 1, .lives = true },
		    { "other", FAILURE_NCCL_ERROR, "w1", 1, .lives = true } } },
	};

	(void)state;
	TELL(tales);
}

/* --- Random ends ----------------------------------------------------------------------------- */

static uint32_t next(uint32_t *seed)
{
	*seed = *seed * 1664525 + 1013904223;
	return *seed >> 8;
}

static const char *const pods[PODS_MAX] = { "head", "head-2", "w1", "w2", "w3", "w4", "", "w6" };
static const char *const nodes[] = { "n1", "n2", "" };
static const char *const processes[] = { "", "raylet", "gcs_server", "driver", "ray::f", "\xff" };
static const char *const senders[] = { "", "KubeRay/RayJob/train/its TTL is over", "Client//" };

static const char *const workers[] = { "", "aa", "bb" };

static struct incident_death any_death(uint32_t *seed, const char *name, uint32_t seconds)
{
	const char *pod = pods[next(seed) % PODS_MAX];

	return (struct incident_death){
		.name = name,
		.class = (enum failure_class)(next(seed) % FAILURE_CLASS_COUNT),
		.ended_ns = (int64_t)(next(seed) % seconds) * NS_PER_SEC,
		.pod = pod,
		.uid = pod,
		.container = (const char *[]){ "ray", "ray", "beside",
					       "ray-job-submitter" }[next(seed) % 4],
		.node = nodes[next(seed) % ARRAY_SIZE(nodes)],
		.process = processes[next(seed) % ARRAY_SIZE(processes)],
		.ended_by = senders[next(seed) % ARRAY_SIZE(senders)],
		.restart = (int64_t)(next(seed) % 3) - 1,
		.exit_code = (int64_t)(next(seed) % 3) - 1,
		.ip = pod,
		.ray_node = pod,
		.worker = next(seed) % 2 ? workers[next(seed) % ARRAY_SIZE(workers)] : "",
		.pid = (int64_t)(next(seed) % 3),
		.names = { next(seed) % 2 ? pods[next(seed) % PODS_MAX] : "",
			   workers[next(seed) % ARRAY_SIZE(workers)], pods[next(seed) % PODS_MAX],
			   (int64_t)(next(seed) % 3) },
		.head = strncmp(pod, "head", 4) == 0,
		.ray = next(seed) % 8,
		.lives = next(seed) % 2,
		.signaled = next(seed) % 4 == 0,
		.outlives_gcs = next(seed) % 8 == 0,
	};
}

static void shuffle(struct incident_death *deaths, size_t n, uint32_t *seed)
{
	for (size_t i = n; i > 1; i--) {
		size_t other = next(seed) % i;
		struct incident_death death = deaths[i - 1];

		deaths[i - 1] = deaths[other];
		deaths[other] = death;
	}
}

#define ANY 40

/* Returns the first cause's name for each name. */
static void join_by_name(const struct incident_death *deaths, size_t n,
			 const char *firsts[static ANY], size_t counts[static ANY], bool with_names)
{
	struct incident_place places[ANY];

	assert_int_equal(incident_join(deaths, n, places), 0);
	for (size_t i = 0; i < n; i++) {
		size_t number = strtoul(deaths[i].name, NULL, 10);

		firsts[number] = deaths[places[i].first].name;
		counts[number] = places[i].consequences;
		/*
		 * A first cause has no cause itself, and its rank is not higher than that of its
		 * consequences, unless a driver is between them.
		 */
		assert_int_equal(places[places[i].first].first, places[i].first);
		assert_true(with_names ||
			    incident_rank(&deaths[places[i].first]) <= incident_rank(&deaths[i]));
		assert_false(places[i].may_follow && places[i].first != i);
	}
}

static void any_order_gives_the_same_incidents(void **state)
{
	char names[ANY][8];
	uint32_t seed = 1;

	(void)state;
	for (size_t i = 0; i < ANY; i++)
		snprintf(names[i], sizeof(names[i]), "%zu", i);
	for (int round = 0; round < 6000; round++) {
		bool with_names = round % 2;
		struct incident_death deaths[ANY] = { 0 };
		const char *firsts[ANY], *again[ANY];
		size_t n = 1 + next(&seed) % ANY, counts[ANY], counts_again[ANY];

		for (size_t i = 0; i < n; i++)
			deaths[i] = any_death(&seed, names[i], round % 3 ? 300 : 3);
		for (size_t i = 0; i < n && !with_names; i++)
			deaths[i].names = (struct incident_names){ "", "", "", 0 };
		join_by_name(deaths, n, firsts, counts, with_names);
		shuffle(deaths, n, &seed);
		join_by_name(deaths, n, again, counts_again, with_names);
		for (size_t i = 0; i < n; i++) {
			assert_string_equal(firsts[i], again[i]);
			assert_int_equal(counts[i], counts_again[i]);
		}
	}
}

static void nothing_is_no_incident(void **state)
{
	(void)state;
	assert_int_equal(incident_join(NULL, 0, (struct incident_place[1]){ 0 }), 0);
}

/* --- Many ends ------------------------------------------------------------------------------- */

static double join_many(size_t n, uint32_t seconds, bool one_key)
{
	struct incident_death *deaths = calloc(n, sizeof(*deaths));
	struct incident_place *places = calloc(n, sizeof(*places));
	char(*names)[16] = calloc(n, sizeof(*names));
	uint32_t seed = 7;
	int64_t begin;

	assert_true(deaths && places && names);
	for (size_t i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "f-%zu", i);
		deaths[i] = any_death(&seed, names[i], seconds);
		if (one_key)
			deaths[i].head = deaths[i].ray =
				(deaths[i].class =
					 i % 2 ? FAILURE_NCCL_ERROR : FAILURE_GCS_FAILED) > 0;
	}
	begin = now_boottime_ns();
	assert_int_equal(incident_join(deaths, n, places), 0);
	begin = now_boottime_ns() - begin;
	free(deaths);
	free(places);
	free(names);
	return (double)begin / 1e6;
}

static void many_ends_take_little_time(void **state)
{
	static const size_t sizes[] = { 1000, 10000, 20000 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		print_message(
			"%zu ends: %.1f ms over a day, %.1f ms within a second, %.1f ms of one kind within a second\n",
			sizes[i], join_many(sizes[i], 86400, false), join_many(sizes[i], 1, false),
			join_many(sizes[i], 1, true));
}

/* --- Texts ----------------------------------------------------------------------------------- */

static void a_cause_is_described_in_three_words(void **state)
{
	static const struct {
		struct row first, death;
		const char *text;
	} rows[] = {
		{ { "a", FAILURE_GCS_FAILED, "head", 0 }, { "b", FAILURE_GCS_LOST, "w1", 1 }, "GCSFailed of the head" },
		{ { "a", FAILURE_RAYLET_FAILED, "w1", 0 }, { "b", FAILURE_PROBE_KILLED, "w1", 1 }, "RayletFailed of its pod" },
		{ { "a", FAILURE_NODE_LOST, "w1", 0, .node = "n" }, { "b", FAILURE_NODE_LOST, "w2", 1, .node = "n" }, "NodeLost of its node" },
		{ { "a", FAILURE_NODE_LOST, "head", 0, .node = "n" }, { "b", FAILURE_GCS_LOST, "w2", 1 }, "NodeLost of the head" },
		{ { "a", FAILURE_POD_DELETED, "head", 0, .ended_by = "KubeRay/RayJob/train/its TTL is over" },
		  { "b", FAILURE_POD_DELETED, "w2", 1, .ended_by = "KubeRay/RayJob/train/its TTL is over" }, "PodDeleted by KubeRay" },
		{ { "a", FAILURE_SEGFAULT, "w1", 0 }, { "b", FAILURE_NCCL_ERROR, "w2", 1 }, "Segfault of another pod" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct incident_death first = death_of(&rows[i].first),
				      death = death_of(&rows[i].death);
		char text[INCIDENT_TEXT_MAX];

		assert_string_equal(incident_text(&first, &death, "pod", text), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(workers_follow_their_head),
		cmocka_unit_test(time_has_bounds_and_clocks_differ),
		cmocka_unit_test(a_process_explains_its_container),
		cmocka_unit_test(a_node_explains_its_pods),
		cmocka_unit_test(a_submitter_in_a_pod_of_its_own_follows_what_it_asks_for),
		cmocka_unit_test(a_container_beside_ray_that_runs_out_of_memory_again_and_again_is_one_incident),
		cmocka_unit_test(a_deletion_explains_what_it_deletes),
		cmocka_unit_test(a_driver_follows_the_death_that_its_exception_names),
		cmocka_unit_test(no_worker_explains_another_but_nccl_says_that_a_peer_was_gone),
		cmocka_unit_test(any_order_gives_the_same_incidents),
		cmocka_unit_test(nothing_is_no_incident),
		cmocka_unit_test(many_ends_take_little_time),
		cmocka_unit_test(a_cause_is_described_in_three_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
