/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of calling afterglow-ship and of understanding its result. */
#include "sidecar/spool/ship_plan.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"

#define EXIT(n) ((n) << 8)

static const struct {
	struct store_options o;
	const char *error; /* NULL: it is valid */
} stores[] = {
	{ { .url = "/var/lib/failures" }, NULL },
	{ { .url = "file:///x" }, NULL },
	{ { .url = "s3://bucket" }, NULL },
	{ { .url = "s3://bucket/a/b", .s3_endpoint = "http://minio:9000", .s3_path_style = true }, NULL },
	{ { .url = "webhdfs://nn:9870/failures", .webhdfs_user = "ray" }, NULL },
	{ { .url = "webhdfss://nn:9871/failures" }, NULL },
	{ { .url = NULL }, NULL },
	{ { .url = "file://host/x" }, "--store takes a directory" },
	{ { .url = "relative" }, "--store takes a directory" },
	{ { .url = "http://x" }, "--store takes a directory" },
	{ { .url = "s3://" }, "names no bucket" },
	{ { .url = "s3:///prefix" }, "names no bucket" },
	{ { .url = "azure://account/ray/x", .azure_endpoint = "https://x", .cores_prefix = "_cores" }, NULL },
	{ { .url = "azure://" }, "names no storage account" },
	{ { .url = "azure://account" }, "names no container" },
	{ { .url = "azure://account/" }, "names no container" },
	{ { .url = "s3://b", .azure_endpoint = "https://x" }, "--store-azure-endpoint is for a store azure://" },
	{ { .url = "azure://a/c", .azure_endpoint = "x" }, "--store-azure-endpoint takes an address such as" },
	{ { .url = "azure://a/c", .s3_region = "x" }, "--store-s3-region is for a store s3://" },
	{ { .url = "webhdfs:///x" }, "names no host" },
	{ { .url = "/x", .s3_region = "eu-1" }, "--store-s3-region is for a store s3://" },
	{ { .url = "/x", .s3_path_style = true }, "--store-s3-path-style is for a store s3://" },
	{ { .url = "s3://b", .webhdfs_user = "x" }, "--store-webhdfs-user is for a store webhdfs://" },
	{ { .s3_endpoint = "https://x" }, "--store-s3-endpoint is for a store s3://" },
	{ { .url = "/x", .s3_role_arn = "arn:aws:iam::1:role/r" }, "--store-s3-role-arn is for a store s3://" },
	{ { .url = "/x", .proxy = "http://p:1" }, "--store-proxy is for a store s3://, azure:// or webhdfs://" },
	{ { .url = "azure://a/c", .s3_encryption = "AES256" }, "--store-s3-encryption is for a store s3://" },
	{ { .url = "webhdfs://nn:1/x", .s3_sts_endpoint = "https://x" }, "--store-s3-sts-endpoint is for a store s3://" },
	{ { .url = "s3://b", .s3_role_arn = "arn:aws:iam::1:role/r", .s3_sts_endpoint = "sts.eu-1" },
	  "--store-s3-sts-endpoint takes an address such as" },
	{ { .url = "s3://b", .s3_role_arn = "arn:aws:iam::1:role/r", .s3_sts_endpoint = "https://minio:9000" }, NULL },
	{ { .url = "s3://b", .cores_prefix = "_cores" }, NULL },
	{ { .url = "webhdfss://nn:9871/failures", .cores_prefix = "_cores/ray" }, NULL },
	{ { .url = "/x", .cores_prefix = "_cores" }, "--store-cores-prefix is for a store s3://, azure:// or webhdfs://" },
	{ { .url = "s3://b", .cores_prefix = "cores" }, "--store-cores-prefix: cores go to a path such as _cores" },
	{ { .url = "s3://b", .s3_endpoint = "minio:9000" }, "--store-s3-endpoint takes an address such as https://minio.example:9000" },
};

static void a_store_is_checked_with_its_options(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(stores); i++) {
		struct err err = { 0 };

		assert_int_equal(store_options_check(&stores[i].o, &err),
				 stores[i].error ? -EINVAL : 0);
		if (stores[i].error && !strstr(err_text(&err), stores[i].error))
			fail_msg("row %zu: %s", i, err_text(&err));
	}
}

