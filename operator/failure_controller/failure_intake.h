/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the two files of the failure writer share: failure_intake.c decides what waits,
 * failure_writer.c writes it.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_INTAKE_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_INTAKE_H

#include <event2/event.h>

#include "operator/failure_controller/failure_counts.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/pending_failures.h"
#include "operator/kube/workqueue.h"

struct failure_writer {
	struct failure_writer_options o;
	struct workqueue queue;
	struct pending_failures pending;
	struct failure_counts counts; /* of what was written */
	/* key -> non-NULL: deleted ones are not written again while the pod tells of them */
	struct strmap written;
	struct event *wake, *walk;
	struct strmap_pos walk_at;
	size_t walk_buckets; /* of the map that is walked through; 0: the next walk begins anew */
	bool walks; /* through all pods; until it is done, nobody knows which of them still have to be recorded */
	int64_t walks_since_ns;
	bool told_older_crd;
	int64_t refused_by_crd_ns; /* when the CRD was last found too old; 0: never */
};

/* A part of a walk through all pods: an event's callback. */
void failure_intake_walk(evutil_socket_t fd, short what, void *writer);

/* It will not be written: for the metric, and for the log and the Event. */
void failure_intake_tell_lost(struct failure_writer *writer, const struct ray_failure *failure,
			      const char *reason, const char *why);

#endif
