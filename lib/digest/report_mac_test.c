/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the signature of what a sidecar says. */
#include "lib/digest/report_mac.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define KEY "00112233445566778899aabbccddeeff"

static void the_signature_is_hmac_sha256(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1024);
	(void)state;

	/* RFC 4231, test case 2: "what do ya want for nothing?" with the key "Jefe". */
	report_mac_append("Jefe", "what do ya want ", "for nothing?}", &out);
	assert_string_equal(strbuf_str(&out),
			    "for nothing?,\"mac\":\"5bdcc146bf60754e6a042426089575c7\"}");
	assert_int_equal(out.len, strlen("for nothing?}") + REPORT_MAC_ROOM);
}

static void any_change_of_text_key_or_kind_is_seen(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1024);
	char text[256];
	size_t len;
	(void)state;

	report_mac_append(KEY, REPORT_MAC_TERMINATION, "{\"class\":\"KernelOOMNode\",\"n\":1}",
			  &out);
	strbuf_adds(&out, " \n");
	len = out.len;
	assert_true(report_mac_holds(KEY, REPORT_MAC_TERMINATION, strbuf_str(&out), len));
	assert_false(report_mac_holds(KEY, REPORT_MAC_FAILURES, strbuf_str(&out), len));
	assert_false(report_mac_holds("10112233445566778899aabbccddeeff", REPORT_MAC_TERMINATION,
				      strbuf_str(&out), len));
	for (size_t i = 0; i < len - 2; i++) {
		memcpy(text, strbuf_str(&out), len);
		text[i] ^= 1;
		if (report_mac_holds(KEY, REPORT_MAC_TERMINATION, text, len))
			fail_msg("byte %zu", i);
	}
	for (size_t i = 0; i < len - 2; i++)
		assert_false(report_mac_holds(KEY, REPORT_MAC_TERMINATION, strbuf_str(&out), i));
}

static void what_has_no_signature_has_no_right_one(void **state)
{
	static const char *const texts[] = { "",
					     "{}",
					     "{\"a\":1}",
					     ",\"mac\":\"\"}",
					     "{\"a\":1,\"mac\":\"" KEY "\"}",
					     "\n\n",
					     "{\"mac\":\"00112233445566778899aabbccddeeff\"}" };
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(64);
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_false(
			report_mac_holds(KEY, REPORT_MAC_FAILURES, texts[i], strlen(texts[i])));
	report_mac_append(NULL, REPORT_MAC_FAILURES, "{\"a\":1}", &out);
	assert_string_equal(strbuf_str(&out), "{\"a\":1}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_signature_is_hmac_sha256),
		cmocka_unit_test(any_change_of_text_key_or_kind_is_seen),
		cmocka_unit_test(what_has_no_signature_has_no_right_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
