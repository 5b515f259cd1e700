/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the API server who ended a container (failures/fate.h): the pod's events, its node, the events of its RayCluster and of what
 * made that. Several deaths share an answer for some seconds: of a node that is drained, of a cluster that is scaled down. No death
 * waits longer than five seconds; what did not answer by then was not seen.
 */
#ifndef AFTERGLOW_OPERATOR_INQUIRY_H
#define AFTERGLOW_OPERATOR_INQUIRY_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/kube/client.h"

struct inquiries;

struct inquiries_options {
	struct client *client;
	/* The RayCluster of "namespace/name" as it is watched, or NULL; read at once. */
	const cJSON *(*find_cluster)(void *arg, const char *key);
	/* Whether that RayCluster was there lately, and was deleted. */
	bool (*cluster_is_gone)(void *arg, const char *key);
	void *arg;
};

int inquiries_new(const struct inquiries_options *options, struct inquiries **ret_inquiries, struct err *err);
void inquiries_free(struct inquiries *inquiries); /* NULL is allowed; an answer must not come afterwards */

/*
 * Finds out who ended failure, which must last until done, and refines it. wanted: it is recorded as it is; one that is not is
 * asked about only if its node tells that it was more than a deletion. True: done is called once, unless the client is freed
 * before. False: there was nothing to wait for, failure is refined already, and done is not called.
 */
bool inquiries_start(struct inquiries *inquiries, cJSON *failure, bool wanted, void (*done)(void *arg), void *arg);

#endif
