/* SPDX-License-Identifier: Apache-2.0 */
/* Interprets a collector's answer. */
#include "operator/export/otlp_answer.h"

#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/printable.h"

enum otlp_outcome otlp_outcome_of(int status)
{
	switch (status) {
	case 0:
	case 429:
	case 502:
	case 503:
	case 504:
		return OTLP_AGAIN;
	default:
		return status / 100 == 2 ? OTLP_SENT : OTLP_REFUSED;
	}
}

/*
 * Reads an integer. This encoding writes one of 64 bits as a text, but some collectors write a
 * number.
 */
static int64_t count_of(const cJSON *partial)
{
	const char *text = json_str(partial, "rejectedLogRecords");

	return text ? strtoll(text, NULL, 10) : json_int(partial, "rejectedLogRecords", 0);
}

void otlp_answer_read(const char *body, size_t len, size_t n, struct otlp_answer *ret_answer)
{
	_cleanup_json_ cJSON *answer = NULL;

	*ret_answer = (struct otlp_answer){ 0 };
	if (json_parse(body, len, &answer, NULL) < 0)
		return;
	const cJSON *partial = json_get(answer, "partialSuccess");
	const char *text = json_str(partial, "errorMessage");
	int64_t rejected = count_of(partial);

	ret_answer->rejected = rejected <= 0 ? 0 : MIN((size_t)rejected, n);
	if (text)
		copy_printable(ret_answer->text, sizeof(ret_answer->text), text, strlen(text));
}
