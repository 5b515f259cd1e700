/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live copy of a kind of objects. The informer carries out the reflector's
 * decisions with the client, keeps the objects in a store, and calls a handler
 * for each change.
 */
#pragma once

#include "operator/cache/reflector.h"
#include "operator/cache/store.h"
#include "operator/kube/client.h"

struct informer;

struct informer_options {
	const struct resource *resource;
	const char *namespace; /* NULL: all */
	const char *label_selector; /* NULL: everything */
	bool metadata_only; /* the server sends, and the store keeps, only metadata */
	/*
	 * the only fields that the store keeps (projection.h); NULL: all. Must outlive the informer
	 */
	const char *const *fields;
	size_t bytes_max, bytes_free; /* the bound of the store (store.h); 0: there is none */
	bool (*shorten)(cJSON *object, bool always); /* as in the store */
	bool prefers_pages; /* there are many objects: see reflector.h */
	store_index_fn index_fn;
	/*
	 * An object that cannot be read (salvage.h), or for which the store has no room, is left
	 * out of the store, as if it did not exist. If keep_remnants is true, the store has its
	 * remnant, provided that the remnant has a status; readers of the store must then ask
	 * salvage_reason.
	 */
	bool keep_remnants;
	/* Called when such an object arrives; key is "namespace/name". NULL is allowed. */
	void (*on_unreadable)(void *arg, struct informer *informer, const char *key,
			      const char *reason);
	/*
	 * Called for each change of the copy. Must not use this informer except to read the store.
	 */
	store_change_fn on_change;
	/* Called when informer_synced or informer_trouble may have changed. NULL is allowed. */
	void (*on_state)(void *arg, struct informer *informer);
	void *arg;
};

/* Copies the strings of options; the client must outlive it. */
int informer_new(struct event_base *base, struct client *client,
		 const struct informer_options *options, struct informer **ret_informer,
		 struct err *err);
void informer_free(struct informer *informer);

/*
 * Starts the informer, or asks for a fresh list; until the list is there, the informer is not
 * synced.
 */
void informer_resync(struct informer *informer);

/*
 * Call this when the server answers other requests again: ends a wait for it. Must not be called
 * from a callback of this informer.
 */
void informer_poke(struct informer *informer);

/* Returns whether the store has a whole list, and no fresher list was asked for. */
bool informer_synced(const struct informer *informer);
/*
 * Views of its objects (store.h) are valid until the present callback of the loop returns, or until
 * informer_drop_views.
 */
const struct store *informer_store(const struct informer *informer);
void informer_drop_views(struct informer *informer);

/*
 * Puts the answer to a write of ours, or to a GET, into the copy, so that we read our own writes.
 * Takes the object. Drops it if it is of another kind, or if the watch has shown that version or
 * may have.
 */
void informer_learn(struct informer *informer, cJSON *object);
/* Removes an object that we deleted from the copy; uid identifies it. */
void informer_learn_gone(struct informer *informer, const char *key, const char *uid);

const struct resource *informer_resource(const struct informer *informer);
/*
 * Return, for logs, metrics and readiness, the state of the reflector, and the text of the last
 * failure ("" after a success).
 */
const struct reflector *informer_reflector(const struct informer *informer);
const char *informer_trouble(const struct informer *informer);
/* Returns the number of ignored watch events of an unknown type, from a newer server. */
uint64_t informer_unknown_events(const struct informer *informer);
/* Returns how often an object arrived that was left out. */
uint64_t informer_unreadable(const struct informer *informer);
