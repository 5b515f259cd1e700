/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of Shared Key. The first request is an example of Microsoft's documentation. */
#include "sidecar/ship/azure_sign.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

/* The key of the account that every Azurite has, so it is no secret. */
#define KEY "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
#define EXAMPLE "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2015-02-21\n" \
	"/myaccount/mycontainer\ncomp:metadata\nrestype:container\ntimeout:20"

static void check_text(const struct azure_to_sign *request, const char *wanted)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);

	azure_text_to_sign(&text, request);
	assert_string_equal(strbuf_str(&text), wanted);
}

static void the_text_is_that_of_the_documentation(void **state)
{
	static const char *const headers[] = { "x-ms-version: 2015-02-21",
					       "x-ms-date: Fri, 26 Jun 2015 23:39:12 GMT", NULL };
	static const struct object_param params[] = { { "comp", "metadata" },
						      { "restype", "container" },
						      { "timeout", "20" },
						      { NULL, NULL } };
	(void)state;

	check_text(&(struct azure_to_sign){ .method = "GET",
					    .account = "myaccount",
					    .path = "/mycontainer",
					    .md5 = "",
					    .headers = headers,
					    .params = params },
		   EXAMPLE);
}

static void length_digest_and_our_headers_stand_where_they_belong(void **state)
{
	static const char *const headers[] = { "x-ms-version: 2021-12-02",
					       "Content-MD5: bWQ1",
					       "x-ms-blob-type: BlockBlob",
					       "x-ms-blob-content-type: text/html; charset=utf-8",
					       "x-ms-date: now",
					       NULL };
	static const struct object_param params[] = { { NULL, NULL } };
	(void)state;

	check_text(
		&(struct azure_to_sign){ .method = "PUT",
					 .account = "a",
					 .path = "/a/c/pre%20fix/x",
					 .length = 17,
					 .md5 = "bWQ1",
					 .headers = headers,
					 .params = params },
		"PUT\n\n\n17\nbWQ1\n\n\n\n\n\n\n\n"
		"x-ms-blob-content-type:text/html; charset=utf-8\nx-ms-blob-type:BlockBlob\nx-ms-date:now\nx-ms-version:2021-12-02\n"
		"/a/a/c/pre%20fix/x");
}

/* The expected value was computed with Python's hmac. */
static void the_signature_is_the_hmac_of_the_text(void **state)
{
	unsigned char key[AZURE_KEY_MAX];
	char signature[AZURE_SIGNATURE_MAX];
	size_t len = 0;
	(void)state;

	assert_int_equal(azure_key_decode(KEY, key, &len, NULL), 0);
	assert_int_equal(len, 64);
	azure_sign(key, len, EXAMPLE, signature);
	assert_string_equal(signature, "1u9lui2jDxj0+fpbHjQ5m5NnastJRSYM+PSmfi8TXx4=");
}

static void a_key_that_is_no_base64_is_refused(void **state)
{
	static const struct {
		const char *text;
		size_t len; /* 0: refused */
	} rows[] = {
		{ "YQ==", 1 }, { "YWI=", 2 }, { "YWJj", 3 }, { "", 0 }, { "YQ=", 0 }, { "Y", 0 }, { "####", 0 }, { "YQ==YQ==x", 0 },
	};
	unsigned char key[AZURE_KEY_MAX];
	char longest[AZURE_KEY_MAX / 3 * 4 + 9];
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		size_t len = 0;

		if ((azure_key_decode(rows[i].text, key, &len, NULL) == 0) != (rows[i].len > 0) ||
		    len != rows[i].len)
			fail_msg("%s: %zu", rows[i].text, len);
	}
	memset(longest, 'A', sizeof(longest) - 1);
	longest[AZURE_KEY_MAX / 3 * 4 + 4] = '\0';
	assert_int_equal(azure_key_decode(longest, key, &(size_t){ 0 }, NULL), -EINVAL);
	longest[AZURE_KEY_MAX / 3 * 4] = '\0';
	assert_int_equal(azure_key_decode(longest, key, &(size_t){ 0 }, NULL), 0);
}

static void a_sas_token_names_its_end(void **state)
{
	static const struct {
		const char *token;
		int64_t end; /* 0: none */
	} rows[] = {
		{ "sv=2021-12-02&se=2026-11-21T01%3A29%3A06Z&sig=x", 1795224546 },
		{ "se=2026-11-21T01:29:06.0000000Z&sig=x", 1795224546 },
		{ "sp=r&se=2026-11-21T01%3a29Z", 1795224540 },
		{ "se=2026-11-21", 1795219200 },
		{ "sv=2021-12-02&ses=2026-11-21&sig=x", 0 },
		{ "se=soon&sig=x", 0 },
		{ "se=2026-11-21Tsoon&sig=x", 0 },
		{ "se=", 0 },
		{ "", 0 },
	};
	(void)state;

	assert_false(azure_sas_has_expired(NULL, INT64_MAX));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		if (azure_sas_has_expired(rows[i].token, rows[i].end - 1) ||
		    azure_sas_has_expired(rows[i].token, INT64_MAX) != (rows[i].end > 0))
			fail_msg("%s", rows[i].token);
		if (rows[i].end > 0 && !azure_sas_has_expired(rows[i].token, rows[i].end))
			fail_msg("%s", rows[i].token);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_text_is_that_of_the_documentation),
		cmocka_unit_test(length_digest_and_our_headers_stand_where_they_belong),
		cmocka_unit_test(the_signature_is_the_hmac_of_the_text),
		cmocka_unit_test(a_sas_token_names_its_end),
		cmocka_unit_test(a_key_that_is_no_base64_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
