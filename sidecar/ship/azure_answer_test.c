/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of Azure's answers. */
#include "sidecar/ship/azure_answer.h"

#include <stdio.h>

#include "sidecar/ship/answer_testing.h"

#define MD5 "CY9rzUYh03PK3k6DJie09g=="
#define OTHER_MD5 "1B2M2Y8AsgTpgAmY7PhCfg=="
#define ERROR(code) "\xef\xbb\xbf<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>" code "</Code><Message>m\nRequestId:7</Message></Error>"

static const struct azure_place place = { .container = "ray",
					  .endpoint = "https://a.blob",
					  .is_signed = true };

/* The text shows where a redirect leads, and no secret of its URL. */
static int explain(const struct http_answer *answer, struct fault *fault)
{
	struct http_answer redirect = *answer;
	int r;

	snprintf(redirect.location, sizeof(redirect.location),
		 "https://else\33[2Jwhere\r/c?sig=secret");
	r = azure_fault(&redirect, &place, fault);
	assert_null(strstr(fault->text, "secret"));
	assert_null(strpbrk(fault->text, "\33\r"));
	return r;
}

static void errors_are_explained_in_sentences(void **state)
{
	static const struct fault_row rows[] = {
		{ 403, ERROR("AuthenticationFailed"), 0, FAULT_CREDENTIALS,
		  "does not accept the account key" },
		{ 403, ERROR("AuthenticationFailed"), 3598, FAULT_CLOCK,
		  "clock is 1 h 0 min ahead of the store's" },
		{ 401, ERROR("InvalidAuthenticationInfo"), 0, FAULT_CREDENTIALS,
		  "does not accept" },
		{ 403, ERROR("AuthorizationPermissionMismatch"), 0, FAULT_PERMISSION,
		  "Storage Blob Data Contributor" },
		{ 403, ERROR("AuthorizationFailure"), 0, FAULT_PERMISSION,
		  "network rules exclude" },
		{ 403, ERROR("KeyBasedAuthenticationNotPermitted"), 0, FAULT_PERMISSION,
		  "workload identity" },
		{ 404, ERROR("ContainerNotFound"), 0, FAULT_BUCKET_MISSING,
		  "container ray at https://a.blob: the container does not exist" },
		{ 409, ERROR("BlobImmutableDueToLegalHold"), 0, FAULT_OCCUPIED, "legal hold" },
		{ 409, ERROR("BlobOperationNotSupported"), 0, FAULT_OCCUPIED, "Data Lake" },
		{ 409, ERROR("BlobArchived"), 0, FAULT_PERMISSION, "rehydrate it" },
		{ 409, ERROR("BlobBeingRehydrated"), 0, FAULT_PERMISSION, "some hours" },
		{ 403, ERROR("UnauthorizedBlobOverwrite"), 0, FAULT_PERMISSION, "permission w" },
		{ 400, ERROR("InvalidResourceName"), 0, FAULT_PROTOCOL,
		  "check the container and the prefix" },
		{ 400, ERROR("OutOfRangeInput"), 0, FAULT_PROTOCOL, "too short or too long" },
		{ 400, ERROR("InvalidBlobOrBlock"), 0, FAULT_OCCUPIED, "wait a week" },
		{ 409, ERROR("BlobImmutableDueToPolicy"), 0, FAULT_OCCUPIED,
		  "immutability policy" },
		{ 400, ERROR("Md5Mismatch"), 0, FAULT_BUNDLE_CHANGED,
		  "what arrived is not what was sent" },
		{ 400, ERROR("InvalidBlockList"), 0, FAULT_SERVER, "not there any more" },
		{ 503, ERROR("ServerBusy"), 0, FAULT_SERVER, "fewer requests" },
		{ 503, "", 0, FAULT_SERVER, "status 503" },
		{ 429, "", 0, FAULT_SERVER, "status 429" },
		{ 400, ERROR("Strange"), 0, FAULT_PROTOCOL, "Strange: m RequestId:7" },
		{ 400, "<html>", 0, FAULT_PROTOCOL, "is it an Azure Blob Storage server?" },
		{ 307, "", 0, FAULT_REDIRECT,
		  "to https://else?[2Jwhere?, which is not followed: set account and endpoint right" },
	};
	(void)state;

	check_faults(rows, ARRAY_SIZE(rows), explain);
}

static void an_answer_without_a_body_has_its_code_in_a_header(void **state)
{
	struct http_answer a = answer_of(403, "");
	struct fault fault = { 0 };
	(void)state;

	snprintf(a.error_code, sizeof(a.error_code), "AuthorizationFailure");
	assert_int_equal(azure_fault(&a, &place, &fault), -1);
	assert_int_equal(fault.kind, FAULT_PERMISSION);
	assert_non_null(strstr(fault.text, "network rules exclude"));
	strbuf_release(&a.body);
}

