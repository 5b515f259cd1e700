/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from strings to pointers. Keys are copied, values belong to the
 * caller. Chained, doubling; lookups never allocate.
 */
#pragma once

#include "lib/macros.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strmap_node;
struct strmap {
	struct strmap_node **buckets;
	size_t n_buckets; /* a power of two, 0 while empty */
	size_t n;
};

#define STRMAP_INIT ((struct strmap){ 0 })

/*
 * FNV-1a with a start value that differs in each process: tenants choose the names of Kubernetes
 * objects, and must not be able to put all of them into one bucket.
 */
uint64_t strmap_hash(const char *text);

/* Frees the map and its keys; free_value, if not NULL, is called for each value. */
void strmap_release(struct strmap *m, void (*free_value)(void *value));

/* Returns the value, or NULL. */
void *strmap_get(const struct strmap *m, const char *key);
/*
 * Returns the map's own copy of key, so that a value need not keep another; it lives as long as the
 * value is in the map. Returns NULL if there is no such key.
 */
const char *strmap_key(const struct strmap *m, const char *key);
/*
 * Sets key to value (not NULL); *ret_old is the previous value or NULL. -ENOMEM: nothing changed.
 */
int strmap_put(struct strmap *m, const char *key, void *value, void **ret_old);
/*
 * Returns the value of key. If there is none, it is made: size bytes of zeros, which free() frees.
 * Returns NULL if there is no memory.
 */
void *strmap_get_or_add(struct strmap *m, const char *key, size_t size);
/* Removes key and returns its value, or NULL if the map did not have it. */
void *strmap_remove(struct strmap *m, const char *key);

/*
 * Walks the map in no particular order: start with a zeroed pos; returns false at the
 * end. The map must not change during the walk, except that the entry just returned
 * may be removed. To continue a walk after changes, keep only pos.bucket: the walk
 * then goes on at about the same place of the changed map.
 */
struct strmap_pos {
	size_t bucket;
	struct strmap_node *next;
};
bool strmap_next(const struct strmap *m, struct strmap_pos *pos, const char **ret_key,
		 void **ret_value);

/* The whole walk as a loop. break is allowed; a loop in the loop needs a function of its own. */
#define strmap_each(m, ret_key, ret_value) \
	for (struct strmap_pos strmap_at = { 0 }; strmap_next(m, &strmap_at, ret_key, ret_value);)
