/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prepares the objects of a kind for the store, whether they come from a list, a watch, or the
 * answer to a write of ours. Fields that the operator does not use are removed. An object that
 * cannot be read (salvage.h) does not prevent reading the others.
 */
#pragma once

#include <stdint.h>

#include "operator/cache/store.h"
#include "operator/kube/resource.h"

/* The caller fills it in. */
struct intake {
	const struct resource *resource;
	bool metadata_only;
	const char *const *fields; /* the only fields to keep (projection.h), borrowed; NULL: all */
	bool keep_remnants; /* of an object that cannot be read, if it has its status */
	/* Called when such an object arrives; key is "namespace/name". NULL is allowed. */
	void (*on_unreadable)(void *arg, const char *key, const char *reason);
	void *arg;
	uint64_t unreadable; /* how often that happened */
};

/*
 * Changes the object to the form that the store keeps. Adds apiVersion and kind, which items of
 * lists do not have.
 */
void intake_prepare(const struct intake *intake, cJSON *object);

/*
 * Puts object into store, which takes it, and calls on_change (may be NULL). Returns 0 or -ENOMEM.
 * An item without a name, which no API server sends, is dropped.
 */
int intake_take(struct intake *intake, struct store *store, cJSON *object,
		store_change_fn on_change, void *arg);
/* Does the same for the answer to a write of ours. */
void intake_learn(struct intake *intake, struct store *store, cJSON *object,
		  store_change_fn on_change, void *arg);
