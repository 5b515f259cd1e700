/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which component ended a container, when Kubernetes knows: spec.endedBy of a RayFailure.
 * ended_by.def lists the kinds. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

enum ended_by_kind {
	ENDED_BY_NOBODY, /* Kubernetes names no component */
#define ENDED_BY(id, name, words, takes_node) ENDED_BY_##id,
#include "operator/failures/ended_by.def"
#undef ENDED_BY
	ENDED_BY_KIND_COUNT
};

#define ENDED_BY_NAME_MAX 320 /* with the NUL, "RayJob/name"; the CRD takes as much */
#define ENDED_BY_REASON_MAX 256

struct ended_by {
	enum ended_by_kind kind;
	char name[ENDED_BY_NAME_MAX]; /* which one ("RayCluster/demo", "Node/n1"); "": not known */
	char reason[ENDED_BY_REASON_MAX]; /* why, as the end of a sentence; "": not known */
	int64_t at_ns; /* when it began, since 1970; 0: not known */
};

/* Returns a static name such as "RayAutoscaler"; "" for ENDED_BY_NOBODY. */
const char *ended_by_kind_name(enum ended_by_kind kind);
/*
 * Returns whether this component ends pods because their node is drained, reclaimed or shut down.
 */
bool ended_by_takes_node(enum ended_by_kind kind);

/*
 * Sets kind, reason and name, which becomes of_kind/name, as "Node/n1". of_kind and name may be
 * NULL. The texts may come from a tenant, so they are escaped and cut. at_ns keeps its value.
 */
void ended_by_init(struct ended_by *by, enum ended_by_kind kind, const char *of_kind,
		   const char *name, const char *reason);

/* Writes spec.endedBy, or removes it for ENDED_BY_NOBODY. */
void ended_by_set(const struct ended_by *by, cJSON *spec);

/*
 * Writes "by Ray's autoscaler: it scaled the group down" into buf and returns buf; "" for
 * ENDED_BY_NOBODY.
 */
#define ENDED_BY_TEXT_MAX 400
const char *ended_by_text(const struct ended_by *by, char buf[static ENDED_BY_TEXT_MAX]);
