/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place for bundles. Three kinds, each a table of functions in a file of its
 * own: store_directory.c, store_s3.c, store_webhdfs.c. Every operation is one
 * attempt and may be repeated: deliver.c decides whether it is.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_STORE_H
#define AFTERGLOW_SIDECAR_SHIP_STORE_H

#include "sidecar/ship/fault.h"
#include "sidecar/ship/options.h"
#include "sidecar/ship/progress.h"
#include "sidecar/ship/state.h"

/* What is read at once: an answer of HTTP is kept whole (HTTP_ANSWER_MAX). */
#define STORE_CHUNK ((size_t)1 << 20)

/* A file to be sent. */
struct item {
	const char *name; /* below the bundle: for words and notes */
	const char *path; /* below the store: where it goes */
	int fd;
	int64_t size;
	const char *sha256;
};

/* What the store has under a name. */
enum look {
	LOOK_MISSING,
	LOOK_SAME,
	LOOK_DIFFERS,
	LOOK_UNTOLD, /* the store does not say what it has there; our own notes decide */
};

/* What all of them need; outlives the store. */
struct store_context {
	const struct ship_options *options;
	struct state *state;
	struct progress *progress;
	int64_t deadline_ns; /* CLOCK_BOOTTIME, 0: none */
};

struct store;

struct store_ops {
	int (*look)(struct store *s, const struct item *item, enum look *ret_look, struct fault *fault);
	/* On success the whole file is there under its name, and was never there in part. */
	int (*put)(struct store *s, const struct item *item, struct fault *fault);
	/* The item is there whole, and our notes tell of an upload of it: drops what may be left of that. NULL: nothing is. */
	void (*tidy)(struct store *s, const struct item *item);
	/* Appends at most len (up to STORE_CHUNK) bytes of the file at a path below the store from offset on; none at its end, or when
	 * there is no such file. */
	int (*get)(struct store *s, const char *path, int64_t offset, size_t len, struct strbuf *out, struct fault *fault);
	void (*free)(struct store *s);
	/* A file of at most this size is put without a look when nothing speaks for its being there: asking costs as much. */
	int64_t put_blindly_max;
};

/* The first member of each kind's own struct. */
struct store {
	const struct store_ops *ops;
	const struct store_context *context;
};

/* Of the kind that the options name. */
int store_open(const struct store_context *context, struct store **ret_store, struct fault *fault);

int store_directory_open(const struct store_context *context, struct store **ret_store, struct fault *fault);
int store_s3_open(const struct store_context *context, struct store **ret_store, struct fault *fault);
int store_webhdfs_open(const struct store_context *context, struct store **ret_store, struct fault *fault);

#endif
