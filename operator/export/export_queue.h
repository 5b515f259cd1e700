/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Log records that wait to be exported, in their order. It is bounded, so that a collector that is away costs little memory, and a
 * namespace never has more room than is left for the others, so that no tenant's failures displace all of theirs. Pure: times,
 * which are boottime, are arguments.
 */
#ifndef AFTERGLOW_OPERATOR_EXPORT_EXPORT_QUEUE_H
#define AFTERGLOW_OPERATOR_EXPORT_EXPORT_QUEUE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "operator/kube/namespace_share.h"

#define EXPORT_QUEUE_MAX 1000 /* records, of some 15 kB in memory, 40 kB with texts at their bounds */
#define EXPORT_BATCH_MAX 100 /* records in a request */

struct export_item {
	struct export_item *next;
	char *key; /* "namespace/name" of the RayFailure */
	char *namespace;
	cJSON *record;
	int64_t ready_ns; /* it is held until then */
	bool completed; /* the caller's */
};

/* All zero at first. */
struct export_queue {
	struct export_item *first, *last;
	struct namespace_share share;
};

void export_queue_release(struct export_queue *queue);

/*
 * Takes record. Returns false if there is no room for that namespace, or no memory; then record is
 * freed.
 */
bool export_queue_add(struct export_queue *queue, const char *namespace, const char *name,
		      cJSON *record, int64_t ready_ns);
/*
 * Returns how many of the first records are ready, at most EXPORT_BATCH_MAX. They stay the first
 * until they are dropped.
 */
size_t export_queue_ready(const struct export_queue *queue, int64_t now_ns);
/* Drops the first n, which must be there. */
void export_queue_drop(struct export_queue *queue, size_t n);

#endif
