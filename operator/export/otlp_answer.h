/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a collector's answer to an export, by the specification of OTLP/HTTP. Pure. */
#ifndef AFTERGLOW_OPERATOR_EXPORT_OTLP_ANSWER_H
#define AFTERGLOW_OPERATOR_EXPORT_OTLP_ANSWER_H

#include <stddef.h>

#define OTLP_ANSWER_MAX ((size_t)64 << 10) /* bytes of an answer */
#define OTLP_ANSWER_TEXT_MAX 256

enum otlp_outcome {
	OTLP_SENT, /* the collector has the records, but for those that it rejected */
	OTLP_AGAIN, /* no answer, or 429, 502, 503, 504: the same may be sent again later */
	OTLP_REFUSED, /* the same must not be sent again */
};

/* status 0: there was no answer. */
enum otlp_outcome otlp_outcome_of(int status);

struct otlp_answer {
	size_t rejected; /* records that the collector did not take: at most those that were sent */
	char text[OTLP_ANSWER_TEXT_MAX]; /* the reason, printable; "": it names none */
};

/*
 * Reads the body of a 2xx answer to an export of n records. A body that is not JSON, or not of that
 * form, rejects nothing.
 */
void otlp_answer_read(const char *body, size_t len, size_t n, struct otlp_answer *ret_answer);

#endif
