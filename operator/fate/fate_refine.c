/* SPDX-License-Identifier: Apache-2.0 */
/* Refines a failure by the pod's node, Events, RayCluster and RayJob. */
#include <stdio.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/oom.h"
#include "lib/units.h"
#include "operator/fate/claim.h"
#include "operator/fate/fate.h"
#include "operator/fate/node_mark.h"
#include "operator/fate/probe_kill.h"

/*
 * A node is read soon after the end. If it was read later, a mark on it may be newer than the death
 * and unrelated.
 */
#define NODE_FRESH_NS (600 * NS_PER_SEC)
/* The clocks of a node, of the API server and of the authors of Events differ by less than this. */
#define CLOCKS_NS (10 * NS_PER_SEC)
/* A drain may wait long for a pod; its Event comes when it begins. */
#define CLAIM_BEFORE_NS (120 * NS_PER_SEC)

struct look {
	struct ray_failure *failure;
	const struct fate_facts *facts;
	struct claim_pod pod;
	int64_t ended_ns;
	struct node_mark mark;
	bool has_mark, node_is_gone;
};

/* If the node was made after the end, it is another node of the same name. */
static void look_at_node(struct look *l)
{
	const struct fate_facts *facts = l->facts;
	bool fresh = facts->now_ns - l->ended_ns < NODE_FRESH_NS;
	int64_t created_ns;

	l->node_is_gone = facts->node_state == FATE_ABSENT ||
			  (facts->node_state == FATE_FOUND &&
			   json_time(facts->node, "metadata.creationTimestamp", &created_ns) &&
			   created_ns > l->ended_ns + CLOCKS_NS);
	l->has_mark = facts->node_state == FATE_FOUND && !l->node_is_gone && fresh &&
		      node_mark_find(facts->node, &l->mark) &&
		      l->mark.by.at_ns <= l->ended_ns + CLOCKS_NS;
}

static void look_at(struct ray_failure *f, const struct fate_facts *facts, struct look *l)
{
	*l = (struct look){ .failure = f, .facts = facts, .ended_ns = facts->now_ns };
	if (f->ended_at)
		time_parse(f->ended_at, &l->ended_ns, NULL);
	int64_t began_ns = f->ended_by.at_ns ? f->ended_by.at_ns : l->ended_ns;
	l->pod = (struct claim_pod){
		.namespace = f->namespace,
		.name = ray_failure_text(f->pod),
		.uid = ray_failure_text(f->pod_uid),
		.cluster = ray_failure_text(f->cluster),
		.group = ray_failure_text(f->group),
		.from_ns = began_ns - CLAIM_BEFORE_NS,
		.to_ns = l->ended_ns + CLOCKS_NS,
	};
	look_at_node(l);
}

static void add_evidence(const struct look *l, const char *source, const char *text)
{
	ray_failure_add_evidence(l->failure, source, text);
}

static void add_missing(const struct look *l, const char *what, const char *needs)
{
	ray_failure_add_missing(l->failure, what, needs);
}

/* Writes the sentence that names who ended the container. sure: the pod's status itself says so. */
static void tell(const struct look *l, const char *sentence, const struct ended_by *by, bool sure)
{
	char who[ENDED_BY_TEXT_MAX], text[1024];
	size_t len = strlen(sentence);

	while (len && sentence[len - 1] == '.')
		len--;
	snprintf(text, sizeof(text), "%.*s (%s%s)", (int)MIN(len, (size_t)500), sentence,
		 sure ? "" : "most likely ", ended_by_text(by, who));
	ray_failure_set(&l->failure->verdict, text);
}

/*
 * Sets who ended the container. If the pod's status shows when the deletion began, that time is
 * better than the Event's.
 */
static void set_by(const struct look *l, struct ended_by by, bool sure)
{
	struct ray_failure *f = l->failure;

	if (f->ended_by.at_ns)
		by.at_ns = f->ended_by.at_ns;
	f->ended_by = by;
	/* NULL: there was no memory for a verdict. */
	tell(l, f->verdict ? f->verdict : "", &by, sure);
}

/*
 * Changes the class. The verdict becomes likely, because it rests on marks of a node or on Events.
 */
