/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the few members of an AdmissionReview that its shortest answer needs. */
#include "operator/webhook/review_outline.h"

#include <errno.h>

#include "lib/oom.h"
#include "operator/kube/projection.h"
#include "operator/webhook/pod_admission.h"

static const char *const fields[] = {
	"apiVersion",
	"kind",
	"request.uid",
	"request.kind.kind",
	"request.namespace",
	"request.operation",
	"request.object.metadata.labels." POD_RAY_LABEL,
	"request.object.metadata.annotations." POD_MIRROR_ANNOTATION,
	"request.object.metadata.annotations." SIDECAR_ANNOTATION,
	NULL,
};

int review_outline(const char *text, size_t len, cJSON **ret_review, struct err *err)
{
	size_t lost = oom_count();
	cJSON *review = project_texts(text, len, fields, REVIEW_OUTLINE_TEXT_MAX);

	if (oom_count() != lost) {
		cJSON_Delete(review);
		return err_set(err, ENOMEM, "outline of a review");
	}
	if (!review)
		return err_set(err, EPROTO, "a review of %zu bytes is not JSON", len);
	*ret_review = review;
	return 0;
}
