/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes RayFailures that are too old. If a namespace has too many, it removes those with the
 * oldest deaths. Only the leader does so. A RayFailure that would be removed at once is not
 * written. Each namespace may have limits of its own.
 */
#pragma once

#include "operator/cache/informer.h"
#include "operator/failures/ray_failure.h"
#include "operator/kube/client.h"
#include "operator/kube/metrics.h"
#include "operator/policy/retention.h"

struct failure_gc;

struct failure_gc_options {
	struct event_base *base;
	struct client *client;
	const struct informer *failures;
	struct metrics *metrics;
	/*
	 * retention returns the limits of a namespace. may_decide returns whether they are known
	 * (NULL: always); while they are not, nothing is removed and every RayFailure is wanted.
	 */
	retention_fn *retention;
	bool (*may_decide)(void *arg);
	bool (*may_write)(void *arg);
	void *arg;
};

int failure_gc_new(const struct failure_gc_options *options, struct failure_gc **ret_gc,
		   struct err *err);
void failure_gc_free(struct failure_gc *gc); /* NULL is allowed */

/* Call this for each change of the informer's copy of the RayFailures. */
void failure_gc_see(struct failure_gc *gc, enum store_change change, const cJSON *before,
		    const cJSON *after);

/* Returns whether a RayFailure that is to be written would stay. */
bool failure_gc_wants(const struct failure_gc *gc, const struct ray_failure *failure);
