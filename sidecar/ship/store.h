/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store is a place for bundles. There are four kinds, and each is a table of functions in a file
 * of its own: store_directory.c, store_s3.c, store_azure.c, store_webhdfs.c. Every operation makes
 * one attempt and may be repeated; deliver.c decides whether it is.
 */
#pragma once

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"
#include "sidecar/ship/progress.h"
#include "sidecar/ship/state.h"

/*
 * The most bytes that are read at once, because the whole answer to an HTTP request is kept in
 * memory (HTTP_ANSWER_MAX).
 */
#define STORE_CHUNK ((size_t)1 << 20)

/* A file to be sent. */
struct item {
	const char *name; /* its path below the bundle, for messages and for the state file */
	const char *path; /* its path below the store, to which it is sent */
	int fd;
	int64_t size;
	const char *sha256;
};

/* What the store has under a name. */
enum look {
	LOOK_MISSING,
	LOOK_SAME,
	LOOK_DIFFERS,
	LOOK_UNKNOWN, /* the store does not show what it has there; the state file decides */
};

/* Every kind of store uses this. It must outlive the store. */
struct store_context {
	const struct ship_options *options;
	struct state *state;
	struct progress *progress;
	int64_t deadline_ns; /* CLOCK_BOOTTIME, 0: none */
};

struct store;

struct store_ops {
	size_t size; /* of the struct of this kind */
	/* s has only its first member. If it fails, free is called. */
	int (*open)(struct store *s, struct fault *fault);
	int (*look)(struct store *s, const struct item *item, enum look *ret_look,
		    struct fault *fault);
	/* Writes the file. It appears in the store as a whole under its name, never in part. */
	int (*put)(struct store *s, const struct item *item, struct fault *fault);
	/*
	 * Removes what an unfinished upload of the item left in the store. It is called when the
	 * store has the whole item and the state file has an upload of it. NULL if nothing has to
	 * be removed from this kind of store.
	 */
	void (*tidy)(struct store *s, const struct item *item);
	/*
	 * Appends at most len (up to STORE_CHUNK) bytes of the file at a path below the store, from
	 * offset on. Appends nothing at the end of the file, or if there is no such file.
	 */
	int (*get)(struct store *s, const char *path, int64_t offset, size_t len,
		   struct strbuf *out, struct fault *fault);
	void (*free)(struct store *s);
	/*
	 * Bytes. A file of at most this size is put without a look if nothing suggests that the
	 * store has it, because a look costs as much.
	 */
	int64_t put_blindly_max;
};

/* The struct of each kind of store has this as its first member. */
struct store {
	const struct store_ops *ops;
	const struct store_context *context;
};

/* Opens the store that context->options names. The caller frees it with ops->free. */
int store_open(const struct store_context *context, struct store **ret_store, struct fault *fault);

/*
 * Makes the HTTP client of a store with the limits of context->options. ca: a PEM file that is used
 * if --ca names none; may be NULL.
 */
struct http;
int store_http_new(const struct store_context *context, const char *ca, struct http **ret_http,
		   struct fault *fault);

extern const struct store_ops store_directory_ops, store_s3_ops, store_azure_ops, store_webhdfs_ops;
