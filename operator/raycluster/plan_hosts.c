/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A group whose replicas are several hosts each (numOfHosts > 1: TPU slices).
 * The hosts of a replica share one computation: when one is lost, all are
 * deleted and made anew. A replica that is still being made, of which no host
 * ever ran, is completed instead: a write that failed halfway is no loss.
 */
#include "operator/raycluster/planner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/pod_state.h"

#define REPLICA_NAME "ray.io/worker-group-replica-name"
#define HOST_INDEX "ray.io/replica-host-index"
#define GROUP_PART_MAX 57 /* with a dash and five characters the 63 of a label's value */

struct replica {
	const char *name; /* "" of pods without the label */
	int64_t index;
	int64_t alive, running, lost; /* pods: fine, fine and running, dead or leaving */
	bool going;		      /* a pod of it is there that was not deleted before this plan */
};

struct replicas {
	struct planner *p;
	const char *group;
	int64_t hosts;
	struct replica *list; /* room for one per pod */
	size_t n;
};

static bool is_of(const struct replicas *r, size_t pod, const struct replica *replica)
{
	return planner_in_group(r->p, pod, RAY_WORKER, r->group) &&
	       strcmp(pod_label(r->p->pods[pod], REPLICA_NAME), replica->name) == 0;
}

static struct replica *find(struct replicas *r, const cJSON *pod)
{
	const char *name = pod_label(pod, REPLICA_NAME);

	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->list[i].name, name) == 0)
			return &r->list[i];
	r->list[r->n] = (struct replica){ .name = name, .index = strtol(pod_label(pod, REPLICA_INDEX_LABEL), NULL, 10) };
	return &r->list[r->n++];
}

static void collect(struct replicas *r)
{
	for (size_t i = 0; i < r->p->n_pods; i++) {
		const cJSON *pod = r->p->pods[i];
		struct replica *replica;

		if (!planner_in_group(r->p, i, RAY_WORKER, r->group))
			continue;
		replica = find(r, pod);
		if (r->p->leaving[i] || pod_is_dead(pod)) {
			replica->lost++;
		} else {
			replica->alive++;
			replica->running += pod_is_running(pod);
		}
		replica->going = replica->going || !pod_is_terminating(pod);
	}
}

static bool is_broken(const struct replicas *r, const struct replica *replica)
{
	return !*replica->name || replica->lost || replica->alive > r->hosts ||
	       (replica->alive < r->hosts && replica->running);
}

static void delete_replica(struct replicas *r, const struct replica *replica)
{
	for (size_t i = 0; i < r->p->n_pods; i++)
		if (is_of(r, i, replica))
			planner_delete_or_hold(r->p, i);
}

/* --- Creating ------------------------------------------------------------------------------------------- */

static void create_host(struct replicas *r, const cJSON *template, const char *name, const char *replica, int64_t index, int64_t host)
{
	_cleanup_json_ cJSON *labels = cJSON_CreateObject();
	char number[24];

	json_set_str(labels, REPLICA_NAME, replica);
	snprintf(number, sizeof(number), "%lld", (long long)index);
	json_set_str(labels, REPLICA_INDEX_LABEL, number);
	snprintf(number, sizeof(number), "%lld", (long long)host);
	json_set_str(labels, HOST_INDEX, number);
	planner_create_pod(r->p, template, name, labels);
}

static bool has_host(const struct replicas *r, const struct replica *replica, int64_t host)
{
	for (size_t i = 0; i < r->p->n_pods; i++)
		if (is_of(r, i, replica) && strtol(pod_label(r->p->pods[i], HOST_INDEX), NULL, 10) == host)
			return true;
	return false;
}

static void complete(struct replicas *r, const struct replica *replica, const cJSON *template)
{
	char name[POD_NAME_MAX];

	for (int64_t host = 0; host < r->hosts && planner_may_create(r->p); host++)
		if (!has_host(r, replica, host)) {
			planner_next_name(r->p, RAY_WORKER, r->group, name);
			create_host(r, template, name, replica->name, replica->index, host);
		}
}

static bool index_in_use(const struct replicas *r, int64_t index)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->list[i].index == index)
			return true;
	return false;
}

/* Named after its first host. */
static void create_replicas(struct replicas *r, const cJSON *template, int64_t n)
{
	char pod[POD_NAME_MAX], name[POD_NAME_MAX];

	for (int64_t index = 0; n > 0 && planner_may_create(r->p); index++) {
		if (index_in_use(r, index))
			continue;
		for (int64_t host = 0; host < r->hosts; host++) {
			planner_next_name(r->p, RAY_WORKER, r->group, pod);
			if (host == 0)
				snprintf(name, sizeof(name), "%.*s-%s", GROUP_PART_MAX, r->group, pod + strlen(pod) - 5);
			create_host(r, template, pod, name, index, host);
		}
		n--;
	}
}

/* Who goes first when there are too many: those that run least, then the latest. */
static bool is_worth_less(const struct replica *a, const struct replica *b)
{
	return a->running != b->running ? a->running < b->running : a->index > b->index;
}

static void delete_surplus(struct replicas *r, int64_t n)
{
	for (; n > 0; n--) {
		struct replica *victim = NULL;

		for (size_t i = 0; i < r->n; i++)
			if (!is_broken(r, &r->list[i]) && (!victim || is_worth_less(&r->list[i], victim)))
				victim = &r->list[i];
		if (!victim)
			return;
		delete_replica(r, victim);
		victim->lost = 1; /* not again */
	}
}

void plan_hosts(struct planner *p, const cJSON *group, const cJSON *template, int64_t desired, int64_t hosts)
{
	struct replicas r = { .p = p, .group = group_name(RAY_WORKER, group), .hosts = hosts };
	_cleanup_free_ struct replica *list = calloc(p->n_pods + 1, sizeof(*list));
	int64_t whole = 0, going = 0;

	if (!list) {
		p->failed = true;
		return;
	}
	r.list = list;
	collect(&r);
	for (size_t i = 0; i < r.n; i++) {
		if (is_broken(&r, &r.list[i])) {
			/* Gone before it is replaced, like a single pod that died. */
			going += r.list[i].going;
			delete_replica(&r, &r.list[i]);
			continue;
		}
		whole++;
		if (r.list[i].alive < hosts && whole <= desired)
			complete(&r, &r.list[i], template);
	}
	if (whole < desired)
		create_replicas(&r, template, desired - whole - going);
	else if (!autoscaler_enabled(p->in->cluster))
		delete_surplus(&r, whole - desired);
}
