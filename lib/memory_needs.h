/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Adds up what containers have needed: "needs" as the sidecar writes them
 * (sidecar/ending/memory_needs.h). The sidecar adds its containers, and leaves the sum in its
 * termination message; the operator adds the pods of a cluster; the plugin adds what it prints.
 * Pure. All of it may come from a tenant: what has another form is left out.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"

/* Ahead of needs in a sidecar's termination message. */
#define MEMORY_NEEDS_MARK "#afterglow-memory/1 "
/*
 * Bytes of that message. The kubelet keeps 12 KiB of all containers of a pod together, so six of
 * them have room.
 */
#define MEMORY_NEEDS_MESSAGE_MAX 2000

/* What a sum that is kept has at most; what needs less is added to otherTasks. */
#define MEMORY_NEEDS_NAMES_MAX 24
#define MEMORY_NEEDS_COUNTS_MAX 8 /* pairs of runsByPeak, for each name */
#define MEMORY_NEEDS_KEPT \
	((struct memory_needs_size){ MEMORY_NEEDS_NAMES_MAX, MEMORY_NEEDS_COUNTS_MAX })

/*
 * The ConfigMap in which the operator keeps the sums of a namespace, and the plugin finds them. The
 * name is always the same, so that the operator's rights can name it.
 */
#define KEPT_MEMORY_CONFIGMAP "afterglow-memory"

struct memory_needs_size {
	size_t names, counts;
};

/*
 * Adds needs to sum, an object that may be empty: numbers of runs and containers are added, of
 * peaks the largest stays, of limits the smallest. Names beyond max are added to otherTasks, the
 * ones that need least first. Counts of runs are joined with those that held a little more: a
 * quantile may become larger, and never smaller.
 * Returns false, and changes nothing, if needs is no object with peaks.
 */
bool memory_needs_add(cJSON *sum, const cJSON *needs, struct memory_needs_size max);

/*
 * Appends MEMORY_NEEDS_MARK and as many names of sum, which is shortened, as have room in the
 * message.
 */
void memory_needs_message(cJSON *sum, struct strbuf *out);
