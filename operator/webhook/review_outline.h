/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the few members of an AdmissionReview that its shortest answer needs, without building a
 * tree of the text: in constant memory, and in a few passes over the text. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stddef.h>

#include "lib/err.h"

/* Bytes of a text in the outline. A longer one is left out. */
#define REVIEW_OUTLINE_TEXT_MAX ((size_t)512)

/*
 * Makes an AdmissionReview that has of the request uid, kind, namespace and operation, and of the
 * object's metadata the label and the annotations that pod_admission.h reads. It has
 * metadata.annotations if the text has them. The caller owns the result. Returns -EPROTO if the
 * text cannot be read, and -ENOMEM.
 */
int review_outline(const char *text, size_t len, cJSON **ret_review, struct err *err);
