/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes the answer of a pod's sidecar: makes RayFailures for the writer and Events for the
 * event recorder, and remembers what it needs until the pod's next answer. The poller decides which
 * pods are asked, and when (sidecar_poller.h).
 */
#pragma once

#include "lib/budget.h"
#include "operator/cache/informer.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failures/growing.h"
#include "operator/failures/pod_report.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/metrics.h"

/*
 * The results go here. The caller fills it in, except for emitted, looks and look_at_ns, which
 * start zeroed.
 */
struct answer_sinks {
	const struct informer *failures, *clusters;
	struct event_recorder *recorder;
	struct failure_writer *writer;
	struct metrics *metrics;
	void (*on_growing)(void *arg,
			   /* called when the known facts of its growing memory have changed */
			   const cJSON *pod);
	void *arg;
	/* apart from the event recorder's, because pods choose these keys */
	struct event_filter emitted;
	struct event_filter looks; /* namespaces whose next look for missed ends is not due yet */
	int64_t look_at_ns; /* CLOCK_BOOTTIME: when the next look for missed ends is due */
};

/*
 * By its sidecar's answers a pod can cause as many RayFailures at once as a journal is long, and
 * then one in each spacing. A hostile pod cannot cause more.
 */
#define POD_FAILURES_BURST 64
#define POD_FAILURES_SPACING_NS (60 * NS_PER_SEC)

/* The part of a pod's memory that only few pods need. */
struct sidecar_news {
	struct budget failures; /* the RayFailures that it may cause */
	struct pod_hold emitted[POD_REPORT_HOLDS_MAX]; /* the last holds that had an Event */
	struct growing *growing; /* NULL: nothing grows */
};

/*
 * The facts that are kept of each pod. It is small, because there may be a hundred thousand pods.
 * It starts zeroed.
 */
struct sidecar_memory {
	struct sidecar_news *news; /* allocated when there is news; NULL: there was none so far */
	bool answered; /* the sidecar has answered at least once */
	bool unseen_settled; /* find_unseen need not be called again */
};

struct answer_result {
	char tag[POD_REPORT_TAG_MAX]; /* for If-None-Match, so that an unchanged answer is not sent again; "": send it */
	bool failed; /* the answer had a failure that was not known yet */
};

void sidecar_memory_release(struct sidecar_memory *memory);

/*
 * Processes an answer. key is the pod's "namespace/name", for the log. Returns -EPROTO if it is not
 * the answer of a sidecar, and -ESTALE if it comes from another pod, which had or has the address.
 */
int sidecar_answer_take(struct answer_sinks *sinks, struct sidecar_memory *memory, const char *key,
			const cJSON *pod, const char *text, size_t len,
			struct answer_result *ret_result, struct err *err);
/*
 * Call this from time to time for a pod without a sidecar that can be asked: it finds the ends that
 * only the restart count shows. Returns false when there is nothing more to find.
 */
bool sidecar_answer_none(struct answer_sinks *sinks, struct sidecar_memory *memory, const char *key,
			 const cJSON *pod);
/* Returns the growing memory that the sidecar reports; NULL if nothing grows. */
const struct growing *sidecar_memory_growing(const struct sidecar_memory *memory);
/*
 * Call this when the sidecar no longer answers, for the reason why. pod is NULL if the pod is gone.
 */
void sidecar_answer_lost(struct answer_sinks *sinks, struct sidecar_memory *memory,
			 const cJSON *pod, const struct err *why);
