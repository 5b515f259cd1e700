/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides how the admission webhook changes RayCluster, RayJob and RayService objects:
 * memory safety beside KubeRay. A pure function from the request to the answer.
 *
 * CREATE of a RayCluster sets the fields that the user left out (group_memory.h), as far as
 * the policy's modes ask for it, and lists them in an annotation (memory_record.h). By default
 * these are the head's CPUs and what the policy names; budgets are only warned about, because
 * a task that requests more than its budget would never run. The user's values always win.
 *
 * UPDATE adds nothing to a group that exists, because its pods run. A writer may drop a value that
 * the webhook had set, because it replaces the spec (RayService's reconciler replaces spec, labels
 * and annotations whole; kubectl apply replaces lists). Then the value is put back, and so is the
 * annotation. When the group's memory limit changed, only the fields that had been set are computed
 * anew. A value that the user sets wins and is removed from the annotation. All that does not
 * depend on the modes: they are for new clusters, and what an earlier version or policy set stays.
 * A group that an UPDATE adds is new and runs nothing yet: it is treated as on CREATE.
 *
 * Fields in lists (worker groups, containers) are not set if a tool compares lists
 * (cluster_origin.h); a warning then names the numbers to put into the manifest.
 * Values set before such a tool took the object over stay while they are valid.
 *
 * KubeRay's comparisons see none of this: RayService compares the hash of its
 * own spec with the annotation that it wrote itself, and the hash of Recreate is
 * taken of the live spec, which is the same before and after an UPDATE.
 *
 * RayJob and RayService are not changed, only warned about: their RayCluster gets here too. The
 * annotation afterglow.dev/memory (memory_advice.h) of an object overrides the policy's modes;
 * KubeRay copies it from RayJob and RayService to the cluster. These are left alone wholly: objects
 * with "off" there, objects being deleted, clusters that KubeRay does not run (spec.managedBy names
 * another controller), groups without a proper name or shape.
 *
 * Objects belong to a tenant: no content can crash this code, and its time is linear
 * in their size.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"
#include "operator/policy/policy.h"

struct cluster_request {
	const cJSON *old; /* oldObject; NULL or a JSON null on CREATE */
	const cJSON *object; /* its kind decides; objects of other kinds pass unchanged */
	const char *user; /* userInfo.username; NULL when it is not known */
};

struct cluster_admission {
	cJSON *object; /* a changed copy; NULL: no change */
	/*
	 * strings, see warnings.h. On UPDATE only those that the old object did not cause already.
	 */
	cJSON *warnings;
};

/* Release ret in the end. Errors (-ENOMEM): the object should pass unchanged. */
int cluster_admit(const struct cluster_request *request, const struct policy *policy,
		  struct cluster_admission *ret, struct err *err);
void cluster_admission_release(struct cluster_admission *admission);
