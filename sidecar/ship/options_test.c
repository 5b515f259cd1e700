/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the command line. */
#include "sidecar/ship/options.h"

#include <errno.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define PARSE(...) \
	ship_options_parse((char *[]){ "afterglow-ship", __VA_ARGS__, NULL }, &o, &err)

static void options_that_are_not_given_have_defaults(void **state)
{
	struct ship_options o;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(PARSE("--store", "s3://b/p", "/spool/ns/20261121T012906Z-Segfault/"), 0);
	assert_string_equal(o.as, "20261121T012906Z-Segfault");
	assert_string_equal(o.s3_region, "us-east-1");
	assert_int_equal(o.s3_part, 16 << 20);
	assert_int_equal(o.deadline_s, 0);
	assert_int_equal(o.stall_s, 30);
	assert_false(o.s3_path_style);
	assert_null(o.credentials);
}

static void a_bundle_to_be_read_has_a_path_in_the_store_and_none_here(void **state)
{
	struct ship_options o;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(PARSE("--read", "--store", "/s", "--as", "ml/demo/x"), 0);
	assert_true(o.read && !o.bundle);
	assert_int_equal(PARSE("--read", "--store", "/s"), -EINVAL);
	assert_int_equal(PARSE("--read", "--store", "/s", "--as", "x", "b"), -EINVAL);
	assert_int_equal(PARSE("--read", "--store", "/s", "--as", "../x"), -EINVAL);
	assert_int_equal(PARSE("--idle", "60"), 0);
	assert_int_equal(o.idle_s, 60);
}

static void options_that_are_given_are_used(void **state)
{
	struct ship_options o;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(PARSE("b", "--store", "s3://b", "--as", "ns/x", "--credentials", "/c",
			       "--ca", "/ca", "--deadline", "20", "--limit-rate", "10Mi", "--stall",
			       "5", "--s3-endpoint", "http://minio:9000", "--s3-region", "eu-1",
			       "--s3-path-style", "--s3-part-size", "64Mi", "--s3-sts-endpoint",
			       "https://sts", "--webhdfs-user", "u", "--cores-prefix", "_cores",
			       "--azure-endpoint", "https://a.example", "--azure-block-size",
			       "1Mi"),
			 0);
	assert_string_equal(o.as, "ns/x");
	assert_int_equal(o.deadline_s, 20);
	assert_int_equal(o.rate, 10 << 20);
	assert_int_equal(o.s3_part, 64 << 20);
	assert_true(o.s3_path_style);
	assert_string_equal(o.webhdfs_user, "u");
	assert_string_equal(o.azure_endpoint, "https://a.example");
	assert_int_equal(o.azure_block, 1 << 20);
	assert_string_equal(o.cores_prefix, "_cores");
}

static void nonsense_is_refused_with_what_would_be_right(void **state)
{
	static const struct {
		char *argv[8];
		const char *says;
	} rows[] = {
		{ { "s", NULL }, "--store is missing" },
		{ { "s", "b", NULL }, "--store is missing" },
		{ { "s", "--store", NULL }, "takes a value" },
		{ { "s", "--store", "/x", NULL }, "BUNDLE is missing" },
		{ { "s", "--store", "/x", "a", "b", NULL }, "one BUNDLE" },
		{ { "s", "--store", "gs://x", "b", NULL }, "none of file" },
		{ { "s", "--store", "/x", "--as", "../x", "b", NULL }, "starts with '.'" },
		{ { "s", "--store", "/x", "..", NULL }, "starts with '.'" },
		{ { "s", "--store", "/x", "/", NULL }, "empty" },
		{ { "s", "--store", "/x", "--frob", "b", NULL }, "unknown option --frob" },
		{ { "s", "--store", "/x", "--deadline", "0", "b", NULL }, "--deadline takes a whole number from 1 to 604800" },
		{ { "s", "--store", "/x", "--deadline", "9x", "b", NULL }, "--deadline takes a whole number from 1 to 604800" },
		{ { "s", "--store", "/x", "--s3-part-size", "1Mi", "b", NULL }, "--s3-part-size takes at least 5.0 MiB and at most 1.0 GiB, not 1Mi" },
		{ { "s", "--store", "/x", "b", "--ca", NULL }, "takes a value" },
		{ { "s", "--store", "/x", "b", "--s3-region", "eu:x", NULL }, "no region's name" },
		{ { "s", "--store", "/x", "b", "--s3-endpoint", "minio:9000", NULL }, "https://HOST" },
		{ { "s", "--store", "/x", "b", "--s3-endpoint", "http://k@m", NULL }, "https://HOST" },
		{ { "s", "--store", "/x", "b", "--cores-prefix", "_cores", NULL }, "--cores-prefix is for a store s3://, azure://" },
		{ { "s", "--store", "s3://x", "b", "--cores-prefix", "cores", NULL }, "--cores-prefix: cores go to a path such as _cores" },
		{ { "s", "--store", "/x", "b", "--s3-sts-endpoint", "ftp://x", NULL }, "https://HOST" },
		{ { "s", "--store", "s3://x", "b", "--proxy", "http://user:secret@proxy:3128", NULL }, "--proxy takes https://HOST" },
		{ { "s", "--store", "s3://x", "b", "--s3-encryption", "aes", NULL }, "--s3-encryption takes AES256, aws:kms or" },
		{ { "s", "--store", "s3://x", "b", "--s3-kms-key-id", "k", NULL }, "go with --s3-encryption aws:kms" },
		{ { "s", "--store", "s3://x", "b", "--s3-bucket-key", "--s3-encryption", "AES256", NULL }, "go with --s3-encryption aws:kms" },
		{ { "s", "--store", "s3://x", "b", "--s3-encryption=aws:kms", "--s3-kms-key-id", "a\r\nb: c", NULL }, "an alias of a key" },
		{ { "s", "--store", "/x", "b", "--azure-endpoint", "https://a?sig=x", NULL }, "https://HOST" },
		{ { "s", "--store", "/x", "b", "--azure-block-size", "2Gi", NULL }, "at least 1.0 MiB and at most 1.0 GiB, not 2Gi" },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct ship_options o;
		struct err err = { 0 };

		assert_true(ship_options_parse((char **)rows[i].argv, &o, &err) < 0);
		if (!strstr(err.text, rows[i].says))
			fail_msg("row %zu: %s", i, err.text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_bundle_to_be_read_has_a_path_in_the_store_and_none_here),
		cmocka_unit_test(options_that_are_not_given_have_defaults),
		cmocka_unit_test(options_that_are_given_are_used),
		cmocka_unit_test(nonsense_is_refused_with_what_would_be_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