static void a_wrong_clock_and_an_old_token_are_to_blame_only_where_they_can_be(void **state)
{
	static const struct {
		const char *body;
		bool is_signed, has_expired;
		int64_t clock_off_s;
		enum fault_kind kind;
	} rows[] = {
		{ ERROR("AuthorizationPermissionMismatch"), true, false, 3600, FAULT_CLOCK },
		{ ERROR("AuthorizationPermissionMismatch"), false, false, 3600, FAULT_PERMISSION },
		{ ERROR("AuthenticationFailed"), false, false, 3600, FAULT_CLOCK },
		{ ERROR("AuthenticationFailed"), false, true, 3600, FAULT_CLOCK },
		{ ERROR("AuthenticationFailed"), false, true, 0, FAULT_EXPIRED },
		{ ERROR("AuthenticationFailed"), false, false, 0, FAULT_CREDENTIALS },
		{ ERROR("AuthorizationFailure"), false, true, 0, FAULT_PERMISSION },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(403, rows[i].body);
		struct fault fault = { 0 };

		a.clock_off_s = rows[i].clock_off_s;
		azure_fault(
			&a,
			&(struct azure_place){ "c", "e", rows[i].is_signed, rows[i].has_expired },
			&fault);
		if (fault.kind != rows[i].kind ||
		    strncmp(fault.text, "container c at e: ", 18) != 0)
			fail_msg("row %zu: %s: %s", i, fault_kind_name(fault.kind), fault.text);
		strbuf_release(&a.body);
	}
}

static void a_pause_that_is_asked_for_is_kept(void **state)
{
	struct http_answer a = answer_of(503, ERROR("ServerBusy"));
	struct fault fault = { 0 };
	(void)state;

	a.retry_after_s = 17;
	azure_fault(&a, &(struct azure_place){ .container = "c", .endpoint = "e" }, &fault);
	assert_int_equal(fault.retry_after_s, 17);
	strbuf_release(&a.body);
}

static void only_a_blob_that_is_missing_is_no_error(void **state)
{
	static const struct {
		int status;
		const char *body;
		bool missing;
	} rows[] = {
		{ 404, ERROR("BlobNotFound"), true }, { 404, ERROR("ContainerNotFound"), false }, { 404, "", false },
		{ 200, ERROR("BlobNotFound"), false }, { 206, ERROR("BlobNotFound"), false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct http_answer a = answer_of(rows[i].status, rows[i].body);

		assert_int_equal(azure_no_blob(&a), rows[i].missing);
		strbuf_release(&a.body);
	}
}

/* Parses a list of uncommitted blocks. Names and sizes alternate, and NULL ends the list. */
static void read_list(struct azure_blocks *blocks, const char *const *names)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT(1 << 20);

	strbuf_adds(&xml,
		    "<?xml version=\"1.0\" encoding=\"utf-8\"?><BlockList><UncommittedBlocks>");
	for (; *names; names += 2)
		strbuf_addf(&xml, "<Block><Name>%s</Name><Size>%s</Size></Block>", names[0],
			    names[1]);
	strbuf_adds(&xml, "</UncommittedBlocks></BlockList>");
	assert_int_equal(azure_read_blocks(strbuf_str(&xml), xml.len, blocks, NULL), 0);
}

static void blocks_that_may_be_of_this_file_are_known_by_their_names(void **state)
{
	char first[AZURE_BLOCK_ID_MAX], second[AZURE_BLOCK_ID_MAX], last[AZURE_BLOCK_ID_MAX],
		beyond[AZURE_BLOCK_ID_MAX], smaller[AZURE_BLOCK_ID_MAX], other[AZURE_BLOCK_ID_MAX],
		ids[3][AZURE_BLOCK_ID_MAX] = { "" };
	struct azure_blocks blocks = { .size = 25, .part = 10, .n = 3, .ids = ids };
	(void)state;

	azure_block_id(MD5, 10, 0, first);
	azure_block_id(MD5, 10, 1, second);
	azure_block_id(MD5, 10, 2, last);
	azure_block_id(MD5, 10, 3, beyond);
	azure_block_id(MD5, 5, 1, smaller);
	azure_block_id(OTHER_MD5, 10, 0, other);
	assert_int_equal(strlen(first), 64);
	assert_int_equal(strlen(last), 64);
	read_list(&blocks,
		  (const char *const[]){ smaller, "10", beyond, "10", "x", "10", "", "10", second,
					 "9", second, "-10", second, "1e1", last, "5", NULL });
	assert_string_equal(ids[0], "");
	assert_string_equal(ids[1], "");
	assert_string_equal(ids[2], last);
	/* The name shows whether the content is the same. */
	read_list(&blocks, (const char *const[]){ other, "10", NULL });
	assert_string_equal(ids[0], other);
	assert_string_not_equal(ids[0], first);
}

static void what_is_no_list_has_no_blocks(void **state)
{
	static const char *const texts[] = {
		"", "<html>", "<BlockList>", "<!DOCTYPE x [<!ENTITY a \"b\">]><BlockList/>", "<a><a><a><a><a><a><a><a><a>",
	};
	char ids[1][AZURE_BLOCK_ID_MAX] = { "" };
	struct azure_blocks blocks = { .size = 1, .part = 1, .n = 1, .ids = ids };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err err = { 0 };

		assert_true(azure_read_blocks(texts[i], strlen(texts[i]), &blocks, &err) < 0);
		assert_true(*err_text(&err));
	}
	assert_int_equal(azure_read_blocks("<BlockList/>", 12, &blocks, NULL), 0);
	assert_string_equal(ids[0], "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_explained_in_sentences),
		cmocka_unit_test(an_answer_without_a_body_has_its_code_in_a_header),
		cmocka_unit_test(
			a_wrong_clock_and_an_old_token_are_to_blame_only_where_they_can_be),
		cmocka_unit_test(a_pause_that_is_asked_for_is_kept),
		cmocka_unit_test(only_a_blob_that_is_missing_is_no_error),
		cmocka_unit_test(blocks_that_may_be_of_this_file_are_known_by_their_names),
		cmocka_unit_test(what_is_no_list_has_no_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
