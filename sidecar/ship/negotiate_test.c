/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the frames around an AP-REQ. Hadoop's servers read them in
 * e2e/cases/stores/test_hdfs_kerberos.py.
 */
#include "sidecar/ship/negotiate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <openssl/evp.h>

static unsigned char request[NEGOTIATE_MAX + 1], token[NEGOTIATE_HEADER_MAX];

/* Makes a header for an AP-REQ of len bytes and decodes it. Returns the token's length. */
static size_t token_of(size_t len)
{
	static const char prefix[] = "Authorization: Negotiate ";
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT(NEGOTIATE_HEADER_MAX);
	const char *text;
	int n;

	memset(request, 0x6e, len);
	negotiate_header(request, len, &header);
	assert_false(strbuf_failed(&header));
	assert_memory_equal(strbuf_str(&header), prefix, sizeof(prefix) - 1);
	text = strbuf_str(&header) + sizeof(prefix) - 1;
	n = EVP_DecodeBlock(token, (const unsigned char *)text, (int)strlen(text));
	assert_true(n > 0);
	return (size_t)n - (strlen(text) > 1 && text[strlen(text) - 1] == '=') -
	       (strlen(text) > 2 && text[strlen(text) - 2] == '=');
}

/*
 * Reads a tag that must come next, and returns where its content begins. *end becomes the content's
 * end.
 */
static size_t enter(size_t at, unsigned char tag, size_t *end)
{
	size_t len = token[at + 1], n = 2;

	assert_int_equal(token[at], tag);
	if (len & 0x80) {
		size_t bytes = len & 0x7f;

		for (len = 0; n < 2 + bytes; n++)
			len = len << 8 | token[at + n];
		/* DER: the shortest form. */
		assert_true(len > (bytes == 1 ? 0x7fU : 0xffU));
	}
	assert_int_equal(at + n + len, *end);
	*end = at + n + len;
	return at + n;
}

static void a_token_is_spnego_around_kerberos_whatever_its_length(void **state)
{
	static const size_t lengths[] = { 1,   60,  90,	 100, 127,	 128,	       200,
					  226, 255, 256, 690, 65535 / 2, NEGOTIATE_MAX };
	static const unsigned char spnego[] = { 0x06, 6, 0x2b, 6, 1, 5, 5, 2 };
	static const unsigned char types[] = { 0xa0, 13,   0x30, 11,   6, 9, 0x2a, 0x86,
					       0x48, 0x86, 0xf7, 0x12, 1, 2, 2 };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		size_t end = token_of(lengths[i]), at = enter(0, 0x60, &end);

		assert_memory_equal(token + at, spnego, sizeof(spnego));
		at = enter(at + sizeof(spnego), 0xa0, &end);
		at = enter(at, 0x30, &end);
		assert_memory_equal(token + at, types, sizeof(types));
		at = enter(at + sizeof(types), 0xa2, &end);
		at = enter(at, 0x04, &end);
		at = enter(at, 0x60, &end);
		assert_memory_equal(token + at, types + 4, 11); /* the mechanism, then "AP-REQ" */
		assert_memory_equal(token + at + 11, "\x01\x00", 2);
		assert_int_equal(end - at - 13, lengths[i]);
		assert_memory_equal(token + at + 13, request, lengths[i]);
	}
}

static void a_request_that_is_too_long_for_a_server_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT(NEGOTIATE_HEADER_MAX);
	(void)state;

	negotiate_header(request, NEGOTIATE_MAX + 1, &header);
	assert_true(strbuf_failed(&header));
	assert_int_equal(header.len, 0);
}

static void the_checksum_has_no_bindings_and_no_flags(void **state)
{
	(void)state;

	assert_int_equal(negotiate_checksum[0], 16);
	for (size_t i = 1; i < sizeof(negotiate_checksum); i++)
		assert_int_equal(negotiate_checksum[i], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_token_is_spnego_around_kerberos_whatever_its_length),
		cmocka_unit_test(a_request_that_is_too_long_for_a_server_is_refused),
		cmocka_unit_test(the_checksum_has_no_bindings_and_no_flags),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
