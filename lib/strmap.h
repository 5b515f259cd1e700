/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hash map from strings to pointers. Keys are copied, values belong to the
 * caller. Chained, doubling; lookups never allocate.
 */
#ifndef AFTERGLOW_LIB_STRMAP_H
#define AFTERGLOW_LIB_STRMAP_H

#include "lib/macros.h"

#include <stdbool.h>
#include <stddef.h>

struct strmap_node;
struct strmap {
	struct strmap_node **buckets;
	size_t n_buckets; /* a power of two, 0 while empty */
	size_t n;
};

#define STRMAP_INIT ((struct strmap){ 0 })

/* Frees the map and its keys; free_value, if not NULL, is called for each value. */
void strmap_release(struct strmap *m, void (*free_value)(void *value));

/* The value, or NULL. */
void *strmap_get(const struct strmap *m, const char *key);
/* The map's own copy of key, which is there as long as its value; NULL: it is not there. A value need not keep another copy. */
const char *strmap_key(const struct strmap *m, const char *key);
/* Sets key to value (not NULL) and gives the value that was there. -ENOMEM: nothing changed. */
int strmap_put(struct strmap *m, const char *key, void *value, void **ret_old);
/* Takes key out and returns its value, or NULL when it was not there. */
void *strmap_remove(struct strmap *m, const char *key);

/*
 * Walks the map in no order: start with a zeroed pos, ends with false. The map
 * must not change during the walk, except that the node just given may be removed. To go on another time, keep
 * the bucket alone: what the map has become meanwhile is walked from about there.
 */
struct strmap_pos {
	size_t bucket;
	struct strmap_node *next;
};
bool strmap_next(const struct strmap *m, struct strmap_pos *pos, const char **ret_key, void **ret_value);

#endif
