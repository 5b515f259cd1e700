/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans a group in which each replica consists of several hosts (numOfHosts > 1: TPU slices). The
 * hosts of a replica share one computation, so when one is lost, all are deleted and created anew.
 * A replica that is still being created, of which no host ever ran, is completed instead, so that a
 * failed write does not restart it.
 */
#include "operator/raycluster/plan_internal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "operator/raycluster/autoscaler.h"
#include "operator/raycluster/pod_state.h"

#define GROUP_PART_MAX 57 /* with a dash and five characters it has the 63 of a label's value */

struct replica {
	const char *name; /* "" for pods without the label */
	int64_t index;
	size_t first; /* the first of its pods, which replicas.next links; NO_POD: none */
	/* Numbers of pods that are healthy, healthy and running, dead or being deleted. */
	int64_t alive, running, lost;
	bool going; /* it has a pod that was not deleted before this plan */
	bool foreign; /* none of its pods is ours */
};

#define NO_POD SIZE_MAX

struct replicas {
	struct planner *p;
	const char *group;
	int64_t hosts;
	struct replica *list; /* room for one per pod */
	size_t n;
	size_t *next; /* for each pod of the plan: the next pod of its replica */
	struct strmap by_name; /* name -> index in list, plus one */
};

static struct replica *plan_hosts_find(struct replicas *r, const cJSON *pod)
{
	const char *name = pod_label(pod, REPLICA_NAME_LABEL);
	uintptr_t place = (uintptr_t)strmap_get(&r->by_name, name);

	if (place)
		return &r->list[place - 1];
	if (strmap_put(&r->by_name, name, (void *)(uintptr_t)(r->n + 1), NULL) < 0)
		return NULL;
	r->list[r->n] = (struct replica){
		.name = name,
		.index = strtol(pod_label(pod, REPLICA_INDEX_LABEL), NULL, 10),
		.first = NO_POD,
		.foreign = true,
	};
	return &r->list[r->n++];
}

static void count_pod(struct replicas *r, size_t at, struct replica *replica)
{
	const cJSON *pod = r->p->pods[at];

	r->next[at] = replica->first;
	replica->first = at;
	if (r->p->leaving[at] || pod_is_dead(pod)) {
		replica->lost++;
	} else {
		replica->alive++;
		replica->running += pod_is_running(pod);
	}
	replica->going = replica->going || !pod_is_terminating(pod);
	replica->foreign = replica->foreign && !upgrade_is_ours(pod);
}

static void plan_hosts_collect(struct replicas *r)
{
	const struct pod_list *workers = pod_index_workers(&r->p->index, r->group);

	for (size_t i = 0; i < workers->n; i++) {
		struct replica *replica = plan_hosts_find(r, r->p->pods[workers->at[i]]);

		if (replica)
			count_pod(r, workers->at[i], replica);
		else
			r->p->failed = true;
	}
}

/*
 * Returns whether KubeRay made the pods without naming replicas (its gate RayMultiHostIndexing).
 * Such pods are counted, and stay.
 */
static bool is_adopted(const struct replica *replica)
{
	return !*replica->name && replica->foreign;
}

static bool is_broken(const struct replicas *r, const struct replica *replica)
{
	return !*replica->name || replica->lost || replica->alive > r->hosts ||
	       (replica->alive < r->hosts && replica->running);
}

static void delete_replica(struct replicas *r, const struct replica *replica)
{
	for (size_t at = replica->first; at != NO_POD; at = r->next[at])
		planner_delete_or_hold(r->p, at);
}

/* --- Creating ------------------------------------------------------------------------------- */

/* Returns which of the replica's hosts exist. The caller frees it. */
static bool *hosts_of(const struct replicas *r, const struct replica *replica)
{
	bool *there = calloc((size_t)r->hosts, sizeof(*there));

	for (size_t at = replica->first; there && at != NO_POD; at = r->next[at]) {
		long host = strtol(pod_label(r->p->pods[at], HOST_INDEX_LABEL), NULL, 10);

		if (host >= 0 && host < r->hosts)
			there[host] = true;
	}
	return there;
}

static void plan_hosts_complete(struct replicas *r, const struct replica *replica,
				const cJSON *template)
{
	_cleanup_free_ bool *there = hosts_of(r, replica);
	char name[POD_NAME_MAX];

	r->p->failed = r->p->failed || !there;
	for (int64_t host = 0; there && host < r->hosts && planner_may_create(r->p); host++)
		if (!there[host]) {
			planner_next_name(r->p, RAY_WORKER, r->group, name);
			planner_create_pod(
				r->p, template, name,
				&(struct pod_place){ replica->name, replica->index, host });
		}
}

