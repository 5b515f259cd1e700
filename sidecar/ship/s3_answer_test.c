/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of S3's answers and URLs. */
#include "sidecar/ship/s3_answer.h"

#include <stdio.h>

#include "sidecar/ship/answer_testing.h"
#include "sidecar/ship/s3.h"

static const struct s3_place place = { .bucket = "b", .region = "eu-1", .endpoint = "https://s3" };

static int explain(const struct http_answer *answer, struct fault *fault)
{
	return s3_fault(answer, &place, fault);
}

#define ERROR(code) "<?xml version=\"1.0\"?><Error><Code>" code "</Code><Message>m</Message></Error>"

#define DENIED(action, reason) \
	"<Error><Code>AccessDenied</Code><Message>User: arn:aws:sts::111122223333:assumed-role/ray-failures/afterglow-ship is not " \
	"authorized to perform: " action " on resource: &quot;arn:aws:s3:::failures/ray/report.txt&quot; " reason "</Message></Error>"

static void errors_are_explained_in_sentences(void **state)
{
	static const struct fault_row rows[] = {
		{ 403, ERROR("InvalidAccessKeyId"), 0, FAULT_CREDENTIALS,
		  "does not know the access key id" },
		{ 403, ERROR("SignatureDoesNotMatch"), 0, FAULT_CREDENTIALS,
		  "secret access key does not belong" },
		{ 403, ERROR("SignatureDoesNotMatch"), 3598, FAULT_CLOCK,
		  "clock is 1 h 0 min ahead of the store's" },
		{ 403, ERROR("RequestTimeTooSkewed"), -3689, FAULT_CLOCK,
		  "clock is 1 h 1 min behind the store's" },
		{ 403, ERROR("RequestTimeTooSkewed"), 0, FAULT_CLOCK, "clock differs too much" },
		/* "Date: Sat, 01 Jan 2400 00:00:00 GMT": as nanoseconds that is no number. */
		{ 403, ERROR("RequestTimeTooSkewed"), -11775974400, FAULT_CLOCK,
		  "clock differs too much" },
		{ 400, ERROR("ExpiredToken"), 0, FAULT_EXPIRED, "has expired" },
		{ 403, ERROR("AccessDenied"), 0, FAULT_PERMISSION, "may not do this (AccessDenied: m)" },
		{ 403, "<Error><Code>AccessDenied</Code></Error>", 0, FAULT_PERMISSION, "may not do this (AccessDenied)" },
		{ 403, DENIED("kms:GenerateDataKey", "because no identity-based policy allows the kms:GenerateDataKey action"), 0,
		  FAULT_PERMISSION, "may not use the key of KMS: allow kms:GenerateDataKey and kms:Decrypt (AccessDenied: User: arn:" },
		{ 403, DENIED("s3:PutObject", "with an explicit deny in a resource-based policy"), 0, FAULT_PERMISSION,
		  "a policy denies this explicitly, whatever others allow (AccessDenied: User: arn:" },
		{ 403, DENIED("s3:PutObject", "with an explicit deny in a resource-based policy"), 0, FAULT_PERMISSION,
		  "with an explicit deny in a resource-based policy)" },
		{ 400, ERROR("KMS.DisabledException"), 0, FAULT_PERMISSION, "key of KMS is disabled (KMS.DisabledException: m)" },
		{ 403, "", 0, FAULT_PERMISSION, "status 403" },
		{ 404, ERROR("NoSuchBucket"), 0, FAULT_BUCKET_MISSING, "does not exist" },
		{ 503, ERROR("SlowDown"), 0, FAULT_SERVER, "fewer requests" },
		{ 500, "", 0, FAULT_SERVER, "status 500" },
		{ 429, "", 0, FAULT_SERVER, "status 429" },
		{ 507, "", 0, FAULT_NO_SPACE, "status 507" },
		{ 401, "", 0, FAULT_CREDENTIALS, "status 401" },
		{ 301, "<Error><Code>PermanentRedirect</Code><Region>us-2</Region></Error>", 0,
		  FAULT_REDIRECT, "region us-2, not eu-1" },
		{ 400,
		  "<Error><Code>AuthorizationHeaderMalformed</Code><Region>us-2</Region></Error>",
		  0, FAULT_REDIRECT, "us-2" },
		{ 307, "", 0, FAULT_REDIRECT, "not followed" },
		{ 307, ERROR("TemporaryRedirect"), 0, FAULT_SERVER, "the bucket is new" },
		{ 400, "<ErrorResponse><Error><Code>IDPCommunicationError</Code></Error></ErrorResponse>", 0, FAULT_SERVER,
		  "could not reach the identity provider" },
		{ 400, ERROR("Strange"), 0, FAULT_PROTOCOL, "Strange: m" },
		{ 400, "<html>", 0, FAULT_PROTOCOL, "is it an S3 server?" },
		{ 200, ERROR("InternalError"), 0, FAULT_SERVER, "internal error" },
		{ 403,
		  "<ErrorResponse><Error><Code>InvalidIdentityToken</Code></Error></ErrorResponse>",
		  0, FAULT_CREDENTIALS, "web identity token is not accepted" },
	};
	(void)state;

	check_faults(rows, ARRAY_SIZE(rows), explain);
}

