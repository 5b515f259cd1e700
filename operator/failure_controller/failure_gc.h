/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes RayFailures that are older than they are to be kept, or too many in
 * their namespace: the oldest first, by the end that they tell of. Only the
 * replica that acts does. What would have to go at once is not written. Each
 * namespace may have limits of its own.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_GC_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_FAILURE_GC_H

#include "operator/cache/informer.h"
#include "operator/failures/ray_failure.h"
#include "operator/failures/retention.h"
#include "operator/kube/client.h"
#include "operator/manager/metrics.h"

struct failure_gc;

struct failure_gc_options {
	struct event_base *base;
	struct client *client;
	const struct informer *failures;
	struct metrics *metrics;
	/* How a namespace's are kept; NULL of may_decide: always known. While it is not, nothing goes and everything is wanted. */
	retention_fn *retention;
	bool (*may_decide)(void *arg);
	bool (*may_write)(void *arg);
	void *arg;
};

int failure_gc_new(const struct failure_gc_options *options, struct failure_gc **ret_gc, struct err *err);
void failure_gc_free(struct failure_gc *gc); /* NULL is allowed */

/* A change of the copy of RayFailures. */
void failure_gc_see(struct failure_gc *gc, enum store_change change, const cJSON *before, const cJSON *after);

/* Whether a RayFailure that is to be written would stay. */
bool failure_gc_wants(const struct failure_gc *gc, const struct ray_failure *failure);

#endif
