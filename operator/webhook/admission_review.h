/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the API server's request to a webhook, and makes the answer: AdmissionReview
 * (admission.k8s.io/v1). Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/* kube-apiserver cuts a warning to 256 characters, and all of them together to 4096. */
#define ADMISSION_WARNING_MAX 256
#define ADMISSION_WARNINGS_MAX 16

/* Points into the review that it was read from. */
struct admission_request {
	const char *uid; /* to be echoed, at most 128 bytes */
	const char *kind; /* "Pod" */
	const char *namespace; /* "" for an object without a namespace */
	const char *name; /* "" while the server has still to generate it */
	const char *user; /* the user who made the request; "" if the server does not name one */
	bool update; /* false: the request is a creation */
	bool dry_run; /* the request must have no effect, so nothing may be remembered */
	const cJSON *object;
	const cJSON *old_object; /* in an update; NULL otherwise */
};

/*
 * Returns -EPROTO, with the error in err, if it is not an AdmissionReview of v1 about the creation
 * or the update of an object.
 */
int admission_request_read(const cJSON *review, struct admission_request *ret_request,
			   struct err *err);

/*
 * Appends the answer, which always allows the request. after is the new state of the object, NULL
 * for no change; warnings (NULL: none) is an array of strings. Without memory for the patch the
 * object stays as it is.
 */
void admission_answer(const struct admission_request *request, const cJSON *after,
		      const cJSON *warnings, struct strbuf *out);