static void what_a_server_says_cannot_fake_a_line_of_a_log(void **state)
{
	struct http_answer a = answer_of(
		400, "<Error><Code>X&#10;Y</Code><Message>a&#27;[31m\xc3\xa4</Message></Error>");
	struct fault fault = { 0 };
	(void)state;

	s3_fault(&a, &place, &fault);
	for (const char *p = fault.text; *p; p++)
		assert_in_range(*p, ' ', '~');
	strbuf_release(&a.body);
}

#define LIST(parts, rest) "<ListPartsResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">" parts rest "</ListPartsResult>"
#define PART(n, size, etag) "<Part><PartNumber>" n "</PartNumber><Size>" size "</Size><ETag>" etag "</ETag></Part>"

static int list(const char *xml, struct s3_part *parts, int64_t *next)
{
	for (int i = 0; i < 3; i++)
		parts[i] = (struct s3_part){ .size = -1 };
	return s3_list_parts(xml, strlen(xml), parts, 3, next, NULL);
}

static void parts_that_the_server_has_are_listed(void **state)
{
	struct s3_part parts[3];
	int64_t next = -1;
	(void)state;

	assert_int_equal(list(LIST(PART("3", "7", "&quot;e3&quot;") PART("1", "5", "e1"),
				   "<IsTruncated>false</IsTruncated>"),
			      parts, &next),
			 0);
	assert_int_equal(parts[0].size, 5);
	assert_string_equal(parts[0].etag, "e1");
	assert_int_equal(parts[1].size, -1);
	assert_string_equal(parts[2].etag, "\"e3\"");
	assert_int_equal(next, 0);
	assert_int_equal(
		list(LIST("",
			  "<IsTruncated>true</IsTruncated><NextPartNumberMarker>3</NextPartNumberMarker>"),
		     parts, &next),
		0);
	assert_int_equal(next, 3);
}