static void become(const struct look *l, enum failure_class class, const char *how)
{
	struct ray_failure *f = l->failure;
	const char *pod = ray_failure_text(f->pod);
	char text[512];

	snprintf(text, sizeof(text), "Container %.63s of %.253s most likely ended because %s",
		 f->container, pod ? pod : "?", how);
	ray_failure_set(&f->verdict, text);
	f->class = class;
	f->confidence = CONFIDENCE_LIKELY;
}

static void take_mark(const struct look *l)
{
	if (l->failure->class != FAILURE_NODE_SHUTDOWN)
		become(l, FAILURE_NODE_SHUTDOWN, "its node was drained, reclaimed or shut down");
	add_evidence(l, "node", l->mark.evidence);
	set_by(l, l->mark.by, false);
}

static void take_claim(const struct look *l, const struct claim *claim)
{
	if (ended_by_takes_node(claim->by.kind) && l->failure->class != FAILURE_NODE_SHUTDOWN)
		become(l, FAILURE_NODE_SHUTDOWN, "its node was drained, reclaimed or shut down");
	add_evidence(l, claim->source, claim->evidence);
	set_by(l, claim->by, false);
}

static void say_event_unproved(const struct look *l)
{
	add_missing(
		l,
		"proof of who wrote that Event: everybody who may create Events in the namespace can write one",
		"the API server's audit log");
}

/* Uses an Event that names the pod. The sentence says that it is the only trace. */
static void take_event_alone(const struct look *l, const struct claim *claim)
{
	take_claim(l, claim);
	say_event_unproved(l);
}

static void say_node_refused(const struct look *l)
{
	if (l->facts->node_state == FATE_REFUSED)
		add_missing(
			l,
			"the node's taints and conditions, which would show a drain or a reclaimed machine: the operator may not read nodes",
			"the right to get nodes, which only a ClusterRole can give (the chart does unless watchNamespace is set)");
}

/* Returns whether there is a source that could not be read and may name somebody. */
static bool is_unseen(const struct look *l)
{
	return !l->facts->pod_events ||
	       (l->facts->node_state == FATE_UNSEEN && ray_failure_text(l->failure->node));
}

static void say_nobody(const struct look *l)
{
	tell(l, l->failure->verdict, &l->failure->ended_by, true);
	say_node_refused(l);
	add_missing(
		l,
		is_unseen(l) ?
			"which client of the API it was: Events or the node, which may name it, could not be read" :
			"which client of the API it was: no Event, node or RayCluster names it",
		"the API server's audit log");
}

static bool by_cluster(struct look *l)
{
	const cJSON *cluster = l->facts->cluster_state == FATE_FOUND ? l->facts->cluster : NULL;
	struct claim claim;

	if (!l->pod.name || (!claim_by_cluster_events(l->facts->cluster_events, &l->pod,
						      claim_is_autoscaled(cluster), &claim) &&
			     !claim_by_cluster(cluster, &l->pod, &claim)))
		return false;
	take_claim(l, &claim);
	return true;
}

static bool by_end_of_cluster(struct look *l)
{
	const struct owner *of = l->failure->owner;
	const char *owner_kind = of ? owner_kind_name(of->kind) : NULL,
		   *owner = of ? of->name : NULL;
	struct claim claim = { .source = "RayCluster" };

	if (!fate_is_cluster_going(l->facts))
		return false;
	if (!claim_by_job(l->facts->job, &l->pod, &claim) &&
	    !claim_by_owner_events(l->facts->owner_events, &l->pod, owner_kind, owner, &claim)) {
		bool by_owner = l->facts->job_state == FATE_ABSENT;

		ended_by_init(&claim.by, ENDED_BY_CLIENT, by_owner ? owner_kind : "RayCluster",
			      by_owner ? owner : l->pod.cluster,
			      by_owner ? "it deleted the RayJob, and with it the cluster" :
					 "it deleted the RayCluster");
		snprintf(claim.evidence, sizeof(claim.evidence), "the %s is deleted",
			 by_owner ? "RayJob" : "RayCluster");
	}
	take_claim(l, &claim);
	return true;
}

