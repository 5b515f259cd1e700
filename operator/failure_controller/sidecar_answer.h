/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes the answer of a pod's sidecar: makes RayFailures for the writer and Events for the
 * event recorder, and remembers what it needs until the pod's next answer. The poller decides which
 * pods are asked, and when (sidecar_poller.h).
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

/* Where the results go. The caller fills it in, except for told, which starts zeroed. */
struct answer_sinks {
	const struct informer *failures, *clusters;
	struct event_recorder *recorder;
	struct failure_writer *writer;
	struct metrics *metrics;
	void (*on_growing)(void *arg,
			   const cJSON *pod); /* what is known of its growing memory has changed */
	void *arg;
	struct event_filter told; /* apart from the event recorder's, because pods choose these keys */
};

/* What only a few pods need. */
struct sidecar_news {
	struct poll_allowance allowance;
	struct pod_hold told[POD_REPORT_HOLDS_MAX]; /* the last ones */
	struct growing *growing; /* NULL: nothing grows */
};

/*
 * What is remembered of a pod; kept small, because there may be a hundred thousand. Starts zeroed.
 */
struct sidecar_memory {
	struct sidecar_news *news; /* allocated when there is any; NULL: there was none so far */
	bool answered; /* at least once */
};

struct answer_result {
	char tag[POD_REPORT_TAG_MAX]; /* for If-None-Match: the answer need not be sent again; "": it must */
	bool failed; /* the answer had a failure that was not known */
};

void sidecar_memory_release(struct sidecar_memory *memory);

/*
 * Takes an answer. key: "namespace/name" of the pod, for the log. -EPROTO: it is not the answer of
 * a sidecar; -ESTALE: it comes from another pod, which had or has the address.
 */
int sidecar_answer_take(struct answer_sinks *sinks, struct sidecar_memory *memory, const char *key,
			const cJSON *pod, const char *text, size_t len,
			struct answer_result *ret_result, struct err *err);
/* What the sidecar says of memory that grows; NULL: nothing. */
const struct growing *sidecar_memory_growing(const struct sidecar_memory *memory);
/*
 * To be called when the sidecar no longer answers, for the reason why. pod may be NULL: it is gone.
 */
void sidecar_answer_lost(struct answer_sinks *sinks, struct sidecar_memory *memory,
			 const cJSON *pod, const struct err *why);

#endif