static void a_checksum_is_a_sha256_in_base64(void **state)
{
	char checksum[S3_CHECKSUM_MAX];
	(void)state;

	assert_string_equal(
		s3_checksum("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
			    checksum),
		"47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
}

static void an_etag_is_an_md5_or_something_else(void **state)
{
	static const unsigned char md5[16] = { 0x0a, 0xff, 0x10 };
	(void)state;

	assert_true(s3_etag_is("0aff1000000000000000000000000000", md5));
	assert_true(s3_etag_is("\"0AFF1000000000000000000000000000\"", md5));
	assert_false(s3_etag_is("\"0aff1000000000000000000000000001\"", md5));
	assert_false(s3_etag_is("\"0aff1000000000000000000000000000-2\"", md5));
	assert_false(s3_etag_is("0aff10", md5));
	assert_false(s3_etag_is("\"", md5));
	assert_false(s3_etag_is("", md5));
}

static void parts_that_cannot_be_are_not_believed(void **state)
{
	static const char *const bad[] = {
		LIST(PART("0", "5", "e"), ""),	LIST(PART("4", "5", "e"), ""),	   LIST(PART("-1", "5", "e"), ""),
		LIST(PART("1", "-5", "e"), ""), LIST(PART("1", "x", "e"), ""),	   LIST(PART("1", "5", ""), ""),
		LIST(PART("1", "5", "a b"), ""), LIST(PART("1", "5", "&lt;x&gt;"), ""), LIST("<Part><ETag>e</ETag></Part>", ""),
		LIST(PART("99999999999999999999", "5", "e"), ""),
	};
	struct s3_part parts[3];
	int64_t next;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		assert_int_equal(list(bad[i], parts, &next), 0);
		for (int j = 0; j < 3; j++)
			assert_int_equal(parts[j].size, -1);
	}
	assert_true(list(LIST("", "<IsTruncated>true</IsTruncated>"), parts, &next) < 0);
	assert_true(list("<ListPartsResult>", parts, &next) < 0);
	/* A server could list pages for ever. */
	assert_true(
		list(LIST("",
			  "<IsTruncated>true</IsTruncated><NextPartNumberMarker>10001</NextPartNumberMarker>"),
		     parts, &next) < 0);
}

static void count_upload(const char *id, void *arg)
{
	(void)id;
	++*(size_t *)arg;
}

/* Each costs a request. */
static void uploads_without_end_are_not_all_aborted(void **state)
{
	_cleanup_strbuf_ struct strbuf xml = STRBUF_INIT(1 << 20);
	size_t n = 0;
	(void)state;

	strbuf_adds(&xml, "<ListMultipartUploadsResult>");
	for (int i = 0; i < 2000; i++)
		strbuf_adds(&xml, "<Upload><Key>k</Key><UploadId>u</UploadId></Upload>");
	strbuf_adds(&xml, "</ListMultipartUploadsResult>");
	assert_int_equal(s3_list_uploads(strbuf_str(&xml), xml.len, "k", count_upload, &n, NULL),
			 0);
	assert_int_equal(n, S3_UPLOADS_MAX);
}

static void documents_that_s3_never_sends_are_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf deep = STRBUF_INIT(1 << 16), wide = STRBUF_INIT(1 << 16);
	char id[UPLOAD_ID_MAX];
	static const char entity[] =
		"<!DOCTYPE x [<!ENTITY a \"aaaa\">]><InitiateMultipartUploadResult>"
		"<UploadId>&a;</UploadId></InitiateMultipartUploadResult>";
	(void)state;

	assert_true(s3_upload_id(entity, strlen(entity), id, NULL) < 0);
	for (int i = 0; i < 1000; i++)
		strbuf_adds(&deep, "<a>");
	assert_true(s3_upload_id(strbuf_str(&deep), deep.len, id, NULL) < 0);
	strbuf_adds(&wide, "<InitiateMultipartUploadResult><UploadId>");
	for (int i = 0; i < 3000; i++)
		strbuf_addc(&wide, 'u');
	strbuf_adds(&wide, "</UploadId></InitiateMultipartUploadResult>");
	assert_true(s3_upload_id(strbuf_str(&wide), wide.len, id, NULL) < 0);
}

static void remember(const char *id, void *arg)
{
	strbuf_addf(arg, "%s;", id);
}

static void only_uploads_of_just_this_key_are_ours(void **state)
{
	static const char xml[] =
		"<ListMultipartUploadsResult><Upload><Key>a/core</Key><UploadId>1</UploadId></Upload>"
		"<Upload><Key>a/core2</Key><UploadId>2</UploadId></Upload>"
		"<Upload><UploadId>3</UploadId><Key>a/core</Key></Upload>"
		"<Upload><UploadId>4</UploadId></Upload></ListMultipartUploadsResult>";
	_cleanup_strbuf_ struct strbuf ids = STRBUF_INIT(100);
	(void)state;

	assert_int_equal(s3_list_uploads(xml, strlen(xml), "a/core", remember, &ids, NULL), 0);
	assert_string_equal(strbuf_str(&ids), "1;3;");
}

