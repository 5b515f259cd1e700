/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers the API server's questions about Ray pods and KubeRay's objects, from the informers' caches alone: no request to the
 * API server is in the way of an answer. Every replica does so, not only the one that acts.
 */
#ifndef AFTERGLOW_OPERATOR_WEBHOOK_ADMISSION_H
#define AFTERGLOW_OPERATOR_WEBHOOK_ADMISSION_H

#include "lib/strbuf.h"
#include "operator/manager/metrics.h"
#include "operator/manager/watches.h"
#include "operator/policy/policies.h"

/* What the chart's MutatingWebhookConfiguration names. */
#define ADMISSION_PATH_PODS "/mutate/pods"
#define ADMISSION_PATH_RAY "/mutate/ray"

struct admission;

struct admission_options {
	const struct watches *watches;
	struct policies *policies;
	struct metrics *metrics;
	const struct launchers *launchers; /* NULL: there are none, and pods get no sidecar */
};

/* What options point to must outlive it. */
int admission_new(const struct admission_options *options, struct admission **ret_admission, struct err *err);
void admission_free(struct admission *admission);

/* A pod of the cache is new, or has changed: whether pods with the sidecar come through, and whether its image can be had. */
void admission_see_pod(struct admission *admission, bool added, const cJSON *pod);

/*
 * As tls_handler_fn (tls_server.h); admission is the struct. 200 with an AdmissionReview; 404 for another path, 400 for a body
 * that is no AdmissionReview. It never refuses an object.
 */
int admission_handle(void *admission, const char *path, const char *content_type, const char *body, size_t len,
		     struct strbuf *answer);

#endif
