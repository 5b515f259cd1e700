/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the known failures of one cluster, and plans which statuses to write and which Events to emit for their incidents. Pure:
 * times are arguments. The plan reads what was already written from the marks in a failure's metadata (failures/story.h). Marks
 * are written after the status, so this replica or the next one finds out what is left to do.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_INCIDENT_PLAN_H
#define AFTERGLOW_OPERATOR_FAILURES_INCIDENT_PLAN_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/strmap.h"
#include "operator/failures/incident.h"

/* The most changes in one plan. Make the next plan when they are written. */
#define INCIDENT_CHANGES_MAX 500

struct incident_cluster {
	struct strmap members; /* the failure's name -> struct incident_member */
};

void incident_cluster_release(struct incident_cluster *cluster);

/*
 * A RayFailure, or its metadata; now_ns is boottime. One without a story (of an operator before this one) is no member.
 * -ENOMEM: it is not counted.
 */
int incident_cluster_put(struct incident_cluster *cluster, const cJSON *failure, int64_t now_ns);
void incident_cluster_remove(struct incident_cluster *cluster, const char *name);

/* The ends of head pods. The caller frees the array; its texts are valid until the cluster changes. NULL: no memory. */
struct incident_death *incident_cluster_heads(const struct incident_cluster *cluster, size_t *ret_n);

/* What to write into the status and marks of one failure. */
struct incident_change {
	char *name, *uid;
	char id[INCIDENT_ID_MAX]; /* the incident's; "": the failure is alone */
	char *first, *pod, *container; /* the first cause; NULL: the failure is that itself, or alone */
	enum failure_class class; /* of the first cause */
	char text[INCIDENT_TEXT_MAX];
	size_t consequences;
};

/* An Event to emit, about a first cause or a failure that is alone. */
struct incident_telling {
	char *name;
	char id[INCIDENT_ID_MAX];
	size_t consequences;
	bool again; /* an earlier Event named fewer consequences */
};

struct incident_plan {
	struct incident_change *changes;
	struct incident_telling *tellings;
	size_t n_changes, n_tellings;
	bool more;	 /* there are more changes than the plan has room for */
	int64_t next_ns; /* when the next Event is due, boottime; 0: none is */
};

/* now_ns is boottime, real_ns the time of day. -ENOMEM. */
int incident_plan_make(struct incident_cluster *cluster, int64_t now_ns, int64_t real_ns, struct incident_plan *ret_plan);
void incident_plan_release(struct incident_plan *plan);

/* told: the Event was emitted. Otherwise it was left out, because its class had one a short time ago. */
void incident_cluster_told(struct incident_cluster *cluster, const struct incident_telling *telling, bool told);

/* The server does not take the change: until then, or until the failure is another, it is not planned again. until_ns is boottime. */
void incident_cluster_refused(struct incident_cluster *cluster, const struct incident_change *change, int64_t until_ns);

/* Merge patches; the caller owns them. NULL: no memory. The first is for the subresource status, the second comes after it. */
cJSON *incident_status_patch(const char *namespace, const struct incident_change *change);
cJSON *incident_marks_patch(const char *namespace, const struct incident_change *change);

#endif