/* Handles a pod that somebody deleted or evicted through the API. */
static void by_client(struct look *l, bool evicted)
{
	struct claim claim;

	if (!evicted && (by_cluster(l) || by_end_of_cluster(l)))
		return;
	if (l->has_mark && l->mark.reclaimed)
		take_mark(l);
	else if (l->node_is_gone &&
		 claim_by_node_events(l->facts->node_events, &l->pod,
				      ray_failure_text(l->failure->node), &claim))
		take_claim(l, &claim);
	else if (claim_by_pod_events(l->facts->pod_events, &l->pod, &claim))
		take_event_alone(l, &claim);
	else if (l->has_mark)
		take_mark(l);
	else
		say_nobody(l);
}

/*
 * Handles a deletion by the taint controller, which deletes the pods of a node that does not answer
 * or has any other taint NoExecute.
 */
static void by_taint(struct look *l)
{
	char text[300];
	bool lost;
	struct claim claim;
	struct ended_by by = l->failure->ended_by;

	if (l->has_mark && l->mark.reclaimed) {
		take_mark(l);
		return;
	}
	if (l->facts->node_state == FATE_FOUND && !l->node_is_gone &&
	    node_mark_no_execute(l->facts->node, text, &lost)) {
		if (!lost)
			become(l, FAILURE_POD_DELETED,
			       "its node was given a taint that the pod does not tolerate");
		add_evidence(l, "node", text);
		ended_by_init(&by, ENDED_BY_TAINT_EVICTION, "Node",
			      ray_failure_text(l->failure->node),
			      lost ? "the node does not answer" : text);
		set_by(l, by, !lost);
		if (!lost)
			return;
	}
	if (claim_by_node_events(l->facts->node_events, &l->pod, ray_failure_text(l->failure->node),
				 &claim))
		take_claim(l, &claim);
	say_node_refused(l);
}

static void by_pod_gc(struct look *l)
{
	struct claim claim;

	if (l->has_mark && l->mark.reclaimed)
		take_mark(l);
	else if (claim_by_node_events(l->facts->node_events, &l->pod,
				      ray_failure_text(l->failure->node), &claim))
		take_claim(l, &claim);
	else if (l->node_is_gone)
		add_evidence(l, "node", "no such node exists any more");
	say_node_refused(l);
}

static bool by_scheduler(struct look *l)
{
	struct claim claim;

	if (!claim_by_pod_events(l->facts->pod_events, &l->pod, &claim) ||
	    claim.by.kind != ENDED_BY_SCHEDULER)
		return false;
	/* The status proves that it was the scheduler. Only the Event says for which pod. */
	add_evidence(l, claim.source, claim.evidence);
	set_by(l, claim.by, false);
	say_event_unproved(l);
	return true;
}

/*
 * Handles a SIGTERM that the pod's status does not explain, on a machine that is about to be
 * removed.
 */
static bool by_machine(struct look *l)
{
	if (!l->has_mark || !l->mark.reclaimed)
		return false;
	take_mark(l);
	add_missing(l, "who sent SIGTERM: the node's mark is the only evidence",
		    "the node's system log");
	return true;
}

static bool refine(struct ray_failure *failure, const struct fate_facts *facts)
{
	struct look l;

	look_at(failure, facts, &l);
	switch (failure->ended_by.kind) {
	case ENDED_BY_CLIENT:
	case ENDED_BY_EVICTION_API:
		by_client(&l, failure->ended_by.kind == ENDED_BY_EVICTION_API);
		return true;
	case ENDED_BY_TAINT_EVICTION:
		by_taint(&l);
		return true;
	case ENDED_BY_POD_GC:
		by_pod_gc(&l);
		return true;
	case ENDED_BY_SCHEDULER:
		return by_scheduler(&l);
	case ENDED_BY_KUBELET:
		if (failure->class != FAILURE_NODE_SHUTDOWN || !l.has_mark)
			return false;
		take_mark(&l);
		return true;
	default:
		break;
	}
	if (probe_kill_possible(failure) && probe_kill_refine(failure, facts->pod_events))
		return true;
	return failure->class == FAILURE_TERMINATED && by_machine(&l);
}

bool fate_refine(struct ray_failure *failure, const struct fate_facts *facts)
{
	size_t lost = oom_count();
	struct ray_failure *changed = ray_failure_copy(failure);
	bool better = changed && refine(changed, facts) && oom_count() == lost;

	if (better)
		ray_failure_become(failure, TAKE_PTR(changed));
	ray_failure_free(changed);
	return better;
}
