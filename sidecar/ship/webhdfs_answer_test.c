/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of WebHDFS's answers. */
#include "sidecar/ship/webhdfs_answer.h"

#include <stdio.h>

#include "sidecar/ship/answer_testing.h"

#define REMOTE(name, message) \
	"{\"RemoteException\":{\"exception\":\"" name "\",\"message\":\"" message "\"}}"

static int explain(const struct http_answer *answer, struct fault *fault)
{
	return webhdfs_fault(answer, "nn", fault);
}

static void exceptions_are_explained_in_sentences(void **state)
{
	static const struct fault_row rows[] = {
		{ 403, REMOTE("AccessControlException", "Permission denied: user=x\\n\\tat java"),
		  0, FAULT_PERMISSION, "user=x" },
		{ 403, REMOTE("SafeModeException", "x"), 0, FAULT_SERVER, "safe mode" },
		{ 403, REMOTE("StandbyException", "x"), 0, FAULT_SERVER, "standby" },
		{ 403, REMOTE("RetriableException", "x"), 0, FAULT_SERVER, "starting" },
		{ 403, REMOTE("DSQuotaExceededException", "x"), 0, FAULT_NO_SPACE,
		  "quota of space" },
		{ 403, REMOTE("NSQuotaExceededException", "x"), 0, FAULT_NO_SPACE,
		  "quota of names" },
		{ 403,
		  REMOTE("IOException",
			 "File /x could only be written to 0 of the 1 minReplication nodes."),
		  0, FAULT_NO_SPACE, "no DataNode has room" },
		{ 403, REMOTE("InvalidToken", "token (x) is expired, current time"), 0,
		  FAULT_EXPIRED, "has expired" },
		{ 403, REMOTE("InvalidToken", "token (x) can't be found in cache"), 0,
		  FAULT_EXPIRED, "not known" },
		{ 403,
		  REMOTE("InvalidToken",
			 "token (token for ray-failures: HDFS_DELEGATION_TOKEN owner=ray-failures/namespace.example.com@HADOOP.EXAMPLE.COM, "
			 "renewer=ray-failures, realUser=, issueDate=1795431475177, maxDate=1796036275177, sequenceNumber=1234, masterKeyId=12) "
			 "is expired, current time: 2026-11-23 11:08:36,953+0000 expected renewal time: 2026-11-23 11:08:30,953+0000"),
		  0, FAULT_EXPIRED, "has expired" },
		{ 403, REMOTE("SecurityException", "Failed to obtain user group information"), 0,
		  FAULT_CREDENTIALS, "Failed to" },
		{ 403, REMOTE("ParentNotDirectoryException", "x"), 0, FAULT_OCCUPIED,
		  "a file is where" },
		{ 401, "<html>", 0, FAULT_CREDENTIALS, "delegation-token" },
		{ 500, REMOTE("NullPointerException", "x"), 0, FAULT_SERVER,
		  "NullPointerException" },
		{ 400, REMOTE("IllegalArgumentException", "bad op"), 0, FAULT_PROTOCOL, "bad op" },
		{ 503, "", 0, FAULT_SERVER, "status 503" },
		{ 404, "<html>", 0, FAULT_PROTOCOL, "NameNode" },
		{ 307, "", 0, FAULT_REDIRECT, "not followed" },
		{ 403, "{\"RemoteException\":7}", 0, FAULT_PROTOCOL, "status 403" },
	};
	(void)state;

	check_faults(rows, ARRAY_SIZE(rows), explain);
}

static int explain_ticket(const struct http_answer *answer, struct fault *fault)
{
	int r = webhdfs_ticket_fault(answer, "nn", "ray@X", fault);

	assert_non_null(strstr(fault->text, "HDFS at nn"));
	return r;
}

static void a_refused_ticket_is_explained_by_the_clock_or_by_the_servers_log(void **state)
{
	static const struct fault_row rows[] = {
		{ 401, "<html>", 0, FAULT_CREDENTIALS, "ticket of ray@X" },
		{ 403, "GSSException: Checksum failed", 30, FAULT_CREDENTIALS, "its log says why" },
		{ 403, "<html>", 301, FAULT_CLOCK, "differ by 301 s" },
		{ 401, "<html>", -301, FAULT_CLOCK, "differ by 301 s" },
		{ 401, "<html>", INT64_MIN + 1, FAULT_CLOCK, "differ by" },
		{ 403, REMOTE("AccessControlException", "user=ray"), 301, FAULT_PERMISSION,
		  "user=ray" },
		{ 403, REMOTE("StandbyException", "x"), 0, FAULT_SERVER, "standby" },
		{ 503, "", 0, FAULT_SERVER, "status 503" },
	};
	(void)state;

	check_faults(rows, ARRAY_SIZE(rows), explain_ticket);
}

