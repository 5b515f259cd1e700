/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the API server's requests about Ray pods and KubeRay's objects, from the informers'
 * caches alone, so that no answer waits for a request to the API server. Every replica answers, not
 * only the leader.
 */
#pragma once

#include "lib/strbuf.h"
#include "operator/cache/watches.h"
#include "operator/kube/metrics.h"
#include "operator/policy/policies.h"

/* The path that the chart's MutatingWebhookConfiguration names. */
#define ADMISSION_PATH_PODS "/mutate/pods"
#define ADMISSION_PATH_RAY "/mutate/ray"

struct admission;

struct admission_options {
	const struct watches *watches;
	struct policies *policies;
	struct metrics *metrics;
	const struct launchers *launchers; /* NULL: there are none, and pods get no sidecar */
};

/* The objects that options point to must outlive the admission. */
int admission_new(const struct admission_options *options, struct admission **ret_admission,
		  struct err *err);
void admission_free(struct admission *admission);

/*
 * Call this when a pod of the cache is new, or has changed. It shows whether pods with the sidecar
 * are accepted and its image can be pulled.
 */
void admission_see_pod(struct admission *admission, bool added, const cJSON *pod);

/*
 * Handles a request as a tls_handler_fn (tls_server.h); admission is a struct admission. The result
 * is 200 with an AdmissionReview, 404 for another path, 400 for a body that is not an
 * AdmissionReview. It never refuses an object. An object whose review would cost too much
 * (review_budget.h) is admitted unread.
 */
int admission_handle(void *admission, const char *path, const char *content_type, const char *body,
		     size_t len, struct strbuf *answer);
