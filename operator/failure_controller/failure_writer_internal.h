/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The common part of the failure writer's two files: failure_writer_intake.c decides which
 * RayFailures wait to be written, and failure_writer.c writes them.
 */
#pragma once

#include <event2/event.h>

#include "operator/failure_controller/failure_counts.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/pending_failures.h"
#include "operator/kube/namespace_share.h"
#include "operator/kube/workqueue.h"

struct failure_writer {
	struct failure_writer_options o;
	struct workqueue queue;
	struct pending_failures pending;
	struct failure_counts counts; /* of the RayFailures that were written */
	/*
	 * key -> non-NULL; a RayFailure that was deleted is not written again while its pod shows
	 * the death
	 */
	struct namespace_map written;
	struct event *wake, *walk;
	struct strmap_pos walk_at;
	size_t walk_buckets; /* buckets of the map of pods; 0: the next walk begins anew */
	/* a walk through all pods is under way, so some unrecorded deaths are not known yet */
	bool walks;
	int64_t walks_since_ns;
	bool reported_older_crd; /* on_older_crd was called */
	int64_t refused_by_crd_ns; /* when the CRD was last found too old; 0: never */
};

/* Walks through the next pods; the callback of an event. */
void failure_writer_walk(evutil_socket_t fd, short what, void *writer);

/*
 * Counts a RayFailure that will not be written, and calls on_lost. reason is the label of the
 * metric, why the text for the log and the Event.
 */
void failure_writer_tell_lost(struct failure_writer *writer, const struct ray_failure *failure,
			      const char *reason, const char *why);