static void only_a_token_that_is_not_valid_is_refused(void **state)
{
	static const struct {
		int status;
		const char *body;
		bool refused;
	} rows[] = {
		{ 403, REMOTE("InvalidToken", "token (x) is expired, current time"), true },
		{ 401, REMOTE("InvalidToken", "x"), true },
		{ 403,
		  REMOTE("SecurityException",
			 "Failed to obtain user group information: token (x) can't be found in cache"),
		  true },
		{ 403, REMOTE("AccessControlException", "user=ray"), false },
		{ 403,
		  REMOTE("IOException",
			 "File /x could only be written to 0 of the 1 minReplication nodes."),
		  false },
		{ 200, REMOTE("InvalidToken", "x"), false },
		{ 401, "<html>", false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(rows[i].status, rows[i].body);

		if (webhdfs_token_refused(&a) != rows[i].refused)
			fail_msg("row %zu", i);
		strbuf_release(&a.body);
	}
}

static void a_delegation_token_is_one_word(void **state)
{
	static const struct {
		const char *body, *token;
	} rows[] = {
		{ "{\"Token\":{\"urlString\":\"KAAEdG9rZW4\"}}", "KAAEdG9rZW4" },
		{ "{\"Token\":{\"urlString\":\"two words\"}}", NULL },
		{ "{\"Token\":{\"urlString\":\"x\\r\\nX-Header: x\"}}", NULL },
		{ "{\"Token\":{\"urlString\":\"\"}}", NULL },
		{ "{\"Token\":{\"urlString\":7}}", NULL },
		{ "{\"Token\":null}", NULL },
		{ "{}", NULL },
		{ "", NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(200, rows[i].body);
		char *token = NULL;
		struct err err = { 0 };

		assert_int_equal(webhdfs_read_token(&a, &token, &err) == 0, rows[i].token != NULL);
		if (rows[i].token)
			assert_string_equal(token, rows[i].token);
		else
			assert_null(token);
		free(token);
		strbuf_release(&a.body);
	}
}

static void a_file_is_distinguished_from_a_directory(void **state)
{
	static const struct {
		const char *body;
		int result;
		bool is_file;
	} rows[] = {
		{ "{\"FileStatus\":{\"length\":7,\"type\":\"FILE\"}}", 0, true },
		{ "{\"FileStatus\":{\"length\":0,\"type\":\"DIRECTORY\"}}", 0, false },
		{ "{\"FileStatus\":{\"length\":-7,\"type\":\"FILE\"}}", -1, false },
		{ "{\"FileStatus\":{\"length\":7}}", -1, false },
		{ "{}", -1, false },
		{ "", -1, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(200, rows[i].body);
		struct webhdfs_status status = { 0 };

		assert_int_equal(webhdfs_read_status(&a, &status, NULL) < 0, rows[i].result < 0);
		assert_int_equal(status.is_file, rows[i].is_file);
		strbuf_release(&a.body);
	}
}

#define SHA "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_digest_comes_in_quotes_or_not_at_all(void **state)
{
	static const struct {
		const char *body, *digest;
	} rows[] = {
		{ "{\"XAttrs\":[{\"name\":\"user.afterglow.sha256\",\"value\":\"\\\"" SHA "\\\"\"}]}", SHA },
		{ "{\"XAttrs\":[{\"value\":\"" SHA "\"}]}", "" },
		{ "{\"XAttrs\":[{\"value\":\"\\\"" SHA SHA "\\\"\"}]}", "" },
		{ "{\"XAttrs\":[]}", "" },
		{ "{\"XAttrs\":7}", "" },
		{ REMOTE("XAttrNotFoundException", "x"), "" },
		{ "", "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(200, rows[i].body);
		char digest[SHA256_TEXT_MAX];

		webhdfs_read_digest(&a, digest);
		assert_string_equal(digest, rows[i].digest);
		strbuf_release(&a.body);
	}
}

static void only_a_no_is_a_no(void **state)
{
	static const struct {
		const char *body;
		bool no;
	} rows[] = { { "{\"boolean\":false}", true },
		     { "{\"boolean\":true}", false },
		     { "", false },
		     { "{}", false } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(200, rows[i].body);

		assert_int_equal(webhdfs_refused(&a), rows[i].no);
		strbuf_release(&a.body);
	}
}

static void data_go_to_webhdfs_and_never_from_tls_to_plain_text(void **state)
{
	static const struct {
		const char *location;
		bool tls, good;
	} rows[] = {
		{ "http://dn1:9864/webhdfs/v1/x?op=CREATE&user.name=ray", false, true },
		{ "https://dn1:9865/webhdfs/v1/x?op=CREATE", true, true },
		{ "https://dn1:9865/webhdfs/v1/x?op=CREATE", false, true },
		{ "http://dn1:9864/webhdfs/v1/x?op=CREATE", true, false },
		{ "http://dn1:9864/other/x?op=CREATE", false, false },
		{ "http://dn1:9864/webhdfs/v1/x?op=DELETE", false, false },
		{ "http://u:p@dn1:9864/webhdfs/v1/x?op=CREATE", false, false },
		{ "file:///etc/passwd?/webhdfs/v1/op=CREATE", false, false },
		{ "//dn1/webhdfs/v1/x?op=CREATE", false, false },
		{ "http://dn1", false, false },
		{ "", false, false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct fault fault;

		if ((webhdfs_check_location(rows[i].location, "op=CREATE", rows[i].tls, &fault) ==
		     0) != rows[i].good)
			fail_msg("%s", rows[i].location);
	}
}

/* Each value of two bytes costs eighty bytes of memory. */
static void json_without_end_is_not_parsed(void **state)
{
	struct http_answer a = answer_of(200, "{\"Token\":{\"urlString\":\"HAAE\"},\"x\":[0");
	char *token = NULL;
	(void)state;

	while (a.body.len < HTTP_JSON_MAX)
		strbuf_adds(&a.body, ",0");
	strbuf_adds(&a.body, "]}");
	assert_true(webhdfs_read_token(&a, &token, NULL) < 0);
	strbuf_release(&a.body);
}

static void a_delegation_token_in_a_redirect_is_not_shown(void **state)
{
	static const char *const locations[] = {
		"http://dn:9864/webhdfs/v1/x?op=CREATE&delegation=HAAEsecret",
		"https://dn:9865/x?delegation=HAAEsecret",
		"http://dn:9864\33]0;\7/webhdfs/v1/x?op=CREATE&delegation=HAAEsecret"
	};
	(void)state;

	for (size_t i = 0; i < sizeof(locations) / sizeof(*locations); i++) {
		struct http_answer answer = { .status = 307, .body = STRBUF_INIT(16) };
		struct fault fault = { 0 };

		assert_int_equal(webhdfs_check_location(locations[i], "op=CREATE", true, &fault),
				 -1);
		assert_non_null(strstr(fault.text, "//dn:986"));
		assert_null(strstr(fault.text, "secret"));
		assert_null(strpbrk(fault.text, "\33\7"));
		snprintf(answer.location, sizeof(answer.location), "%s", locations[i]);
		webhdfs_fault(&answer, "nn", &fault);
		assert_non_null(strstr(fault.text, "//dn:986"));
		assert_null(strstr(fault.text, "secret"));
		assert_null(strpbrk(fault.text, "\33\7"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_delegation_token_in_a_redirect_is_not_shown),
		cmocka_unit_test(json_without_end_is_not_parsed),
		cmocka_unit_test(exceptions_are_explained_in_sentences),
		cmocka_unit_test(a_refused_ticket_is_explained_by_the_clock_or_by_the_servers_log),
		cmocka_unit_test(only_a_token_that_is_not_valid_is_refused),
		cmocka_unit_test(a_delegation_token_is_one_word),
		cmocka_unit_test(a_file_is_distinguished_from_a_directory),
		cmocka_unit_test(a_digest_comes_in_quotes_or_not_at_all),
		cmocka_unit_test(only_a_no_is_a_no),
		cmocka_unit_test(data_go_to_webhdfs_and_never_from_tls_to_plain_text),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
