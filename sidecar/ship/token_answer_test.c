/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing the answers of services that give short-lived credentials to a container. */
#include "sidecar/ship/token_answer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void the_token_goes_to_no_other_address_in_plain_text(void **state)
{
	static const struct {
		const char *uri;
		bool safe;
	} rows[] = {
		{ "http://169.254.170.23/v1/credentials", true },
		{ "http://[fd00:ec2::23]/v1/credentials", true },
		{ "http://[fd00:ec2::23]:80/v1/credentials", true },
		{ "http://169.254.170.2/creds?id=x", true },
		{ "http://127.0.0.1:8080/x", true },
		{ "http://localhost", true },
		{ "https://example.org/x", true },
		{ "http://example.org/x", false },
		{ "http://169.254.170.23.example.org/x", false },
		{ "http://169.254.170.233/x", false },
		{ "http://127.0.0.1@example.org/x", false },
		{ "http://127.0.0.1:80@example.org/x", false },
		{ "http://example.org/?127.0.0.1", false },
		{ "http://127.0.0.1\\.example.org/", false },
		{ "http://[::1].example.org/", false },
		{ "http://[::1", false },
		{ "http://", false },
		{ "https://", false },
		{ "https://exam ple/", false },
		{ "file:///etc/passwd", false },
		{ "", false },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (container_uri_is_safe(rows[i].uri) != rows[i].safe)
			fail_msg("%s", rows[i].uri);
}

static void only_googles_own_endpoint_gets_googles_token(void **state)
{
	(void)state;
	assert_true(endpoint_is_google("https://storage.googleapis.com"));
	assert_true(endpoint_is_google("https://storage.googleapis.com:443/"));
	assert_false(endpoint_is_google("http://storage.googleapis.com"));
	assert_false(endpoint_is_google("https://storage.googleapis.com.example.org"));
	assert_false(endpoint_is_google("https://storage.googleapis.com@example.org"));
	assert_false(endpoint_is_google("https://example.org/storage.googleapis.com"));
	assert_false(endpoint_is_google(NULL));
}

static void keys_of_a_container_are_read(void **state)
{
	static const char answer[] =
		"{\"AccessKeyId\":\"ASIA\",\"SecretAccessKey\":\"s/e+c\",\"Token\":\"t==\","
		"\"AccountId\":\"123456789012\",\"Expiration\":\"2026-11-22T20:00:00Z\"}";
	struct sts_credentials c;
	struct err err;
	(void)state;

	assert_int_equal(container_read_credentials(answer, strlen(answer), &c, &err), 0);
	assert_string_equal(c.access_key_id, "ASIA");
	assert_string_equal(c.secret_access_key, "s/e+c");
	assert_string_equal(c.session_token, "t==");
	sts_credentials_release(&c);
}

static void answers_that_would_end_up_in_a_header_are_refused(void **state)
{
	static const char *const answers[] = {
		"", "[]", "null", "{}", "<html>", "{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\"}",
		"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"\"}",
		"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":\"b\",\"Token\":\"c\\r\\nHost: x\"}",
		"{\"AccessKeyId\":\"a b\",\"SecretAccessKey\":\"b\",\"Token\":\"c\"}",
		"{\"AccessKeyId\":\"a\",\"SecretAccessKey\":7,\"Token\":\"c\"}",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		struct sts_credentials c = { 0 };
		struct err err = { 0 };

		if (container_read_credentials(answers[i], strlen(answers[i]), &c, &err) == 0)
			fail_msg("%s", answers[i]);
		assert_null(c.access_key_id);
		assert_true(*err_text(&err));
	}
}

static void a_token_is_read_with_its_time(void **state)
{
	static const struct {
		const char *answer;
		int64_t seconds; /* 0: refused */
	} rows[] = {
		{ "{\"access_token\":\"ya29.a-b_c\",\"expires_in\":3599,\"token_type\":\"Bearer\"}", 3599 },
		{ "{\"access_token\":\"x\",\"expires_in\":1}", 1 },
		{ "{\"access_token\":\"x\",\"expires_in\":100799}", 86400 },
		{ "{\"access_token\":\"x\",\"expires_in\":0}", 0 },
		{ "{\"access_token\":\"x\",\"expires_in\":-5}", 0 },
		{ "{\"access_token\":\"x\",\"expires_in\":1e300}", 0 },
		{ "{\"access_token\":\"x\"}", 0 },
		{ "{\"access_token\":\"x\\nHost: y\",\"expires_in\":60}", 0 },
		{ "{\"expires_in\":60}", 0 },
		{ "Not Found", 0 },
	};
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *token = NULL;
		int64_t seconds = 0;
		struct err err;
		int r = oauth_read_token(rows[i].answer, strlen(rows[i].answer), &token, &seconds,
					 &err);

		if ((r == 0) != (rows[i].seconds > 0) || seconds != rows[i].seconds ||
		    (r == 0) != !!token)
			fail_msg("%s", rows[i].answer);
		free(token);
	}
}

static void an_error_of_entra_is_shown_without_its_lines_of_ids(void **state)
{
	static const struct {
		const char *answer, *text;
	} rows[] = {
		{ "{\"error\":\"invalid_client\",\"error_description\":\"AADSTS700016: no application.\\r\\nTrace ID: 1\",\"error_codes\":[700016]}",
		  "invalid_client: AADSTS700016: no application." },
		{ "{\"error\":\"temporarily_unavailable\"}", "temporarily_unavailable" },
		{ "{\"error\":\"a\",\"error_description\":7}", "a" },
		{ "{\"error\":{}}", "" },
		{ "{}", "" },
		{ "[]", "" },
		{ "<html>", "" },
	};
	char text[OAUTH_ERROR_MAX], *longest = NULL;
	(void)state;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		oauth_read_error(rows[i].answer, strlen(rows[i].answer), text);
		assert_string_equal(text, rows[i].text);
	}
	assert_true(asprintf(&longest, "{\"error\":\"%01000d\"}", 7) > 0);
	oauth_read_error(longest, strlen(longest), text);
	assert_int_equal(strlen(text), OAUTH_ERROR_MAX - 1);
	free(longest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_token_goes_to_no_other_address_in_plain_text),
		cmocka_unit_test(only_googles_own_endpoint_gets_googles_token),
		cmocka_unit_test(keys_of_a_container_are_read),
		cmocka_unit_test(answers_that_would_end_up_in_a_header_are_refused),
		cmocka_unit_test(a_token_is_read_with_its_time),
		cmocka_unit_test(an_error_of_entra_is_shown_without_its_lines_of_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
