/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How afterglow-ship is called, what its answer means, and when it is called
 * again. Pure.
 */
#ifndef AFTERGLOW_SIDECAR_SPOOL_SHIP_PLAN_H
#define AFTERGLOW_SIDECAR_SPOOL_SHIP_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/ship/fault.h"

#define SHIP_ARGS_MAX 32
#define SHIP_LINE_MAX 4096 /* longer ones say nothing */
#define SHIP_ERROR_MAX 256

/* Where to and how. NULL: not given. */
struct store_options {
	const char *url; /* file:///DIR, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, webhdfss:// */
	const char *credentials; /* directory of files */
	const char *ca; /* file */
	const char *s3_endpoint, *s3_region;
	bool s3_path_style;
	const char *s3_role_arn, *s3_sts_endpoint; /* web identity */
	const char *webhdfs_user;
	const char *cores_prefix; /* path below the store where cores go; for S3 and HDFS */
};

/* -EINVAL with what is right when that is no store, or an option is of another kind of store. */
int store_options_check(const struct store_options *o, struct err *err);

/* The directory of a file:// URL, NULL: it is another kind. */
const char *store_directory(const char *url);

/*
 * argv for program. as: the path below the store; bundle: from the root; deadline: seconds as text. They and o are to
 * outlive ret_argv, which ends with NULL.
 */
void ship_args(const struct store_options *o, const char *program, const char *as, const char *deadline, const char *bundle,
	       const char *ret_argv[static SHIP_ARGS_MAX]);

/*
 * Of our environment what afterglow-ship and its libraries ask for: proxies, certificates, how names are looked up.
 * Credentials come as files. The pointers are into environ; the array is this function's own.
 */
char *const *ship_environment(void);

/* Why a run failed: as afterglow-ship says, or as we see. */
enum ship_kind {
#define X(id, name, retry, after) SHIP_##id,
	FAULT_KINDS(X)
#undef X
	SHIP_HUNG, /* it said nothing for too long, and was ended by us */
	SHIP_PROGRAM, /* afterglow-ship could not be run, or died */
	SHIP_OTHER, /* a kind that we do not know */
	SHIP_KIND_COUNT
};
const char *ship_kind_name(enum ship_kind k);

struct ship_result {
	bool said; /* there was a last line */
	bool shipped;
	bool retry; /* it may work by itself later on */
	int64_t retry_after_ns; /* 0: not told */
	enum ship_kind kind;
	char error[SHIP_ERROR_MAX];
};

/* One line of its stdout; a progress line, or none at all, leaves the result as it is. */
void ship_line(const char *line, size_t len, struct ship_result *result);

/* Why it ended: by itself, or by us. */
enum ship_end { SHIP_END_OWN, SHIP_END_HUNG, SHIP_END_GRACE };

/* After the child's end: status as of waitpid. What it said holds only together with its exit code. */
void ship_ended(int status, enum ship_end end, struct ship_result *result);

#define SHIP_PATIENCE_NS ((int64_t)120 * 1000000000) /* without a word from the child */
#define SHIP_BACKOFF_MAX_NS ((int64_t)300 * 1000000000)
#define SHIP_BACKOFF_STOPPING_NS ((int64_t)2 * 1000000000)

/*
 * How long to wait after the nth failure in a row (from 1), before the next run: doubles from 1 s, a quarter more or less
 * by random (0 to 1), so that the pods of a cluster do not come at once. What the store asks for holds up to ten minutes;
 * a pod that is going away asks again soon.
 */
int64_t ship_backoff(unsigned int failures, const struct ship_result *last, bool stopping, double random);

#endif
