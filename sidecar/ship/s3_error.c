/* SPDX-License-Identifier: Apache-2.0 */
/* S3's errors in words for people: what is wrong and what would be right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/s3_answer.h"
#include "sidecar/ship/xml_leaves.h"

/* S3 refuses requests that are more than 15 minutes off; with answers that take long a bit less is suspect. */
#define CLOCK_OFF_MAX_S (14 * 60)

struct s3_error {
	char code[64], message[256], region[64];
};

/* STS wraps it in ErrorResponse. */
static int take_error(const char *path, const char *text, void *arg)
{
	struct s3_error *e = arg;

	if (strncmp(path, "ErrorResponse/", 14) == 0)
		path += 14;
	if (!text || strncmp(path, "Error/", 6) != 0)
		return 0;
	path += 6;
	if (strcmp(path, "Code") == 0)
		snprintf(e->code, sizeof(e->code), "%s", text);
	else if (strcmp(path, "Message") == 0)
		snprintf(e->message, sizeof(e->message), "%s", text);
	else if (strcmp(path, "Region") == 0)
		snprintf(e->region, sizeof(e->region), "%s", text);
	return 0;
}

/* What a server says ends up in logs. */
static void make_printable(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || (unsigned char)*s >= 0x7f)
			*s = '?';
}

static void read_error(const struct http_answer *answer, struct s3_error *e)
{
	*e = (struct s3_error){ 0 };
	xml_leaves(strbuf_str(&answer->body), answer->body.len, take_error, e, NULL);
	if (!*e->region)
		snprintf(e->region, sizeof(e->region), "%s", answer->region);
	make_printable(e->code);
	make_printable(e->message);
	make_printable(e->region);
}

void s3_error_code(const struct http_answer *answer, char code[static 64])
{
	struct s3_error e;

	read_error(answer, &e);
	memcpy(code, e.code, sizeof(e.code));
}

/* Sentences say "the bucket" and "the store"; the caller puts before them which. */
static const struct {
	const char *code;
	enum fault_kind kind;
	const char *sentence;
} errors[] = {
	{ "InvalidAccessKeyId", FAULT_CREDENTIALS, "the store does not know the access key id" },
	{ "XAdminUserNotFound", FAULT_CREDENTIALS, "the store does not know the access key id" }, /* versitygw */
	{ "SignatureDoesNotMatch", FAULT_CREDENTIALS, "the secret access key does not belong to the access key id" },
	{ "InvalidToken", FAULT_CREDENTIALS, "the session token is not one of these keys" },
	{ "InvalidClientTokenId", FAULT_CREDENTIALS, "the store does not know the access key id" },
	{ "InvalidIdentityToken", FAULT_CREDENTIALS, "the web identity token is not accepted" },
	{ "ExpiredToken", FAULT_EXPIRED, "the session token has expired" },
	{ "ExpiredTokenException", FAULT_EXPIRED, "the web identity token has expired" },
	{ "TokenRefreshRequired", FAULT_EXPIRED, "the session token has expired" },
	{ "AccessDenied", FAULT_PERMISSION, "the credentials are right, but may not do this" },
	{ "AllAccessDisabled", FAULT_PERMISSION, "all access to the bucket is disabled" },
	{ "AccountProblem", FAULT_PERMISSION, "the account has a problem" },
	{ "MethodNotAllowed", FAULT_PERMISSION, "the store does not allow this" },
	{ "RequestTimeTooSkewed", FAULT_CLOCK, "" },
	{ "RequestExpired", FAULT_CLOCK, "" },
	{ "NoSuchBucket", FAULT_BUCKET_MISSING, "the bucket does not exist: create it, or name another" },
	{ "QuotaExceeded", FAULT_NO_SPACE, "the quota is used up" },
	{ "XMinioStorageFull", FAULT_NO_SPACE, "the store is full" },
	{ "InsufficientStorage", FAULT_NO_SPACE, "the store is full" },
	{ "EntityTooLarge", FAULT_NO_SPACE, "the file is larger than the store takes" },
	{ "XAmzContentSHA256Mismatch", FAULT_BUNDLE_CHANGED, "what was read is not what " PLAN_MANIFEST " says of it" },
	{ "BadDigest", FAULT_BUNDLE_CHANGED, "what arrived is not what was sent" },
	{ "SlowDown", FAULT_SERVER, "the store asks for fewer requests" },
	{ "ServiceUnavailable", FAULT_SERVER, "the store is not available now" },
	{ "InternalError", FAULT_SERVER, "the store has an internal error" },
	{ "RequestTimeout", FAULT_SERVER, "the store waited too long for data" },
	{ "OperationAborted", FAULT_SERVER, "another operation is under way" },
	{ "NoSuchUpload", FAULT_SERVER, "the upload in parts is not there any more" },
	{ "InvalidPart", FAULT_SERVER, "a part of the upload is not there any more" },
	{ "IncompleteBody", FAULT_SERVER, "not all of the request arrived" },
};

