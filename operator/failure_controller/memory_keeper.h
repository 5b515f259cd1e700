/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes what the sidecars of ended pods say of memory into a ConfigMap of their namespace
 * (kept_memory.h). A pod counts when it is seen to end, so none counts twice; an end that no
 * operator saw is not kept. Pods that end together are one write, two seconds after the first of
 * them. Namespaces take turns, one request at a time.
 */
#pragma once

#include "operator/kube/client.h"
#include "operator/kube/metrics.h"

/* Namespaces that may wait; ends in further ones are not kept. */
#define MEMORY_KEEPER_NAMESPACES_MAX 256

struct memory_keeper;

struct memory_keeper_options {
	struct event_base *base;
	struct client *client;
	struct metrics *metrics;
	/* what waits while this is false is dropped: another replica writes it */
	bool (*may_write)(void *arg);
	void *arg;
};

int memory_keeper_new(const struct memory_keeper_options *options,
		      struct memory_keeper **ret_keeper, struct err *err);
/* NULL is allowed, here and below. No request may be answered after it. */
void memory_keeper_free(struct memory_keeper *keeper);

/*
 * Call this for each change of the copies of Ray pods; before or after is NULL where it does not
 * exist.
 */
void memory_keeper_see(struct memory_keeper *keeper, const cJSON *before, const cJSON *after);
