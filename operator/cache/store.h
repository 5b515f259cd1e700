/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last known objects of one kind, by namespace/name, with one index. Two
 * sources write to it: the watch, and the answers to our own writes, which may
 * be ahead of the watch. An older state therefore never replaces a newer one.
 *
 * A relist fills a new store and swaps it in (store_swap), so that nobody reads
 * half. Objects that we wrote after the list was made are carried over.
 *
 * An object is kept as its text, a tenth of its tree's size. Who looks at one
 * gets a tree, a view, which the store keeps until store_drop_views: so long as
 * one callback of the loop lasts, and no longer than the object itself.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_STORE_H
#define AFTERGLOW_OPERATOR_CACHE_STORE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/json.h"
#include "lib/strmap.h"

/*
 * Order of two resource versions: decimal numbers of up to 128 bits, compared
 * as text. Less than, equal to, greater than 0 like strcmp. NULL counts as "".
 */
int rv_compare(const char *a, const char *b);

/* "namespace/name", or "name" without a namespace, of an object's metadata. The caller frees; NULL: no name, no memory. */
char *object_key(const cJSON *object);

/* The index value of an object, in buf; false: not indexed. */
typedef bool (*store_index_fn)(const cJSON *object, char *buf, size_t size);

struct store_entry;
struct store {
	struct strmap entries; /* key -> struct store_entry */
	struct strmap index; /* value -> its entries */
	store_index_fn index_fn; /* NULL: no index */
	struct store_entry *views; /* the entries that have one */
	struct store_entry *peeked; /* whose tree the next one is; NULL: there is none */
	cJSON *peek;
};

void store_init(struct store *s, store_index_fn index_fn);
void store_release(struct store *s);

enum store_change { STORE_SAME, STORE_ADDED, STORE_UPDATED, STORE_REMOVED };

/* How a change is told. before or after is NULL when it is not there. Both are valid during the call only. */
typedef void (*store_change_fn)(void *arg, enum store_change change, const cJSON *before, const cJSON *after);

/*
 * Puts object, which the store takes (managedFields are stripped).
 * An older or equal resource version than the one there changes nothing. own: it
 * is the answer to our write. fn (may be NULL) hears of a change. -ENOMEM, -EINVAL (no name).
 */
int store_put(struct store *s, cJSON *object, bool own, store_change_fn fn, void *arg);

/* Takes out the object of that key; last is its final state for fn, NULL: the state we have. */
void store_remove(struct store *s, const char *key, const cJSON *last, store_change_fn fn, void *arg);

/* Whether there is an object of that key; makes no view. */
bool store_has(const struct store *s, const char *key);
/* A view of the object, or NULL: not there, or no memory. Valid until the store changes or views are dropped. */
const cJSON *store_get(const struct store *s, const char *key);
/*
 * The same for who looks at many objects in one callback, and at each but for a moment: valid until the next store_peek, too.
 * Views of all RayClusters of a large cluster are hundreds of megabytes.
 */
const cJSON *store_peek(const struct store *s, const char *key);
/* Frees all views. */
void store_drop_views(struct store *s);

/* Walks the objects of an index value; start with NULL. */
const struct store_entry *store_index_next(const struct store *s, const char *value, const struct store_entry *at);
/* A view of it, as store_get. */
const cJSON *store_entry_object(const struct store *s, const struct store_entry *entry);

/*
 * Replaces s by fresh, which is empty afterwards, and tells fn of each
 * difference. list_rv is the version of the list that fresh holds: what we
 * wrote after it is kept, once; the watch from list_rv will speak of it.
 */
void store_swap(struct store *s, struct store *fresh, const char *list_rv, store_change_fn fn, void *arg);

#endif
