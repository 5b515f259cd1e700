/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a collector's answer means. */
#include "operator/export/otlp_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void only_what_the_specification_names_is_sent_again(void **state)
{
	static const struct {
		int status;
		enum otlp_outcome outcome;
	} rows[] = {
		{ 0, OTLP_AGAIN },     { 200, OTLP_SENT },    { 202, OTLP_SENT },
		{ 307, OTLP_REFUSED }, { 400, OTLP_REFUSED }, { 401, OTLP_REFUSED },
		{ 404, OTLP_REFUSED }, { 413, OTLP_REFUSED }, { 429, OTLP_AGAIN },
		{ 500, OTLP_REFUSED }, { 502, OTLP_AGAIN },   { 503, OTLP_AGAIN },
		{ 504, OTLP_AGAIN },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (otlp_outcome_of(rows[i].status) != rows[i].outcome)
			fail_msg("%d", rows[i].status);
}

static void the_rejected_records_are_read_whatever_stands_there(void **state)
{
	static const struct {
		const char *body;
		size_t rejected;
		const char *text;
	} rows[] = {
		{ "", 0, "" },
		{ "{}", 0, "" },
		{ "{\"partialSuccess\":{}}", 0, "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":\"3\",\"errorMessage\":\"too old\"}}",
		  3, "too old" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":4}}", 4, "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":\"99999999999999999999999\"}}", 10,
		  "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":1e300}}", 10, "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":\"-1\"}}", 0, "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":[3],\"errorMessage\":{\"a\":1}}}", 0,
		  "" },
		{ "{\"partialSuccess\":\"3\"}", 0, "" },
		{ "{\"partialSuccess\":{\"rejectedLogRecords\":1,\"errorMessage\":\"a\\u001b[2J\\nb\"}}",
		  1, "a?[2J?b" },
		{ "[[[[[[", 0, "" },
		{ "<html>", 0, "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct otlp_answer answer;

		otlp_answer_read(rows[i].body, strlen(rows[i].body), 10, &answer);
		if (answer.rejected != rows[i].rejected || strcmp(answer.text, rows[i].text) != 0)
			fail_msg("%s: %zu %s", rows[i].body, answer.rejected, answer.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_specification_names_is_sent_again),
		cmocka_unit_test(the_rejected_records_are_read_whatever_stands_there),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
