/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of RayFailures as tables: one by one, by signature, by incident. Pure; time is an argument. */
#ifndef AFTERGLOW_PLUGIN_FAILURE_LIST_H
#define AFTERGLOW_PLUGIN_FAILURE_LIST_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/strbuf.h"

/* How a list is narrowed. NULL, 0: not by this. */
struct failure_filter {
	const char *class;	/* spec.class */
	const char *cluster;	/* spec.cluster */
	const char *owner;	/* spec.ownerText: "RayJob/train" */
	int64_t since_ns;	/* ended then or later, since 1970 */
};

/*
 * Each prints the items of a RayFailureList, the newest last, and a line that sums them up. now_ns is the time since 1970;
 * with namespaces there is a column for the namespace. Returns how many were printed.
 */
size_t failure_list(const cJSON *list, const struct failure_filter *filter, bool namespaces, int64_t now_ns, struct strbuf *out);

/* A row for each signature: how many failures it has, in how many pods, when the last was. The most frequent last. */
size_t failure_list_signatures(const cJSON *list, const struct failure_filter *filter, int64_t now_ns, struct strbuf *out);

/* A block for each incident: what ended first, then what followed from it. id: only that one; NULL: all with consequences. */
size_t failure_list_incidents(const cJSON *list, const struct failure_filter *filter, const char *id, int64_t now_ns,
			      struct strbuf *out);

/* The failure of that name, or else the newest of the pod of that name; NULL: there is none. Owned by list. */
const cJSON *failure_find(const cJSON *list, const char *name);

#endif