static int clock_fault(int64_t off_s, struct fault *fault)
{
	/* To the minute: the answer was some seconds on its way. */
	int64_t off_ns = ((off_s < 0 ? -off_s : off_s) + 30) / 60 * 60 * NS_PER_SEC;
	char text[DURATION_TEXT_MAX];

	if (off_ns == 0)
		return fault_set(fault, FAULT_CLOCK, "this machine's clock differs too much from the store's: set it right");
	return fault_set(fault, FAULT_CLOCK, "this machine's clock is %s %s the store's: set it right",
			 duration_format(off_ns, text), off_s < 0 ? "behind" : "ahead of");
}

static int region_fault(const struct s3_error *e, const struct s3_place *place, struct fault *fault)
{
	return fault_set(fault, FAULT_REDIRECT, "the bucket is in region %s, not %s: set the region", e->region, place->region);
}

/* Of no code that we know: by the status. */
static int by_status(const struct http_answer *a, const struct s3_error *e, struct fault *fault)
{
	enum fault_kind kind = FAULT_PROTOCOL;

	if (a->status >= 500 || a->status == 429 || a->status == 408)
		kind = a->status == 507 ? FAULT_NO_SPACE : FAULT_SERVER;
	else if (a->status == 401 || a->status == 407)
		kind = FAULT_CREDENTIALS;
	else if (a->status == 403)
		kind = FAULT_PERMISSION;
	else if (a->status >= 300 && a->status < 400)
		return fault_set(fault, FAULT_REDIRECT, "it redirects (status %d) to %.100s, which is not followed: set "
							"endpoint and region right", a->status, *a->location ? a->location : "nowhere");
	if (!*e->code)
		return fault_set(fault, kind, "status %d, and no error as S3 has it: is it an S3 server?", a->status);
	return fault_set(fault, kind, "status %d, %s: %s", a->status, e->code, e->message);
}

static int explain(const struct http_answer *a, const struct s3_error *e, const struct s3_place *place, struct fault *fault)
{
	size_t i = 0;

	while (i < ARRAY_SIZE(errors) && strcmp(e->code, errors[i].code) != 0)
		i++;
	if (i < ARRAY_SIZE(errors) && errors[i].kind == FAULT_CLOCK)
		return clock_fault(a->clock_off_s, fault);
	/* Servers with no error of its own for it call the signature wrong or expired. */
	if ((a->status == 403 || a->status == 400) && (a->clock_off_s > CLOCK_OFF_MAX_S || a->clock_off_s < -CLOCK_OFF_MAX_S))
		return clock_fault(a->clock_off_s, fault);
	if (*e->region && strcmp(e->region, place->region) != 0 && (a->status == 301 || a->status == 307 || a->status == 400))
		return region_fault(e, place, fault);
	if (i < ARRAY_SIZE(errors))
		return fault_set(fault, errors[i].kind, "%s (%s)", errors[i].sentence, e->code);
	/* A HEAD has no body; only then is a 404 without a code the store's word. */
	return by_status(a, e, fault);
}

int s3_fault(const struct http_answer *answer, const struct s3_place *place, struct fault *fault)
{
	struct s3_error e;

	read_error(answer, &e);
	explain(answer, &e, place, fault);
	if (answer->retry_after_s > 0)
		fault->retry_after_s = answer->retry_after_s;
	return fault_wrap(fault, "bucket %s at %s", place->bucket, place->endpoint);
}
