/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the answer of a pod's sidecar: RayFailures for the writer, Events for the event
 * recorder, and what is remembered of the pod until its next answer. Which pods are asked, and
 * when, is the poller's (sidecar_poller.h).
 */
#ifndef AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_SIDECAR_ANSWER_H
#define AFTERGLOW_OPERATOR_FAILURE_CONTROLLER_SIDECAR_ANSWER_H

#include "operator/cache/informer.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/poll_allowance.h"
#include "operator/failures/growing.h"
#include "operator/failures/pod_report.h"
#include "operator/kube/event_filter.h"
#include "operator/kube/event_recorder.h"
#include "operator/manager/metrics.h"

/* To where answers go; the caller fills it in but for told, which starts zeroed. */
struct answer_sinks {
	const struct informer *failures, *clusters;
	struct event_recorder *recorder;
	struct failure_writer *writer;
	struct metrics *metrics;
	void (*on_growing)(void *arg,
			   const cJSON *pod); /* what is told of its growing memory has changed */
	void *arg;
	struct event_filter told; /* not the event recorder's: pods choose these keys */
};

/* What a few pods have. */
struct sidecar_news {
	struct poll_allowance allowance;
	struct pod_hold told[POD_REPORT_HOLDS_MAX]; /* the last ones */
	struct growing *growing; /* NULL: nothing grows */
};

/* Of one pod, of which there are a hundred thousand. Starts zeroed. */
struct sidecar_memory {
	struct sidecar_news *news; /* allocated when there is any; NULL: there was none so far */
	bool answered; /* at least once */
};

struct answer_result {
	char tag[POD_REPORT_TAG_MAX]; /* of an answer that need not come again; "": it must */
	bool failed; /* it told of a failure that was not known */
};

void sidecar_memory_release(struct sidecar_memory *memory);

/*
 * key: "namespace/name" of the pod, for the log. -EPROTO: no answer of a sidecar; -ESTALE: it is of
 * another pod, which had or has the address.
 */
int sidecar_answer_take(struct answer_sinks *sinks, struct sidecar_memory *memory, const char *key,
			const cJSON *pod, const char *text, size_t len,
			struct answer_result *ret_result, struct err *err);
/* What the sidecar says of memory that grows; NULL: nothing. */
const struct growing *sidecar_memory_growing(const struct sidecar_memory *memory);
/* Nobody answers any more, for that reason. pod may be NULL: it is gone. */
void sidecar_answer_lost(struct answer_sinks *sinks, struct sidecar_memory *memory,
			 const cJSON *pod, const struct err *why);

#endif
