/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the known failures of one cluster, and plans which statuses to write and which Events to
 * emit for their incidents. Pure: times are arguments. The plan reads what was already written from
 * the marks in a failure's metadata (failures/story.h). Marks are written after the status, so this
 * replica or the next one finds out what is left to do.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/incident.h"
#include "lib/strmap.h"

/* The most changes in one plan. Make the next plan when they are written. */
#define INCIDENT_CHANGES_MAX 500

struct incident_cluster {
	struct strmap members; /* the failure's name -> struct incident_member */
};

void incident_cluster_release(struct incident_cluster *cluster);

/*
 * Adds or replaces a failure: a RayFailure, or its metadata. now_ns is boottime. A failure without
 * a story (an older operator wrote it) does not become a member. Returns -ENOMEM if the failure
 * could not be added.
 */
int incident_cluster_put(struct incident_cluster *cluster, const cJSON *failure, int64_t now_ns);
void incident_cluster_remove(struct incident_cluster *cluster, const char *name);

/*
 * Returns the ends of head pods; NULL if there is no memory. The caller frees the array; its texts
 * are valid until the cluster changes.
 */
struct incident_death *incident_cluster_heads(const struct incident_cluster *cluster,
					      size_t *ret_n);

/*
 * Writes the incident's id, which is a label's value: the first cause's name, or the beginning of
 * that name and a hash.
 */
#define INCIDENT_ID_MAX 64
const char *incident_id(const char *first, char buf[static INCIDENT_ID_MAX]);

/* What to write into the status and marks of one failure. */
struct incident_change {
	char *name, *uid;
	char id[INCIDENT_ID_MAX]; /* the incident's id; "": the failure belongs to no incident */
	/* the first cause; NULL if the failure is the first cause, or is alone */
	char *first, *pod, *container;
	enum failure_class class; /* the class of the first cause */
	char text[INCIDENT_TEXT_MAX];
	size_t consequences;
};

/* An Event to emit, about a first cause or a failure that is alone. */
struct incident_telling {
	char *name;
	char id[INCIDENT_ID_MAX];
	size_t consequences;
	bool ends_job; /* the driver of a job is among the consequences */
	bool again; /* an earlier Event named fewer consequences */
};

struct incident_plan {
	struct incident_change *changes;
	struct incident_telling *tellings;
	size_t n_changes, n_tellings;
	bool more; /* there are more changes than the plan has room for */
	int64_t next_ns; /* boottime when the next Event is due; 0: no Event is due */
};

/* Plans at boottime now_ns; real_ns is the time of day. Returns 0 or -ENOMEM. */
int incident_plan_make(struct incident_cluster *cluster, int64_t now_ns, int64_t real_ns,
		       struct incident_plan *ret_plan);
void incident_plan_release(struct incident_plan *plan);

/* emitted is false if the Event was left out, because its class had one a short time ago. */
void incident_cluster_emitted(struct incident_cluster *cluster,
			      const struct incident_telling *telling, bool emitted);

/*
 * Records that the server refused the change: it is not planned again before until_ns (boottime),
 * unless the failure changes.
 */
void incident_cluster_refused(struct incident_cluster *cluster,
			      const struct incident_change *change, int64_t until_ns);

/*
 * Make merge patches, which the caller owns; NULL if there is no memory. Apply the one for the
 * subresource status first.
 */
cJSON *incident_status_patch(const char *namespace, const struct incident_change *change);
cJSON *incident_marks_patch(const char *namespace, const struct incident_change *change);
