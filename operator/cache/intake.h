/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store keeps of the objects of one kind, wherever they come from: a list, a watch, or the
 * answer to a write of ours. What nobody reads is cut off, and what cannot be read (salvage.h)
 * keeps nobody from the rest.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_INTAKE_H
#define AFTERGLOW_OPERATOR_CACHE_INTAKE_H

#include <stdint.h>

#include "operator/cache/store.h"
#include "operator/kube/resource.h"

/* The caller fills it in. */
struct intake {
	const struct resource *resource;
	bool metadata_only;
	const char *const *fields; /* these only (projection.h); NULL: all. Must outlive it */
	bool keep_remnants; /* of an object that cannot be read, if it has its status */
	/* Such an object came: key is "namespace/name". NULL is allowed. */
	void (*on_unreadable)(void *arg, const char *key, const char *reason);
	void *arg;
	uint64_t unreadable; /* how often that was */
};

/* The object as it is kept: it says what it is, for in lists it does not. */
void intake_prepare(const struct intake *intake, cJSON *object);

/*
 * Puts object into store, which takes it; on_change (may be NULL) hears of it. -ENOMEM, or 0: an
 * item without a name is none of an API server's, the others are good.
 */
int intake_take(struct intake *intake, struct store *store, cJSON *object,
		store_change_fn on_change, void *arg);
/* The same for the answer to a write of ours. */
void intake_learn(const struct intake *intake, struct store *store, cJSON *object,
		  store_change_fn on_change, void *arg);

#endif
