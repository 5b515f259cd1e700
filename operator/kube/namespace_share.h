/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what is in a bounded queue or copy by namespace, so that no namespace fills it: none ever
 * gets more of it than was left for all others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/strmap.h"

/*
 * A key of the functions below is a namespace, or begins with one and a slash or a space, as
 * "namespace/name" does. The rest does not matter.
 */
struct namespace_share {
	struct strmap counts; /* namespace to size_t; those that have nothing are not in it */
	size_t n; /* of all */
};

/* Returns how many of the key's namespace are counted. */
size_t namespace_share_of(const struct namespace_share *share, const char *key);
/*
 * Counts n more items (or bytes), at least one, of the key's namespace ("": no namespace), unless
 * there were more than max then, or more of this namespace than its share, which is at most
 * max_each. Returns false also if there is no memory.
 */
bool namespace_share_add(struct namespace_share *share, const char *key, size_t n, size_t max,
			 size_t max_each);
/*
 * Counts n more of what is there already: the same, even if the namespace has more than was left
 * for all others.
 */
bool namespace_share_grow(struct namespace_share *share, const char *key, size_t n, size_t max,
			  size_t max_each);
/* Counts n items less. They must have been added. */
void namespace_share_remove(struct namespace_share *share, const char *key, size_t n);
/* Returns the namespace that has the most, until something is removed; "" if nothing is counted. */
const char *namespace_share_most(const struct namespace_share *share);
void namespace_share_release(struct namespace_share *share);

/* A map whose keys are counted in this way. It starts zeroed. */
struct namespace_map {
	struct strmap map;
	struct namespace_share share;
};

/*
 * Sets key to value (not NULL), as strmap_put does; ret_old may be NULL. Returns false if there is
 * no room for a further key, of at most max, or no memory: nothing changed.
 */
bool namespace_map_put(struct namespace_map *m, const char *key, void *value, size_t max,
		       void **ret_old);
/*
 * Returns the value of key. If there is none and there is room, it is made, as strmap_get_or_add
 * does. Returns NULL where namespace_map_put returns false.
 */
void *namespace_map_get_or_add(struct namespace_map *m, const char *key, size_t size, size_t max);
/* Removes the key, which may be the map's own, and returns its value; NULL if there is none. */
void *namespace_map_remove(struct namespace_map *m, const char *key);
void namespace_map_release(struct namespace_map *m, void (*free_value)(void *value));
