/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes RayFailures that are older than they are to be kept, or too many in
 * their namespace: the oldest first, by the end that they tell of. Only the
 * replica that acts does. What would have to go at once is not written. Each
 * namespace may have limits of its own.
 */
#ifndef AFTERGLOW_OPERATOR_KEEPER_H
#define AFTERGLOW_OPERATOR_KEEPER_H

#include "operator/failures/retention.h"
#include "operator/kube/client.h"
#include "operator/kube/informer.h"
#include "operator/metrics.h"

struct keeper;

struct keeper_options {
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

int keeper_new(const struct keeper_options *options, struct keeper **ret_keeper, struct err *err);
void keeper_free(struct keeper *keeper); /* NULL is allowed */

/* A change of the copy of RayFailures. */
void keeper_see(struct keeper *keeper, enum store_change change, const cJSON *before, const cJSON *after);

/* Whether a RayFailure that is to be written would stay. keeper_arg is the keeper. */
bool keeper_wants(void *keeper_arg, const cJSON *failure);

#endif