#define STS(fields) \
	"<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>" fields \
	"</Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>"

static void credentials_of_a_role_are_read_whole_or_not(void **state)
{
	static const char good[] =
		STS("<SessionToken>t</SessionToken><SecretAccessKey>s</SecretAccessKey>"
		    "<AccessKeyId>a</AccessKeyId><Expiration>2026</Expiration>");
	static const char bad[] = STS("<SessionToken>t</SessionToken><AccessKeyId>a</AccessKeyId>");
	struct sts_credentials c = { 0 };
	(void)state;

	assert_int_equal(sts_read_credentials(good, strlen(good), &c, NULL), 0);
	assert_string_equal(c.access_key_id, "a");
	assert_string_equal(c.secret_access_key, "s");
	assert_string_equal(c.session_token, "t");
	sts_credentials_release(&c);
	assert_true(sts_read_credentials(bad, strlen(bad), &c, NULL) < 0);
	assert_null(c.access_key_id);
}

static void the_bucket_is_in_the_host_or_in_the_path(void **state)
{
	static const struct {
		const char *endpoint;
		bool path_style;
		const char *key;
		struct object_param params[2];
		const char *url;
	} rows[] = {
		{ "https://s3.eu.amazonaws.com", false, "a b/c", { { NULL, NULL } }, "https://bkt.s3.eu.amazonaws.com/a%20b/c" },
		{ "https://s3.eu.amazonaws.com/", true, "a/c", { { "uploads", "" } }, "https://s3.eu.amazonaws.com/bkt/a/c?uploads=" },
		{ "http://[::1]:9000", true, "", { { "x", "1&/" } }, "http://[::1]:9000/bkt/?x=1%26%2F" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf url = STRBUF_INIT(200);

		s3_url(&url, rows[i].endpoint, rows[i].path_style, "bkt", rows[i].key);
		object_add_params(&url, rows[i].params);
		assert_string_equal(strbuf_str(&url), rows[i].url);
	}
}

static void where_a_host_cannot_be_the_path_is_taken(void **state)
{
	(void)state;
	assert_false(s3_needs_path_style("https://s3.eu.amazonaws.com", "bkt"));
	assert_false(s3_needs_path_style("http://minio:9000", "my.bkt"));
	assert_true(s3_needs_path_style("https://s3.eu.amazonaws.com", "my.bkt"));
	assert_true(s3_needs_path_style("https://s3.eu.amazonaws.com", "Bkt"));
	assert_true(s3_needs_path_style("https://s3.eu.amazonaws.com", "my_bkt"));
	assert_true(s3_needs_path_style("http://10.0.0.1:9000", "bkt"));
	assert_true(s3_needs_path_style("http://[fd00::1]:9000", "bkt"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_are_explained_in_sentences),
		cmocka_unit_test(what_a_server_says_cannot_fake_a_line_of_a_log),
		cmocka_unit_test(parts_that_the_server_has_are_listed),
		cmocka_unit_test(a_checksum_is_a_sha256_in_base64),
		cmocka_unit_test(an_etag_is_an_md5_or_something_else),
		cmocka_unit_test(parts_that_cannot_be_are_not_believed),
		cmocka_unit_test(uploads_without_end_are_not_all_aborted),
		cmocka_unit_test(documents_that_s3_never_sends_are_refused),
		cmocka_unit_test(only_uploads_of_just_this_key_are_ours),
		cmocka_unit_test(credentials_of_a_role_are_read_whole_or_not),
		cmocka_unit_test(the_bucket_is_in_the_host_or_in_the_path),
		cmocka_unit_test(where_a_host_cannot_be_the_path_is_taken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
