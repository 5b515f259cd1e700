/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the texts of a verdict. */
#include "sidecar/verdict/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/utf8.h"

static void check_utf8(const char *text, size_t size)
{
	uint32_t code;

	assert_true(strlen(text) < size);
	for (size_t len; *text; text += len) {
		len = utf8_character(text, strlen(text), &code);
		assert_true(len > 0);
	}
}

static void whatever_is_cut_the_texts_are_utf_8(void **state)
{
	char long_name[2 * EVIDENCE_TEXT_MAX];
	(void)state;

	for (size_t i = 0; i + 1 < sizeof(long_name); i++)
		long_name[i] = "\xf0\x9f\x94\xa5"[i % 4];
	long_name[sizeof(long_name) - 1] = '\0';
	for (int pad = 0; pad < 4; pad++) {
		struct verdict v = { .n_evidence = 0 };

		verdict_set(&v, FAILURE_KILLED, CONFIDENCE_CERTAIN, "%.*s%s", pad, "xxx",
			    long_name);
		check_utf8(v.sentence, sizeof(v.sentence));
		verdict_say(&v, "%.*s%.80s.", pad, "xxx", long_name + pad);
		check_utf8(v.sentence, sizeof(v.sentence));
		verdict_continue(&v, ", %.*s%s.", pad, "xxx", long_name);
		check_utf8(v.sentence, sizeof(v.sentence));
		verdict_add_evidence(&v, "samples", "%.*s%s", pad, "xxx", long_name);
		check_utf8(v.evidence[0].text, sizeof(v.evidence[0].text));
		verdict_add_missing(&v, long_name + pad, long_name + pad);
		check_utf8(v.missing[0].what, sizeof(v.missing[0].what));
		check_utf8(v.missing[0].needs, sizeof(v.missing[0].needs));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whatever_is_cut_the_texts_are_utf_8),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
