/* SPDX-License-Identifier: Apache-2.0 */
/* Explains S3's errors in sentences for people: what is wrong, and how to mend it. */
#include <string.h>

#include "sidecar/ship/plan.h"
#include "sidecar/ship/s3_answer.h"
#include "sidecar/ship/store_error.h"

void s3_error_code(const struct http_answer *answer, char code[static 64])
{
	struct store_error e;

	store_error_read(answer, &e);
	memcpy(code, e.code, sizeof(e.code));
}

/* clang-format off */
static const struct store_error_row rows[] = {
	{ "InvalidAccessKeyId", FAULT_CREDENTIALS, "the store does not know the access key id" },
	/* versitygw */
	{ "XAdminUserNotFound", FAULT_CREDENTIALS, "the store does not know the access key id" },
	{ "SignatureDoesNotMatch", FAULT_CREDENTIALS, "the secret access key does not belong to the access key id" },
	{ "InvalidToken", FAULT_CREDENTIALS, "the session token is not one of these keys" },
	{ "InvalidClientTokenId", FAULT_CREDENTIALS, "the store does not know the access key id" },
	{ "InvalidIdentityToken", FAULT_CREDENTIALS, "the web identity token is not accepted" },
	{ "ExpiredToken", FAULT_EXPIRED, "the session token has expired" },
	{ "ExpiredTokenException", FAULT_EXPIRED, "the web identity token has expired" },
	{ "TokenRefreshRequired", FAULT_EXPIRED, "the session token has expired" },
	{ "AccessDenied", FAULT_PERMISSION, "the credentials are right, but may not do this" },
	{ "KMS.DisabledException", FAULT_PERMISSION, "the key of KMS is disabled" },
	{ "KMS.NotFoundException", FAULT_PERMISSION, "KMS has no such key in this region" },
	{ "KMS.KMSInvalidStateException", FAULT_PERMISSION, "the key of KMS cannot be used as it is" },
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
	{ "TemporaryRedirect", FAULT_SERVER, "the bucket is new, and its address is not known everywhere yet" },
	{ "IDPCommunicationError", FAULT_SERVER, "STS could not reach the identity provider" },
	{ "Throttling", FAULT_SERVER, "STS asks for fewer requests" },
	{ "ThrottlingException", FAULT_SERVER, "KMS asks for fewer requests" },
	{ "SlowDown", FAULT_SERVER, "the store asks for fewer requests" },
	{ "ServiceUnavailable", FAULT_SERVER, "the store is not available now" },
	{ "InternalError", FAULT_SERVER, "the store has an internal error" },
	{ "RequestTimeout", FAULT_SERVER, "the store waited too long for data" },
	{ "OperationAborted", FAULT_SERVER, "another operation is under way" },
	{ "NoSuchUpload", FAULT_SERVER, "the upload in parts is not there any more" },
	{ "InvalidPart", FAULT_SERVER, "a part of the upload is not there any more" },
	{ "IncompleteBody", FAULT_SERVER, "not all of the request arrived" },
};
/* clang-format on */

/* clang-format off */
static const struct store_error_table errors = {
	.service = "S3", .place = "endpoint and region", .rows = rows, .n = ARRAY_SIZE(rows),
};
/* clang-format on */

/*
 * AWS says "User: ARN is not authorized to perform: ACTION on resource: ARN because REASON", or
 * "with an explicit deny in a ...".
 */
static const char *denial_sentence(const struct store_error *e)
{
	if (strcmp(e->code, "AccessDenied") != 0)
		return NULL;
	if (strstr(e->message, "to perform: kms:"))
		return "the identity may not use the key of KMS: allow kms:GenerateDataKey and kms:Decrypt";
	return strstr(e->message, "explicit deny") ?
		       "a policy denies this explicitly, whatever others allow" :
		       NULL;
}

static int region_fault(const struct store_error *e, const struct s3_place *place,
			struct fault *fault)
{
	return fault_set(fault, FAULT_REDIRECT,
			 "the bucket is in region %s, not %s: set the region", e->region,
			 place->region);
}

int s3_fault(const struct http_answer *answer, const struct s3_place *place, struct fault *fault)
{
	const int status = answer->status;
	struct store_error e;

	store_error_read(answer, &e);
	const char *denial = denial_sentence(&e);
	if (*e.region && strcmp(e.region, place->region) != 0 &&
	    (status == 301 || status == 307 || status == 400) &&
	    !store_error_is_of_clock(&errors, answer, &e))
		region_fault(&e, place, fault);
	else if (denial)
		fault_set(fault, FAULT_PERMISSION, "%s (%s: %s)", denial, e.code, e.message);
	else
		store_error_explain(&errors, answer, &e, fault);
	return fault_wrap(fault, "bucket %s at %s", place->bucket, place->endpoint);
}
