/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how afterglow-ship is called, what its result means, and when it is called again. Pure,
 * except that ship_environment reads the environment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/ship/fault.h"

#define SHIP_ARGS_MAX 40 /* with the final NULL */
#define SHIP_LINE_MAX 4096 /* bytes of a line of its stdout; longer lines are ignored */
#define SHIP_ERROR_MAX 512

/* The store, and how it is reached. NULL: the option is not given. */
struct store_options {
	/*
	 * DIRECTORY, file:///DIR, s3://BUCKET/PREFIX, azure://ACCOUNT/CONTAINER/PREFIX,
	 * webhdfs://HOST:PORT/PATH, webhdfss://
	 */
	const char *url;
	const char *credentials; /* a directory with one file for each credential */
	const char *ca; /* a PEM file */
	const char *proxy, *no_proxy; /* afterglow-ship checks them */
	const char *s3_endpoint, *s3_region;
	bool s3_path_style;
	const char *s3_role_arn, *s3_sts_endpoint; /* web identity */
	/* of objects; afterglow-ship checks their values */
	const char *s3_encryption, *s3_kms_key_id;
	bool s3_bucket_key;
	const char *azure_endpoint;
	const char *webhdfs_user;
	const char *cores_prefix; /* path below the store for cores; not for a directory */
};

/*
 * Returns -EINVAL if url names no store, or if an option belongs to another kind of store; err then
 * says what would be right.
 */
int store_options_check(const struct store_options *o, struct err *err);

/* The directory that url names, within url; NULL: it names another kind of store. */
const char *store_directory(const char *url);

/*
 * Makes the arguments of afterglow-ship, with NULL at the end. program: its path; as: the bundle's
 * path below the store; deadline: seconds, as text; bundle: the absolute path of the bundle. All of
 * them, and o, must outlive ret_argv, which points into them.
 */
void ship_args(const struct store_options *o, const char *program, const char *as,
	       const char *deadline, const char *bundle,
	       const char *ret_argv[static SHIP_ARGS_MAX]);

/*
 * The variables of the sidecar's environment that afterglow-ship gets: proxies, certificates, how
 * names are looked up, and where a cloud's credentials are found. Credentials themselves come as
 * files. The array is static, and the next call overwrites it; the pointers are into environ.
 */
char *const *ship_environment(void);

/*
 * Returns how many seconds a run may take for a bundle of that size, so that a store that is slow
 * on purpose does not keep the other bundles waiting: an hour, and a second for each 64 KiB, at
 * most a day. A bundle that needs longer is continued when it has its turn again.
 */
int64_t ship_run_s(int64_t bytes);

/*
 * Why a run failed: afterglow-ship reports the kinds of fault.h, and the sidecar sees the others.
 */
enum ship_kind {
#define X(id, name, retry, after) SHIP_##id,
	FAULT_KINDS(X)
#undef X
		SHIP_HUNG, /* it printed nothing for SHIP_PATIENCE_NS, and the sidecar ended it */
	SHIP_PROGRAM, /* afterglow-ship could not be run, or died */
	SHIP_OTHER, /* it reported a kind that this sidecar does not know */
	SHIP_KIND_COUNT
};
const char *ship_kind_name(enum ship_kind k);

struct ship_result {
	bool has_result; /* it printed its result */
	bool shipped;
	bool retry; /* a later run may succeed without a person's help */
	/* how long to wait before the next run, at most 600 s; 0: not known */
	int64_t retry_after_ns;
	enum ship_kind kind; /* why it failed */
	char error[SHIP_ERROR_MAX];
};

/*
 * Takes a line of its stdout, of len bytes. Sets *result if it is the line with the result; a line
 * of progress, or a line that is not JSON, leaves *result as it is.
 */
void ship_line(const char *line, size_t len, struct ship_result *result);

/*
 * Why it ended: by itself, or the sidecar ended it, because it hung or because the pod's time was
 * up.
 */
enum ship_end { SHIP_END_OWN, SHIP_END_HUNG, SHIP_END_GRACE };

/*
 * Completes *result after the child's end. status is that of waitpid. If the exit code contradicts
 * the result that it printed, the kind becomes SHIP_PROGRAM.
 */
void ship_ended(int status, enum ship_end end, struct ship_result *result);

#define SHIP_PATIENCE_NS ((int64_t)120 * 1000000000) /* the child may print nothing for so long */
#define SHIP_BACKOFF_MAX_NS ((int64_t)300 * 1000000000)
/* the longest wait of a terminating pod */
#define SHIP_BACKOFF_STOPPING_NS ((int64_t)2 * 1000000000)

/*
 * Returns the nanoseconds to wait before the next run. failures counts the failures in a row, from
 * 1. The wait begins at 1 s and doubles with each failure; random, from 0 to 1, makes it up to a
 * quarter longer or shorter, so that the pods of a cluster do not come at the same time. If the
 * last result asks for a wait, that is used instead. stopping: the pod is terminating.
 */
int64_t ship_backoff(unsigned int failures, const struct ship_result *last, bool stopping,
		     double random);
