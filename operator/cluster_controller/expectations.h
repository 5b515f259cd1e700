/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the pods of one RayCluster of which it is not certain whether they exist, as client-go's
 * controllers keep expectations. Two things make a pod uncertain: its creation got no answer, or
 * the watch of Ray pods lost it although nobody deleted it, because a label was taken away. The
 * operator asks for each by its name before it plans the cluster again, so that it never makes a
 * second pod.
 *
 * A name is random, and so it is also the token of its creation. While the API server does not have
 * the pod, the creation may still be on its way; so the next pod of that group is created under the
 * same name, for as long as the API server works on a request at most.
 */
#pragma once

#include <stdint.h>

#include "lib/strmap.h"
#include "operator/raycluster/plan.h"

/*
 * The most uncertain pods of a cluster. Further ones are forgotten: then a pod is replaced although
 * it may still exist.
 */
#define EXPECTATIONS_MAX 4096

struct expectations {
	struct strmap pods; /* name -> struct expected_pod */
};

void expectations_release(struct expectations *e);

/*
 * Notes that the API server must be asked whether that pod exists. group is the group of a pod that
 * is being created; NULL if the pod existed before.
 */
void expectations_ask(struct expectations *e, const char *name, const char *group);
/*
 * Returns the name of a pod that must be asked for; NULL if there is none. The name is valid until
 * the expectations change.
 */
const char *expectations_next(const struct expectations *e);
/* Notes that the pod is certain: it exists and is known, or its creation was refused. */
void expectations_settle(struct expectations *e, const char *name);
/* Notes that the API server does not have the pod. */
void expectations_absent(struct expectations *e, const char *name, int64_t now_ns);

/*
 * Lists the creations to be repeated under the same name, at most max, and returns their number.
 * Their texts are valid until the expectations change.
 */
size_t expectations_unanswered(struct expectations *e, int64_t now_ns,
			       struct unanswered_create *ret_list, size_t max);