static void the_arguments_are_those_that_were_given(void **state)
{
	const struct store_options o = { .url = "s3://b/p",
					 .credentials = "/c",
					 .s3_region = "eu-1",
					 .s3_path_style = true,
					 .s3_role_arn = "arn:aws:iam::1:role/r",
					 .s3_sts_endpoint = "https://sts",
					 .cores_prefix = "_cores",
					 .s3_encryption = "aws:kms",
					 .s3_kms_key_id = "alias/a",
					 .s3_bucket_key = true,
					 .proxy = "http://p:1",
					 .no_proxy = ".svc,10.0.0.0/8" };
	const char *const expected[] = { "afterglow-ship",
					 "--store",
					 "s3://b/p",
					 "--credentials",
					 "/c",
					 "--proxy",
					 "http://p:1",
					 "--no-proxy",
					 ".svc,10.0.0.0/8",
					 "--s3-region",
					 "eu-1",
					 "--s3-role-arn",
					 "arn:aws:iam::1:role/r",
					 "--s3-sts-endpoint",
					 "https://sts",
					 "--s3-encryption",
					 "aws:kms",
					 "--s3-kms-key-id",
					 "alias/a",
					 "--cores-prefix",
					 "_cores",
					 "--as",
					 "ml/x",
					 "--deadline",
					 "30",
					 "--s3-path-style",
					 "--s3-bucket-key",
					 "/spool/ml/x",
					 NULL };
	const char *argv[SHIP_ARGS_MAX];
	(void)state;

	ship_args(&o, "afterglow-ship", "ml/x", "30", "/spool/ml/x", argv);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (!expected[i])
			assert_null(argv[i]);
		else
			assert_string_equal(argv[i], expected[i]);
	}
}

#define OK "{\"result\":\"shipped\",\"url\":\"s3://b/p\"}"
#define CLOCK "{\"result\":\"failed\",\"retry\":false,\"kind\":\"clock\",\"error\":\"this clock is an hour off\"}"
#define BUSY "{\"result\":\"failed\",\"retry\":true,\"retryAfterSeconds\":7,\"kind\":\"network\",\"error\":\"503\"}"

static const struct {
	const char *lines[3];
	int status;
	enum ship_end end;
	bool shipped, retry;
	enum ship_kind kind;
	int64_t retry_after_s;
	const char *error;
} runs[] = {
	{ { "{\"file\":\"report.txt\",\"sent\":1,\"total\":1}", OK }, EXIT(0), SHIP_END_OWN, true, true, SHIP_OTHER, 0, "" },
	{ { CLOCK }, EXIT(3), SHIP_END_OWN, false, false, SHIP_CLOCK, 0, "this clock is an hour off" },
	{ { BUSY }, EXIT(1), SHIP_END_OWN, false, true, SHIP_NETWORK, 7, "503" },
	{ { "{\"result\":\"failed\",\"retryAfterSeconds\":1e12}" }, EXIT(1), SHIP_END_OWN, false, true, SHIP_OTHER, 600, "no reason was given" },
	{ { "{\"result\":\"failed\",\"kind\":\"x\",\"retryAfterSeconds\":-5}" }, EXIT(1), SHIP_END_OWN, false, true, SHIP_OTHER, 0, "" },
	{ { OK }, 9, SHIP_END_OWN, false, true, SHIP_PROGRAM, 0, "was ended by signal 9" },
	{ { OK }, EXIT(1), SHIP_END_OWN, false, true, SHIP_PROGRAM, 0, "exit code 1" },
	{ { CLOCK }, EXIT(0), SHIP_END_OWN, false, true, SHIP_PROGRAM, 0, "exit code 0" },
	{ { NULL }, EXIT(127), SHIP_END_OWN, false, true, SHIP_PROGRAM, 0, "exit code 127" },
	{ { "nonsense", "{}", "[1" }, EXIT(2), SHIP_END_OWN, false, true, SHIP_PROGRAM, 0, "exit code 2" },
	{ { NULL }, 15, SHIP_END_GRACE, false, true, SHIP_DEADLINE, 0, "the time that the pod had left was over" },
	{ { CLOCK }, EXIT(3), SHIP_END_GRACE, false, false, SHIP_CLOCK, 0, "an hour off" },
	{ { OK }, 9, SHIP_END_HUNG, false, true, SHIP_HUNG, 0, "no sign of life for 120 s" },
};

/*
 * Our own environment may contain what the user set for the Ray container: keys of a cloud, tokens.
 */
