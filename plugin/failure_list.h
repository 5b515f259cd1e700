/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints lists of RayFailures as tables: single failures, by signature, by incident. Pure: time is
 * an argument.
 */
#pragma once

#include <stdbool.h>

#include "lib/strbuf.h"
#include "plugin/failure_items.h"

/*
 * Each function appends rows made from the items of a RayFailureList, and a line that sums them up.
 * now_ns is Unix time. They return how many rows or blocks they printed.
 *
 * failure_list: a row for each failure, the newest last. namespaces: add a column for the
 * namespace. A member "heading" of the list stands above the pods, if they are none (local.h).
 */
size_t failure_list(const cJSON *list, const struct failure_filter *filter, bool namespaces,
		    int64_t now_ns, struct strbuf *out);

/*
 * Appends a row for each signature, the most frequent last: how many failures it has, in how many
 * pods, and when the last one was.
 */
size_t failure_list_signatures(const cJSON *list, const struct failure_filter *filter,
			       int64_t now_ns, struct strbuf *out);

/*
 * Returns the same as {signatures: [{signature, failures, pods, firstAt, lastAt, example}]}, which
 * the caller owns.
 */
cJSON *failure_list_signatures_json(const cJSON *list, const struct failure_filter *filter);

/*
 * Appends a block for each incident: the failure that ended first, then its consequences. If id is
 * not NULL, only that incident is printed; otherwise all incidents with consequences.
 */
size_t failure_list_incidents(const cJSON *list, const struct failure_filter *filter,
			      const char *id, int64_t now_ns, struct strbuf *out);

/*
 * Returns the incidents as {incidents: [{incident, first: RayFailure, followed: [RayFailure]}]},
 * which the caller owns.
 */
cJSON *failure_list_incidents_json(const cJSON *list, const struct failure_filter *filter,
				   const char *id);

/* Returns {items: [failure]}, the newest last. The caller owns it. */
cJSON *failure_list_json(const cJSON *list, const struct failure_filter *filter);

/*
 * Returns the failure of that name, otherwise the newest one of the pod, the owner
 * ("RayJob/train"), the RayCluster, the pod's IP, or Ray's ID of the node or worker that has it, or
 * of a pod whose name begins with it and '-'; otherwise NULL. Of an owner or a cluster it is what
 * ended first in the newest incident. Kinds may stand before a name: "pod/", "rf/". Owned by list.
 */
const cJSON *failure_find(const cJSON *list, const char *name);