/* Returns which of the first size indexes a replica has. The caller frees it. */
static bool *plan_hosts_indexes(const struct replicas *r, size_t size)
{
	bool *used = calloc(size, sizeof(*used));

	for (size_t i = 0; used && i < r->n; i++)
		if (r->list[i].index >= 0 && r->list[i].index < (int64_t)size)
			used[r->list[i].index] = true;
	return used;
}

/* The replica gets the name of its first host. */
static void create_replica(struct replicas *r, const cJSON *template, int64_t index)
{
	char pod[POD_NAME_MAX], name[POD_NAME_MAX];

	for (int64_t host = 0; host < r->hosts; host++) {
		planner_next_name(r->p, RAY_WORKER, r->group, pod);
		if (host == 0)
			snprintf(name, sizeof(name), "%.*s-%s", GROUP_PART_MAX, r->group,
				 pod + strlen(pod) - 5);
		planner_create_pod(r->p, template, pod, &(struct pod_place){ name, index, host });
	}
}

static void create_replicas(struct replicas *r, const cJSON *template, int64_t n)
{
	/* There are more indexes than replicas, so one is free. */
	size_t size = r->n + (size_t)MAX(n, 0);
	_cleanup_free_ bool *used = n > 0 ? plan_hosts_indexes(r, size) : NULL;

	r->p->failed = r->p->failed || (n > 0 && !used);
	for (size_t index = 0; used && index < size && n > 0 && planner_may_create(r->p); index++) {
		if (used[index])
			continue;
		create_replica(r, template, (int64_t)index);
		n--;
	}
}

/*
 * Orders replicas for deletion if there are too many: those with the fewest running hosts come
 * first, then the latest.
 */
static int plan_hosts_compare_worth(const void *left, const void *right)
{
	const struct replica *a = left, *b = right;

	if (a->running != b->running)
		return a->running < b->running ? -1 : 1;
	return (a->index < b->index) - (a->index > b->index);
}

/* Deletes as many pods as n replicas have, or all. Returns how many replicas those were. */
static int64_t delete_adopted(struct replicas *r, const struct replica *replica, int64_t n)
{
	int64_t pods = MIN(n * r->hosts, replica->alive), left = pods;

	for (size_t at = replica->first; at != NO_POD && left > 0; at = r->next[at], left--)
		planner_delete_or_hold(r->p, at);
	return (pods + r->hosts - 1) / r->hosts;
}

/* Deletes n replicas. Afterwards the list has another order. */
static void plan_hosts_delete_surplus(struct replicas *r, int64_t n)
{
	if (n <= 0)
		return;
	qsort(r->list, r->n, sizeof(*r->list), plan_hosts_compare_worth);
	for (size_t i = 0; i < r->n && n > 0; i++) {
		if (is_adopted(&r->list[i])) {
			n -= delete_adopted(r, &r->list[i], n);
			continue;
		}
		if (is_broken(r, &r->list[i]))
			continue;
		delete_replica(r, &r->list[i]);
		n--;
	}
}

/* Deletes broken replicas and completes replicas that are still being created. */
static void plan_hosts_mend(struct replicas *r, const cJSON *template, int64_t desired,
			    int64_t *ret_whole, int64_t *ret_going)
{
	int64_t whole = 0, going = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (is_adopted(&r->list[i])) {
			whole += (r->list[i].alive + r->hosts - 1) / r->hosts;
			continue;
		}
		if (is_broken(r, &r->list[i])) {
			/* It has to be gone before it is replaced, like a single pod that died. */
			going += r->list[i].going;
			delete_replica(r, &r->list[i]);
			continue;
		}
		whole++;
		if (r->list[i].alive < r->hosts && whole <= desired)
			plan_hosts_complete(r, &r->list[i], template);
	}
	*ret_whole = whole;
	*ret_going = going;
}

void plan_hosts(struct planner *p, const cJSON *group, const cJSON *template, int64_t desired,
		int64_t hosts)
{
	_cleanup_free_ struct replica *list = calloc(p->n_pods + 1, sizeof(*list));
	_cleanup_free_ size_t *next = calloc(p->n_pods + 1, sizeof(*next));
	struct replicas r = { .p = p,
			      .group = group_name(RAY_WORKER, group),
			      .hosts = hosts,
			      .list = list,
			      .next = next };
	int64_t whole, going;

	if (!list || !next) {
		p->failed = true;
		return;
	}
	plan_hosts_collect(&r);
	plan_hosts_mend(&r, template, desired, &whole, &going);
	if (whole < desired)
		create_replicas(&r, template, desired - whole - going);
	else if (!autoscaler_enabled(p->in->cluster))
		plan_hosts_delete_surplus(&r, whole - desired);
	strmap_release(&r.by_name, NULL);
}
