/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RayFailure as the operator makes it: what is known of one death, in fields. It becomes JSON at
 * the edge, when it is written. Builders (failures.c, process_failure.c, earlier_end.c) fill it,
 * fate.h and failure_owners.h refine it; texts are copies that it owns. Pure.
 *
 * A copy for which there was no memory is a field that is missing; oom_count() tells of it
 * (lib/oom.h).
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_RAY_FAILURE_H
#define AFTERGLOW_OPERATOR_FAILURES_RAY_FAILURE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "operator/failures/ended_by.h"
#include "operator/failures/owner.h"
#include "operator/failures/story.h"

#define RAY_FAILURE_NONE INT64_MIN /* of a number: it is not known */
#define RAY_FAILURE_NOTES_MAX 32 /* of each kind; more are left out */
#define RAY_FAILURE_PROCESSES_MAX 8

/* Bytes, but for the age in milliseconds. */
struct ray_failure_memory {
	int64_t limit, usage, peak, anon, file, shmem, sample_age_ms;
};

/* A process of the container, as the last sample saw it. growth: bytes a second. */
struct ray_failure_process {
	int64_t pid, rss, shared, growth;
	char *name; /* NULL: not known */
};

/* The process that ended first. */
struct ray_failure_first {
	char *name; /* NULL: it is not known which */
	int64_t pid; /* RAY_FAILURE_NONE, as of exit_code */
	char *signal;
	int64_t exit_code;
};

/* Evidence: from where, and which. What is missing: what, and what would provide it. */
struct ray_failure_note {
	char *subject, *text; /* either NULL: not known */
};

struct ray_failure_notes {
	struct ray_failure_note *list;
	size_t n;
};

/*
 * A text that is NULL is not known, and left out; an empty one, too, but for the labels. Thousands
 * may wait to be written, so what most failures lack is allocated where it is there.
 */
struct ray_failure {
	char *namespace, *name;
	char *cluster, *group, *node_type; /* labels of the pod */
	char *pod, *pod_uid, *pod_created_at, *node;
	bool pod_deleted; /* the container ended after its pod was deleted */
	char *container, *container_id;
	int64_t restart; /* which instance, from 0 */
	bool container_lives; /* a process of it died */
	struct story_facts story;
	char *started_at, *ended_at; /* RFC 3339 */
	int64_t exit_code;
	char *kubernetes_reason;
	char *signal; /* "SIGKILL" */
	enum failure_class class;
	enum confidence confidence;
	char *verdict; /* a sentence without its full stop */
	struct ended_by ended_by;
	struct owner *owner; /* NULL: not known */
	char *submission_id; /* of the owner's job */
	struct ray_failure_first first;
	struct ray_failure_memory memory;
	struct ray_failure_process *processes;
	size_t n_processes;
	struct ray_failure_notes evidence, missing;
	char *bundle;
	char *signature; /* the sidecar's; one is made of the other fields where that is not good */
};

/* Nothing is known. */
void ray_failure_init(struct ray_failure *failure);
void ray_failure_release(struct ray_failure *failure);

/* On the heap, where it waits to be written. NULL: no memory, which oom_count() counts. */
struct ray_failure *ray_failure_new(void);
void ray_failure_free(struct ray_failure *failure); /* NULL is allowed */
/* A copy of its own, whole or NULL. */
struct ray_failure *ray_failure_copy(const struct ray_failure *failure);
/* Puts the content of better into failure and frees better. */
void ray_failure_become(struct ray_failure *failure, struct ray_failure *better);

/* "namespace/name", which the caller owns. NULL: it has no name, or there is no memory. */
char *ray_failure_key(const struct ray_failure *failure);

/* Copies text into a field; NULL: it is not known any more. */
void ray_failure_set(char **field, const char *text);
/* A field's text; NULL: it is not known, or empty. */
const char *ray_failure_text(const char *field);
void ray_failure_add_evidence(struct ray_failure *failure, const char *source, const char *text);
void ray_failure_add_missing(struct ray_failure *failure, const char *what, const char *needs);
void ray_failure_drop_missing(struct ray_failure *failure, const char *what);
/* NULL: it has none. */
void ray_failure_set_owner(struct ray_failure *failure, const struct owner *owner);

/*
 * Memory, processes and the process that ended first, of a report as termination_take gives it;
 * NULL: nothing.
 */
void ray_failure_take_memory(struct ray_failure *failure, const cJSON *report);
void ray_failure_take_first(struct ray_failure *failure, const cJSON *report);
/* Its evidence, and what is missing. */
void ray_failure_take_notes(struct ray_failure *failure, const cJSON *report);

/* To be called when all is filled in: what is no good signature is replaced by one of the fields. */
void ray_failure_sign(struct ray_failure *failure);

/*
 * The object as it is written (afterglow.dev/v1alpha1); the caller owns it. class, verdict and
 * ended_at must be there.
 */
cJSON *ray_failure_to_json(const struct ray_failure *failure);

/* Several, each of which belongs to the list. */
struct ray_failures {
	struct ray_failure **list;
	size_t n;
};

/* Takes failure; NULL, and one for which there is no memory, is left out and noted (lib/oom.h). */
void ray_failures_add(struct ray_failures *failures, struct ray_failure *failure);
void ray_failures_release(struct ray_failures *failures);

#endif
