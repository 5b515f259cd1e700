/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the RayFailures that wait to be written, by "namespace/name". Their number is bounded so
 * that no tenant takes the room of another: a namespace may have PENDING_NAMESPACE_MAX of them, and
 * never more than there is room left for the others. Pure: time is an argument.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strmap.h"
#include "operator/failures/ray_failure.h"

/* Each takes some 3 kB. There is room for the deaths of several thousand pods at once. */
#define PENDING_MAX 10000
#define PENDING_NAMESPACE_MAX 2500
/*
 * How long the API server may refuse a RayFailure, and how long writes of it may fail for any
 * reason, before it is given up.
 */
#define PENDING_REFUSED_NS ((int64_t)600 * 1000000000)
#define PENDING_FAILED_NS ((int64_t)6 * 3600 * 1000000000)

struct pending_failures {
	struct strmap all; /* key -> struct pending_failure */
	struct strmap namespaces; /* name -> struct pending_namespace */
	struct strmap pods; /* uid -> struct pending_pod */
};

struct failure_writer;

struct pending_failure {
	const char *key; /* the map's */
	struct ray_failure *failure;
	cJSON *object; /* the object that is being written; NULL: no write is under way */
	struct pending_namespace *namespace;
	int64_t since_ns; /* CLOCK_BOOTTIME: when it was added */
	int64_t refused_ns; /* CLOCK_BOOTTIME of the first refusal in a row; 0: none */
	int64_t failed_ns; /* the same for writes that failed for any reason */
	/* The following members belong to the caller; they start zeroed. */
	struct failure_writer *writer;
	bool undecided; /* its class may still change */
	bool heard; /* the pod's sidecar will report nothing more about it */
	bool seen_undeleted; /* the pod was not being deleted when it was first seen dead */
	bool taken; /* the writer has begun with it, so it does not change any more */
	bool owner_asked, inquired; /* failure_owners_ask and inquiries_start were called */
	bool looks_again; /* inquiries_start is called, or was called, a second time */
	bool reduced; /* object has only the members that an older CRD has */
};

void pending_failures_release(struct pending_failures *p);

/*
 * Takes failure, which must have a new key, and returns 0. Otherwise failure stays the caller's:
 * -ENOSPC if its namespace has no room left, -EINVAL if it has no name, -ENOMEM.
 */
int pending_failures_add(struct pending_failures *p, struct ray_failure *failure, int64_t now_ns,
			 struct pending_failure **ret_pending);
struct pending_failure *pending_failures_get(const struct pending_failures *p, const char *key);
/* Removes and frees it. */
void pending_failures_remove(struct pending_failures *p, struct pending_failure *pending);

/* Returns whether a failure of that pod waits and was added within the last within_ns. */
bool pending_failures_of_pod(const struct pending_failures *p, const char *uid, int64_t now_ns,
			     int64_t within_ns);
/* Sets since_ns of all failures to now_ns. */
void pending_failures_touch(struct pending_failures *p, int64_t now_ns);

/*
 * Returns whether a failure of that namespace was refused with -ENOSPC within the last within_ns,
 * so that its pod may have to be looked at again.
 */
bool pending_failures_is_full(const struct pending_failures *p, const char *namespace,
			      int64_t now_ns, int64_t within_ns);

/* Replaces pending->failure, and takes failure. */
void pending_failure_replace(struct pending_failure *pending, struct ray_failure *failure);
/* Replaces pending->object, and takes object, which may be NULL. */
void pending_failure_set_object(struct pending_failure *pending, cJSON *object);

/*
 * Call this when a write failed. status: that of the API server's answer, 0: no answer came.
 * Returns whether to try again. A refusal (4xx except 409 and 429) is repeated for
 * PENDING_REFUSED_NS, any other failure for PENDING_FAILED_NS.
 */
bool pending_failure_may_retry(struct pending_failure *pending, int status, int64_t now_ns);
