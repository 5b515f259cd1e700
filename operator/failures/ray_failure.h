/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A RayFailure as the operator makes it: the known facts about one death, in fields. It becomes
 * JSON only when it is written. Builders (failures.c, process_failure.c, earlier_end.c,
 * unseen_end.c) fill it; fate.h and failure_owners.h refine it. It owns copies of its texts. Pure.
 *
 * If there is no memory for a copy, the field stays unknown and oom_count() rises (lib/oom.h).
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/failure_class.h"
#include "operator/failures/ended_by.h"
#include "operator/failures/owner.h"
#include "operator/failures/story.h"

#define RAY_FAILURE_NONE INT64_MIN /* the value of a number that is not known */
#define RAY_FAILURE_NOTES_MAX 32 /* of each kind; more are left out */

/* The process that ended first. */
struct ray_failure_first {
	char *name; /* NULL: not known which process ended first */
	char *worker_id; /* Ray's ID, if the process was a worker */
	int64_t pid; /* RAY_FAILURE_NONE: not known; the same holds for exit_code */
	char *signal;
	int64_t exit_code;
};

/*
 * One piece of evidence (subject: its source), or one missing fact (subject: the fact, text: what
 * would provide it).
 */
struct ray_failure_note {
	char *subject, *text; /* either NULL: not known */
};

struct ray_failure_notes {
	struct ray_failure_note *list;
	size_t n;
};

/*
 * A text that is NULL is not known, and is not written; an empty text is written only as a label.
 * Thousands of RayFailures may wait to be written, so members that most of them lack are allocated
 * only where they exist.
 */
struct ray_failure {
	char *namespace, *name;
	char *cluster, *group, *node_type; /* labels of the pod */
	char *pod, *pod_uid, *pod_created_at, *node;
	char *pod_ip; /* NULL also for a pod that has its node's address */
	char *ray_node_id;
	bool pod_deleted; /* the container ended after its pod was deleted */
	char *container, *container_id;
	int64_t restart; /* which instance, from 0 */
	int64_t more_ends; /* ends of earlier instances for which it also stands (unseen_end.h) */
	bool container_lives; /* a process of the container died, and the container lives on */
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
	/*
	 * Ray's exception that ended a driver and what it names, in JSON as termination_take made
	 * it.
	 */
	char *ray_error;
	char *memory,
		/* figures and processes of the last sample, in JSON as termination_take made it */
		*processes;
	struct ray_failure_notes evidence, missing;
	char *diagnosis, *advice; /* sentences of the sidecar */
	char *bundle;
	/*
	 * These two are about an end that no sidecar saw (unmet_end.h). They are not written.
	 * sidecar_was_away: the node agent may have proof of the end, which the sidecar may still
	 * report. from_node: the failure was made from such proof.
	 */
	bool sidecar_was_away, from_node;
	char *signature; /* the sidecar's; ray_failure_sign replaces it unless it is good */
};

/* Makes failure a RayFailure of which nothing is known. */
void ray_failure_init(struct ray_failure *failure);
void ray_failure_release(struct ray_failure *failure);

/* Allocates a RayFailure on the heap. Returns NULL if there is no memory, and oom_count() rises. */
struct ray_failure *ray_failure_new(void);
void ray_failure_free(struct ray_failure *failure); /* NULL is allowed */
/* Returns a whole copy that owns its texts, or NULL if there is no memory. */
struct ray_failure *ray_failure_copy(const struct ray_failure *failure);
/* Puts the content of better into failure and frees better. */
void ray_failure_become(struct ray_failure *failure, struct ray_failure *better);

/*
 * Returns "namespace/name", which the caller owns; NULL if failure has no name, or there is no
 * memory.
 */
char *ray_failure_key(const struct ray_failure *failure);

/* Replaces a field by a copy of text; NULL makes it unknown. */
void ray_failure_set(char **field, const char *text);
/* Returns a field's text; NULL if it is unknown or empty. */
const char *ray_failure_text(const char *field);
void ray_failure_add_evidence(struct ray_failure *failure, const char *source, const char *text);
void ray_failure_add_missing(struct ray_failure *failure, const char *what, const char *needs);
void ray_failure_drop_missing(struct ray_failure *failure, const char *what);
/* Sets a copy of owner; NULL: the failure has no known owner. */
void ray_failure_set_owner(struct ray_failure *failure, const struct owner *owner);

/*
 * Copy memory figures and processes, and what a final report alone has (the process that ended
 * first, Ray's names, diagnosis and advice), from a report as termination_take makes it. If report
 * is NULL, they do nothing.
 */
void ray_failure_take_memory(struct ray_failure *failure, const cJSON *report);
void ray_failure_take_first(struct ray_failure *failure, const cJSON *report);
/* Adds the report's evidence and missing facts. */
void ray_failure_take_notes(struct ray_failure *failure, const cJSON *report);

/*
 * Call it when all fields are filled in: it replaces a signature that is not good by one made of
 * the fields.
 */
void ray_failure_sign(struct ray_failure *failure);

/*
 * Returns the object as it is written (afterglow.dev/v1alpha1); the caller owns it. class, verdict
 * and ended_at must be set.
 */
cJSON *ray_failure_to_json(const struct ray_failure *failure);

/* A list that owns its RayFailures. */
struct ray_failures {
	struct ray_failure **list;
	size_t n;
};

/*
 * Takes ownership of failure. A failure that is NULL, or for which there is no memory, is left out
 * and counted (lib/oom.h).
 */
void ray_failures_add(struct ray_failures *failures, struct ray_failure *failure);
void ray_failures_release(struct ray_failures *failures);
