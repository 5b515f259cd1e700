/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the admission webhook does to RayCluster, RayJob and RayService objects:
 * memory safety beside KubeRay. A pure function from the request to the answer.
 *
 * CREATE of a RayCluster sets what the user left out (group_memory.h) and says so
 * in an annotation (memory_record.h). The user's values always win.
 *
 * UPDATE adds nothing to a group that exists: its pods run. A value that was
 * set and that the writer dropped, because it replaced the spec (RayService's
 * reconciler replaces spec, labels and annotations whole; kubectl apply replaces
 * lists), is put back, and so is the annotation. When the group's memory limit
 * changed, its values are computed anew: those fields that had been set, no
 * others. A value that the user sets wins and leaves the annotation. A group
 * that an UPDATE adds is new, nothing runs in it: it is treated as on CREATE.
 *
 * Fields in lists (worker groups, containers) are left to whoever compares them
 * (cluster_origin.h); a warning then says the numbers to put into the manifest.
 * Values set before such a writer took the object over stay while they stand.
 *
 * KubeRay's comparisons see none of this: RayService compares the hash of its
 * own spec with the annotation that it wrote itself, and the hash of Recreate is
 * taken of the live spec, which is the same before and after an UPDATE.
 *
 * RayJob and RayService are not changed, only warned about: their RayCluster comes
 * by here too. Left alone wholly: objects with annotation afterglow.dev/memory:
 * "off" (KubeRay copies it from RayJob and RayService to the cluster), objects
 * being deleted, clusters that KubeRay does not run (spec.managedBy names
 * another controller), groups without a proper name or shape.
 *
 * Objects are a tenant's: nothing in them can crash this, and time is linear
 * in their size.
 */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_CLUSTER_ADMISSION_H
#define AFTERGLOW_OPERATOR_WEBHOOK_CLUSTER_ADMISSION_H

#include <cjson/cJSON.h>

#include "lib/err.h"
#include "operator/policy/policy.h"

#define MEMORY_ANNOTATION "afterglow.dev/memory"

struct cluster_request {
	const cJSON *old;    /* oldObject; NULL on CREATE */
	const cJSON *object; /* its kind says what it is; other kinds are let pass */
	const char *user;    /* userInfo.username; NULL when it is not known */
};

struct cluster_admission {
	cJSON *object;   /* a changed copy; NULL: no change */
	cJSON *warnings; /* strings, see warnings.h. On UPDATE only what the old object did not cause already. */
};

/* Release ret in the end. Errors (-ENOMEM): the object should pass unchanged. */
int cluster_admit(const struct cluster_request *req, const struct policy *policy, enum memory_mode mode,
		  struct cluster_admission *ret, struct err *err);
void cluster_admission_release(struct cluster_admission *admission);

#endif
