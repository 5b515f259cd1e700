/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A live copy of one kind: the reflector's decisions carried out with the
 * client, the objects kept in a store, changes told to one handler.
 */
#ifndef AFTERGLOW_OPERATOR_CACHE_INFORMER_H
#define AFTERGLOW_OPERATOR_CACHE_INFORMER_H

#include "operator/cache/reflector.h"
#include "operator/cache/store.h"
#include "operator/kube/client.h"

struct informer;

struct informer_options {
	const struct resource *resource;
	const char *namespace; /* NULL: all */
	const char *label_selector; /* NULL: everything */
	bool metadata_only; /* the server sends, and the store keeps, only metadata */
	const char *const *fields; /* the store keeps these only (projection.h); NULL: all. Must outlive the informer */
	store_index_fn index_fn;
	/*
	 * An object that cannot be read (salvage.h) is not in the store, as if it did not exist. True: its remnant is, if it has
	 * its status: whoever reads the store asks salvage_reason.
	 */
	bool keep_remnants;
	/* Such an object came: key is "namespace/name". NULL is allowed. */
	void (*on_unreadable)(void *arg, struct informer *informer, const char *key, const char *reason);
	/* A change of the copy. Must not use this informer except to read the store. */
	store_change_fn on_change;
	/* Synced or trouble may have changed. NULL is allowed. */
	void (*on_state)(void *arg, struct informer *informer);
	void *arg;
};

/* Copies the strings of options; the client must outlive it. */
int informer_new(struct event_base *base, struct client *client, const struct informer_options *options,
		 struct informer **ret_informer, struct err *err);
void informer_free(struct informer *informer);

/* Begins; or asks for a fresh list: until it is there the informer is not synced. */
void informer_resync(struct informer *informer);

/* The server answers others again: ends a wait for it to come back. Not from inside a callback of this informer. */
void informer_poke(struct informer *informer);

/* Whether the store holds a whole list, and no fresher one is asked for. */
bool informer_synced(const struct informer *informer);
/* Views of its objects (store.h) last until the loop's callback that asked returns, or informer_drop_views. */
const struct store *informer_store(const struct informer *informer);
void informer_drop_views(struct informer *informer);

/*
 * The answer to a write of ours, or to a GET: read your own writes. Takes the object. Drops one of another kind, and one that the
 * watch has shown already, or may have.
 */
void informer_learn(struct informer *informer, cJSON *object);
/* An object that we deleted is gone; uid says which one. */
void informer_learn_gone(struct informer *informer, const char *key, const char *uid);

const struct resource *informer_resource(const struct informer *informer);
/* For logs, metrics and readiness: the machine's state, and the last failure in words ("" after a success). */
const struct reflector *informer_reflector(const struct informer *informer);
const char *informer_trouble(const struct informer *informer);
/* Events of a type that we do not know, of a newer server, which were passed over. */
uint64_t informer_unknown_events(const struct informer *informer);
/* How often an object came that cannot be read. */
uint64_t informer_unreadable(const struct informer *informer);

#endif
