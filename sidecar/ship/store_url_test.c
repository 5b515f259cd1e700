/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of store URLs. */
#include "sidecar/ship/store_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void a_store_is_recognized_by_its_url(void **state)
{
	static const struct {
		const char *text;
		enum store_kind kind;
		bool tls;
		const char *host, *path;
	} rows[] = {
		{ "file:///failures", STORE_DIRECTORY, false, "", "/failures" },
		{ "file:///a%20b/c/", STORE_DIRECTORY, false, "", "/a b/c" },
		{ "file:///", STORE_DIRECTORY, false, "", "/" },
		{ "/a%20b", STORE_DIRECTORY, false, "", "/a%20b" },
		{ "s3://bucket", STORE_S3, false, "bucket", "" },
		{ "s3://bucket/", STORE_S3, false, "bucket", "" },
		{ "s3://my.bucket-1/a/b%2Bc//", STORE_S3, false, "my.bucket-1", "a/b+c" },
		{ "azure://account1/ray-1", STORE_AZURE, false, "account1", "" },
		{ "azure://account1/ray-1/a%20b/c/", STORE_AZURE, false, "account1", "a b/c" },
		{ "azure://account1/$root/x", STORE_AZURE, false, "account1", "x" },
		{ "webhdfs://nn:9870", STORE_WEBHDFS, false, "nn:9870", "" },
		{ "webhdfs://nn.example.com:9870/user/ray", STORE_WEBHDFS, false, "nn.example.com:9870", "/user/ray" },
		{ "webhdfss://[::1]:9871/x", STORE_WEBHDFS, true, "[::1]:9871", "/x" },
	};
	struct store_url u;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(store_url_parse(rows[i].text, &u, NULL), 0);
		assert_int_equal(u.kind, rows[i].kind);
		assert_int_equal(u.tls, rows[i].tls);
		assert_string_equal(u.host, rows[i].host);
		assert_string_equal(u.path, rows[i].path);
		assert_true((u.kind == STORE_AZURE) == (u.container[0] != '\0'));
	}
}

static void what_is_no_store_is_refused_in_words(void **state)
{
	static const struct {
		const char *text, *says;
	} rows[] = {
		{ "", "none of file" },
		{ "failures", "none of file" },
		{ "http://x/y", "none of file" },
		{ "file://host/x", "absolute path" },
		{ "file:///a%2", "two hexadecimal digits" },
		{ "file:///a%0ab", "control characters" },
		{ "/a\nb", "control characters" },
		{ "s3://", "bucket is missing" },
		{ "s3:///prefix", "bucket is missing" },
		{ "s3://bucket?x=1", "no meaning" },
		{ "s3://key:secret@bucket/x", "no meaning" },
		{ "s3://bu cket/x", "no bucket's name" },
		{ "s3://-bucket/x", "no bucket's name" },
		{ "s3://bucket/a//b", "component" },
		{ "s3://bucket/a/../b", "component" },
		{ "s3://bucket/.", "component" },
		{ "azure://", "storage account is missing" },
		{ "azure://account", "container is missing" },
		{ "azure://account//x", "container is missing" },
		{ "azure://acc.ount/x", "no storage account's name" },
		{ "azure://account/Upper", "no container's name" },
		{ "azure://account/a--b/x", "no container's name" },
		{ "azure://account/-a", "no container's name" },
		{ "azure://account/a-", "no container's name" },
		{ "azure://account/$", "no container's name" },
		{ "azure://account/c%2Fd/x", "no container's name" },
		{ "azure://account/aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg", "no container's name" },
		{ "azure://account/c/../x", "component" },
		{ "azure://account/c?sig=x", "no meaning" },
		{ "webhdfs:///x", "NameNode is missing" },
		{ "webhdfs://nn/a%2F..%2F..", "component" },
		{ "webhdfs://nn%2Fx/", "no HOST:PORT" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct store_url u;
		struct err err = { 0 };

		assert_true(store_url_parse(rows[i].text, &u, &err) < 0);
		if (!strstr(err.text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, err.text);
	}
}

static void a_path_below_a_store_cannot_leave_it(void **state)
{
	static const char *const good[] = {
		"a", "ns/c/pod.7a/ray-worker/20261121T012906.324Z-Segfault-2", "a/b c/\xc3\xa4"
	};
	static const char *const bad[] = { "",	 "/",	   "/a",   "a/",    "a//b", ".",
					   "..", "a/../b", "a/.b", ".ship", "a/b\n" };
	char longest[STORE_PATH_MAX + 1];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(good); i++)
		assert_int_equal(store_path_check(good[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_true(store_path_check(bad[i], NULL) < 0);
	memset(longest, 'x', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	assert_true(store_path_check(longest, NULL) < 0);
	longest[sizeof(longest) - 2] = '\0';
	assert_int_equal(store_path_check(longest, NULL), 0);
}

static void what_is_not_plain_is_encoded(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(200);
	(void)state;

	store_path_encode(&out, "a b/c+d=e&f%/~-._\xc3\xa4");
	assert_string_equal(strbuf_str(&out), "a%20b/c%2Bd%3De%26f%25/~-._%C3%A4");
	strbuf_reset(&out);
	store_query_encode(&out, "a/b?");
	assert_string_equal(strbuf_str(&out), "a%2Fb%3F");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_is_recognized_by_its_url),
		cmocka_unit_test(what_is_no_store_is_refused_in_words),
		cmocka_unit_test(a_path_below_a_store_cannot_leave_it),
		cmocka_unit_test(what_is_not_plain_is_encoded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
