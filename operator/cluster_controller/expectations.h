/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pods of one RayCluster of which it is not certain whether they exist, as client-go's controllers
 * keep expectations. Two things make a pod uncertain: its creation got no answer, or the watch of
 * Ray pods lost it although nobody deleted it, because a label was taken away. Each is asked for by
 * its name before the cluster is planned again, so that it never gets a second pod beside it.
 *
 * A name is random, and so it is also the token of its creation. While the API server does not have
 * the pod, the creation may still be on its way; so the next pod of that group is created under the
 * same name, for as long as the API server works on a request at most.
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_EXPECTATIONS_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_EXPECTATIONS_H

#include <stdint.h>

#include "lib/strmap.h"
#include "operator/raycluster/plan.h"

/*
 * The most pods of a cluster. Further ones are forgotten: then a pod is replaced although it may
 * still exist.
 */
#define EXPECTATIONS_MAX 4096

struct expectations {
	struct strmap pods; /* name -> struct expected_pod */
};

void expectations_release(struct expectations *e);

/*
 * Notes that the API server must be asked whether that pod exists. group: the group of a pod that
 * is being created; NULL: the pod existed before.
 */
void expectations_ask(struct expectations *e, const char *name, const char *group);
/*
 * The name of a pod that must be asked for; NULL: there is none. Valid until the expectations
 * change.
 */
const char *expectations_next(const struct expectations *e);
/* Notes that it is certain: the pod exists and is known, or its creation was refused. */
void expectations_settle(struct expectations *e, const char *name);
/* Notes that the API server does not have the pod. */
void expectations_absent(struct expectations *e, const char *name, int64_t now_ns);

/*
 * Creations to be repeated under the same name: at most max of them. Their texts are valid until
 * the expectations change.
 */
size_t expectations_unanswered(struct expectations *e, int64_t now_ns,
			       struct unanswered_create *ret_list, size_t max);

#endif
