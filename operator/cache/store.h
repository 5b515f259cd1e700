/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the last known objects of a kind, by namespace/name, with an index. It has two
 * sources: the watch, and the answers to our own writes, which may be ahead of the
 * watch. So an older state never replaces a newer state.
 *
 * A relist fills a new store and swaps it in (store_swap), so that nobody reads half
 * a list. Objects that we wrote after the list was made are carried over.
 *
 * An object is kept as text, which takes a tenth of the memory of its tree. A reader
 * gets a tree, the view, which the store keeps until store_drop_views: for the
 * duration of a callback of the loop, and no longer than the object itself.
 *
 * Whoever may create objects in a namespace decides how many there are and how long.
 * So a store may have a bound, and a namespace a share of it: what does not fit is left
 * out, or shortened where its absence would do harm. An object that is there may change
 * as long as it does not grow much.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/json.h"
#include "lib/strmap.h"
#include "operator/kube/namespace_share.h"

/*
 * Compares two resource versions, decimal numbers of up to 128 bits, as texts. The
 * result is less than, equal to or greater than 0, as for strcmp. NULL counts as "".
 */
int rv_compare(const char *a, const char *b);

/*
 * Returns "namespace/name", or "name" without a namespace, from the object's metadata. The caller
 * frees it; NULL if there is no name, or no memory.
 */
char *object_key(const cJSON *object);

/* Writes the index value of an object to buf. Returns false if the object is not indexed. */
typedef bool (*store_index_fn)(const cJSON *object, char *buf, size_t size);

struct store_entry;
struct store {
	struct strmap entries; /* key -> struct store_entry */
	struct strmap index; /* value -> its entries */
	store_index_fn index_fn; /* NULL: no index */
	/* of all entries, and twice what one namespace may have; 0: there is no bound */
	size_t bytes_max;
	size_t bytes_free; /* of each entry, which do not count */
	/*
	 * Where there is no room for an object (always), or it says that it is too wide (by
	 * returning true), what this leaves of it is kept and does not count; may be NULL.
	 */
	bool (*shorten)(cJSON *object, bool always);
	/* where there is no room for an object, its remnant (salvage.h) may still fit */
	bool keeps_remnants;
	struct namespace_share bytes; /* what the entries take, if there is a bound */
	struct store_entry *views; /* the entries that have one */
	struct store_entry *peeked; /* the entry whose tree is peek; NULL: there is none */
	cJSON *peek;
};

/*
 * There is no bound yet: the members from bytes_max to keeps_remnants may be set as long as the
 * store is empty.
 */
void store_init(struct store *s, store_index_fn index_fn);
void store_release(struct store *s);

/* The salvage_reason of such a remnant. Conditions show it, so it does not change. */
#define STORE_NO_ROOM \
	"its namespace has more of these objects than the operator has room for; delete some or " \
	"make them smaller, then change this one"

enum store_change { STORE_SAME, STORE_ADDED, STORE_UPDATED, STORE_REMOVED };

/*
 * Called for a change. before or after is NULL if the object did not or does not exist. Both are
 * valid during the call only.
 */
typedef void (*store_change_fn)(void *arg, enum store_change change, const cJSON *before,
				const cJSON *after);

/*
 * Puts object, which the store takes, into the store without its managedFields. An
 * object with an older resource version than that in the store, or the same, changes
 * nothing. own: it is the answer to our write. Calls fn (may be NULL) for a change.
 * -ENOMEM; -EINVAL: the object has no name; -E2BIG: there is no room for it, so the store
 * has it shortened, or its remnant, or nothing of it.
 */
int store_put(struct store *s, cJSON *object, bool own, store_change_fn fn, void *arg);

/*
 * Removes the object of that key. last is its final state for fn; if it is NULL, fn gets the state
 * in the store.
 */
void store_remove(struct store *s, const char *key, const cJSON *last, store_change_fn fn,
		  void *arg);

/* Returns whether there is an object of that key, without making a view. */
bool store_has(const struct store *s, const char *key);
/*
 * Returns a view of the object; NULL if it does not exist, or there is no memory. The view is valid
 * until the store changes or views are dropped.
 */
const cJSON *store_get(const struct store *s, const char *key);
/*
 * Does the same for a caller that looks at many objects in a callback, at each only for a moment:
 * the view is valid only until the next store_peek. Views of all RayClusters of a large cluster
 * would take hundreds of megabytes.
 */
const cJSON *store_peek(const struct store *s, const char *key);
/* Frees all views. */
void store_drop_views(struct store *s);

/* Returns the next entry with that index value; start with NULL. */
const struct store_entry *store_index_next(const struct store *s, const char *value,
					   const struct store_entry *at);
/* Returns a view of the entry's object, as store_get returns it. */
const cJSON *store_entry_object(const struct store *s, const struct store_entry *entry);
/* Returns a view of the entry's object, as store_peek returns it. */
const cJSON *store_entry_peek(const struct store *s, const struct store_entry *entry);

/*
 * Replaces s by fresh, which is empty afterwards, and calls fn for each difference.
 * list_rv is the version of the list in fresh. Objects that we wrote after it are
 * kept until the next swap; the watch from list_rv on will show them.
 */
void store_swap(struct store *s, struct store *fresh, const char *list_rv, store_change_fn fn,
		void *arg);