static void of_the_environment_it_has_what_it_needs(void **state)
{
	char *const *env;
	unsigned int proxies = 0, identities = 0;
	(void)state;

	setenv("https_proxy", "http://proxy:3128", 1);
	setenv("https_proxy_password", "secret", 1);
	setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
	setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN", "secret", 1);
	setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials", 1);
	setenv("LD_PRELOAD_", "secret", 1);
	env = ship_environment();
	for (; *env; env++) {
		assert_null(strstr(*env, "secret"));
		assert_null(strstr(*env, "PATH="));
		proxies += strcmp(*env, "https_proxy=http://proxy:3128") == 0;
		identities +=
			strcmp(*env,
			       "AWS_CONTAINER_CREDENTIALS_FULL_URI=http://169.254.170.23/v1/credentials") ==
			0;
	}
	assert_int_equal(identities, 1);
	assert_int_equal(proxies, 1);
}

static void what_it_says_holds_with_its_exit_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct ship_result r = { .has_result = false };

		for (size_t k = 0; k < 3 && runs[i].lines[k]; k++)
			ship_line(runs[i].lines[k], strlen(runs[i].lines[k]), &r);
		ship_ended(runs[i].status, runs[i].end, &r);
		assert_int_equal(r.shipped, runs[i].shipped);
		assert_int_equal(r.retry, runs[i].retry);
		assert_int_equal(r.retry_after_ns, runs[i].retry_after_s * NS_PER_SEC);
		if (r.shipped)
			continue;
		assert_string_equal(ship_kind_name(r.kind), ship_kind_name(runs[i].kind));
		if (!strstr(r.error, runs[i].error))
			fail_msg("row %zu: %s", i, r.error);
	}
}

static void a_run_has_an_hour_and_a_second_for_each_64_kib_and_a_day_at_most(void **state)
{
	(void)state;
	assert_int_equal(ship_run_s(0), 3600);
	assert_int_equal(ship_run_s((int64_t)1 << 30), 3600 + 16384);
	assert_int_equal(ship_run_s((int64_t)1 << 40), 86400);
	assert_int_equal(ship_run_s(INT64_MAX), 86400);
}

static void the_pause_doubles_up_to_five_minutes(void **state)
{
	const struct ship_result r = { .retry = true }, mend = { .retry = false },
				 asked = { .retry = true, .retry_after_ns = 7 * NS_PER_SEC };
	(void)state;

	assert_int_equal(ship_backoff(1, &r, false, 0.5), NS_PER_SEC);
	assert_int_equal(ship_backoff(2, &r, false, 0.5), 2 * NS_PER_SEC);
	assert_int_equal(ship_backoff(9, &r, false, 0.5), 256 * NS_PER_SEC);
	assert_int_equal(ship_backoff(10, &r, false, 0.5), SHIP_BACKOFF_MAX_NS);
	assert_int_equal(ship_backoff(4000000000u, &r, false, 0.5), SHIP_BACKOFF_MAX_NS);
	assert_int_equal(ship_backoff(1, &mend, false, 0.5), SHIP_BACKOFF_MAX_NS);
	assert_int_equal(ship_backoff(1, &r, false, 0), NS_PER_SEC * 3 / 4);
	assert_int_equal(ship_backoff(1, &r, false, 1), NS_PER_SEC * 5 / 4);
	assert_int_equal(ship_backoff(1, &asked, false, 0), 7 * NS_PER_SEC);
	assert_int_equal(ship_backoff(9, &asked, false, 0.5), 256 * NS_PER_SEC);
	assert_int_equal(ship_backoff(9, &r, true, 0.5), SHIP_BACKOFF_STOPPING_NS);
	assert_int_equal(ship_backoff(1, &asked, true, 0.5), SHIP_BACKOFF_STOPPING_NS);
	assert_int_equal(ship_backoff(1, &mend, true, 0.5), SHIP_BACKOFF_STOPPING_NS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_store_is_checked_with_its_options),
		cmocka_unit_test(the_arguments_are_those_that_were_given),
		cmocka_unit_test(of_the_environment_it_has_what_it_needs),
		cmocka_unit_test(what_it_says_holds_with_its_exit_code),
		cmocka_unit_test(a_run_has_an_hour_and_a_second_for_each_64_kib_and_a_day_at_most),
		cmocka_unit_test(the_pause_doubles_up_to_five_minutes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
