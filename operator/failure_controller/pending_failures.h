/* SPDX-License-Identifier: Apache-2.0 */
/*
 * RayFailures that wait to be written, by "namespace/name". They are bounded so that no tenant
 * takes the room of another: a namespace may have PENDING_NAMESPACE_MAX of them, and never more
 * than there is room left for the others. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_PENDING_FAILURES_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_PENDING_FAILURES_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strmap.h"
#include "operator/failures/ray_failure.h"

/* Some 3 kB each. A thousand pods that die together fit several times. */
#define PENDING_MAX 10000
#define PENDING_NAMESPACE_MAX 2500
/*
 * So long the API server may refuse one, and so long it may fail in any way, before it is given up.
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
	char *key;
	char *pod_uid; /* NULL: it names none */
	char *cluster; /* "namespace/name", NULL: it names none */
	struct ray_failure *failure;
	cJSON *object; /* the failure as it is written, while a write of it runs; else NULL */
	struct pending_namespace *namespace;
	int64_t since_ns; /* boottime: when it came */
	int64_t refused_ns; /* boottime of the first refusal in a row; 0: none */
	int64_t failed_ns; /* the same of any failure */
	/* The caller's, zeroed at first. */
	struct failure_writer *writer;
	bool undecided; /* its class may still change */
	bool seen_undeleted; /* when its pod was first seen dead, nobody had deleted it */
	bool taken; /* in work, or was: it stays as it is */
	bool owner_asked, inquired;
	bool unanswered; /* a write of it got no answer, and may have been carried out */
	bool reduced; /* object, to what an older CRD takes */
};

void pending_failures_release(struct pending_failures *p);

/*
 * Takes failure, which must have a key that is not there yet, and returns 0. -ENOSPC: its namespace
 * has enough, -ENOMEM, or -EINVAL: no name; failure remains the caller's.
 */
int pending_failures_add(struct pending_failures *p, struct ray_failure *failure, int64_t now_ns,
			 struct pending_failure **ret_pending);
struct pending_failure *pending_failures_get(const struct pending_failures *p, const char *key);
/* Frees it. */
void pending_failures_remove(struct pending_failures *p, struct pending_failure *pending);

/* Whether any of that pod has come within that time. */
bool pending_failures_of_pod(const struct pending_failures *p, const char *uid, int64_t now_ns,
			     int64_t within_ns);
/* All count as if they had come now. */
void pending_failures_touch(struct pending_failures *p, int64_t now_ns);

/*
 * Whether one of that namespace was turned away for want of room within that time, and may still
 * wait to be seen again.
 */
bool pending_failures_is_full(const struct pending_failures *p, const char *namespace,
			      int64_t now_ns, int64_t within_ns);

/* Takes failure in place of the one that waits. */
void pending_failure_replace(struct pending_failure *pending, struct ray_failure *failure);
/* Takes object, or NULL, in place of the one that is written. */
void pending_failure_set_object(struct pending_failure *pending, cJSON *object);

/*
 * A write of it failed. status: the API server's answer, 0: none. Returns whether to try again; a
 * refusal (4xx but for 409 and 429) is borne for a shorter time than a server that does not answer.
 */
bool pending_failure_may_retry(struct pending_failure *pending, int status, int64_t now_ns);

#endif
