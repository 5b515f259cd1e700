/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the failure writer's questions to other parts: which failures are wanted, and what is
 * known about them; and reports lost failures.
 */
#include <stdio.h>

#include "lib/docs.h"
#include "lib/json.h"
#include "lib/units.h"
#include "operator/kube/event.h"
#include "operator/manager/own_lease.h"
#include "operator/manager/parts.h"

/* An Event about lost failures covers a whole cluster, so it is not repeated more often. */
#define LOST_AGAIN_NS (600 * NS_PER_SEC)

/* A failure that a RayPolicy excludes must not be written, so the policies are read first. */
static bool may_record(void *arg)
{
	const struct parts *p = arg;

	return parts_may_write(arg) && watches_policies_settled(p->watches);
}

static void parts_failures_on_written(void *arg, const char *key)
{
	const struct parts *p = arg;

	p->o.on_cluster(p->o.arg, key);
}

/*
 * Returns whether a deleted pod's failure is wanted. KubeRay deletes clusters all the time: after a
 * job, between two tries, to scale down. Ends of their containers are no failures. For clusters
 * that we manage, a deletion is recorded, because whoever deletes a pod that we would replace had a
 * reason.
 */
static bool parts_failures_is_wanted(void *arg, const struct ray_failure *failure,
				     const char **ret_why)
{
	const struct parts *p = arg;
	const struct manager_options *o = p->o.settings;

	*ret_why = "its pod was deleted, and nothing had failed before (--record-deletions)";
	if (!o->config.manage_clusters && !o->config.record_deletions &&
	    failure->class == FAILURE_POD_DELETED)
		return false;
	*ret_why = "older than what is kept";
	return failure_gc_wants(p->gc, failure);
}

static cJSON *reconsider(void *arg, const cJSON *object)
{
	const struct parts *p = arg;

	return incident_writer_reconsider(p->incidents, object);
}

/* Emits one Event for a whole cluster. */
static void parts_failures_on_lost(void *arg, const struct ray_failure *failure, const char *why)
{
	const struct parts *p = arg;
	const char *namespace = failure->namespace, *name = ray_failure_text(failure->cluster);
	char key[512], once[600], note[1000];

	if (!namespace || !name ||
	    snprintf(key, sizeof(key), "%s/%s", namespace, name) >= (int)sizeof(key))
		return;
	snprintf(once, sizeof(once), "%s FailureNotRecorded", key);
	const cJSON *cluster = parts_find_cluster(arg, key);
	if (!cluster || !event_recorder_is_time(p->recorder, once, LOST_AGAIN_NS))
		return;
	snprintf(note, sizeof(note),
		 "RayFailure %.253s, and perhaps others of this cluster, are not recorded: %.600s",
		 failure->name, why);
	event_recorder_emit(
		p->recorder,
		event_warning(cluster, "FailureNotRecorded", "Record", note, now_realtime_ns()),
		EVENT_COUNTED);
}

static void on_older_crd(void *arg, const char *what)
{
	const struct parts *p = arg;
	_cleanup_json_ cJSON *lease =
		own_lease(p->o.settings->own_namespace, p->o.settings->config.namespace);
	char note[600];

	snprintf(
		note, sizeof(note),
		"The CRD rayfailures.afterglow.dev is older than this operator and does not have %s, so RayFailures are "
		"written without these fields. Upgrade it with helm upgrade, or apply the CRDs of this release (" DOCS_PAGE(
			"install.md#crds") ")",
		what);
	event_recorder_emit(
		p->recorder,
		event_of_object(lease, "Warning", "CRDOutdated", "Record", note, now_realtime_ns()),
		EVENT_COUNTED);
}

int parts_new_failure_writer(struct parts *p, struct err *err)
{
	struct failure_writer_options options = {
		.base = p->o.settings->base,
		.client = p->o.settings->client,
		.known = watches_informer(p->watches, WATCH_FAILURES),
		.pods = watches_informer(p->watches, WATCH_PODS),
		.metrics = p->o.settings->metrics,
		.quote_verdicts = p->o.settings->config.quote_verdicts,
		.owners = p->owners,
		.inquiries = p->inquiries,
		.is_leader = parts_may_write,
		.may_write = may_record,
		.wanted = parts_failures_is_wanted,
		.reconsider = reconsider,
		.on_written = parts_failures_on_written,
		.on_lost = parts_failures_on_lost,
		.on_older_crd = on_older_crd,
		.arg = p,
	};

	return failure_writer_new(&options, &p->writer, err);
}
