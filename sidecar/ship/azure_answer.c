/* SPDX-License-Identifier: Apache-2.0 */
/* Reads Azure's answers, and explains its errors in sentences for people. */
#include "sidecar/ship/azure_answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base64.h"
#include "sidecar/ship/store_error.h"
#include "sidecar/ship/xml_leaves.h"

/*
 * --- Errors
 * ---------------------------------------------------------------------------------------------
 */

/* clang-format off */
static const struct store_error_row rows[] = {
	{ "AuthenticationFailed", FAULT_CREDENTIALS, "the store does not accept the account key or the SAS token, or the SAS token has expired" },
	{ "InvalidAuthenticationInfo", FAULT_CREDENTIALS, "the store does not accept the credentials" },
	{ "NoAuthenticationInformation", FAULT_CREDENTIALS, "the store wants other credentials" },
	{ "AuthorizationPermissionMismatch", FAULT_PERMISSION,
	  "the identity is known, but may not do this: it needs the role Storage Blob Data Contributor, or a SAS token with more permissions" },
	{ "AuthorizationFailure", FAULT_PERMISSION,
	  "the credentials may not do this, or the account's network rules exclude this cluster" },
	{ "AuthorizationProtocolMismatch", FAULT_PERMISSION, "the SAS token is for https alone" },
	{ "AuthorizationSourceIPMismatch", FAULT_PERMISSION, "the SAS token is not for this address" },
	{ "AuthorizationResourceTypeMismatch", FAULT_PERMISSION, "the SAS token is not for blobs" },
	{ "AuthorizationServiceMismatch", FAULT_PERMISSION, "the SAS token is not for Blob Storage" },
	{ "InsufficientAccountPermissions", FAULT_PERMISSION, "the credentials are right, but may not do this" },
	{ "KeyBasedAuthenticationNotPermitted", FAULT_PERMISSION, "the account takes no account keys: use workload identity" },
	{ "PublicAccessNotPermitted", FAULT_PERMISSION, "the account takes no requests without credentials" },
	{ "UnauthorizedBlobOverwrite", FAULT_PERMISSION,
	  "the credentials may create blobs, but not write them again: a SAS token needs the permission w" },
	{ "AccountIsDisabled", FAULT_PERMISSION, "the account is disabled" },
	{ "ContainerDisabled", FAULT_PERMISSION, "the container is disabled" },
	{ "ContainerNotFound", FAULT_BUCKET_MISSING, "the container does not exist: create it, or name another" },
	{ "ContainerBeingDeleted", FAULT_BUCKET_MISSING, "the container is being deleted: create it anew, or name another" },
	{ "InvalidResourceName", FAULT_PROTOCOL, "the store takes no such name: check the container and the prefix" },
	{ "OutOfRangeInput", FAULT_PROTOCOL, "a name is too short or too long for the store: check the container and the prefix" },
	{ "RequestBodyTooLarge", FAULT_NO_SPACE, "the file is larger than the store takes" },
	{ "BlockCountExceedsLimit", FAULT_NO_SPACE, "there are too many blocks of unfinished uploads of this file" },
	{ "Md5Mismatch", FAULT_BUNDLE_CHANGED, "what arrived is not what was sent" },
	{ "InvalidBlobType", FAULT_OCCUPIED, "something else has this name: a page blob or an append blob" },
	{ "InvalidBlobOrBlock", FAULT_OCCUPIED,
	  "another program has begun to upload a blob of this name: delete the blob, or wait a week, and what it has sent is gone" },
	{ "BlobImmutableDueToPolicy", FAULT_OCCUPIED, "an immutability policy protects the blob of this name" },
	{ "BlobImmutableDueToLegalHold", FAULT_OCCUPIED, "a legal hold protects the blob of this name" },
	{ "BlobOperationNotSupported", FAULT_OCCUPIED, "something else has written the blob of this name, such as Data Lake Storage: delete it" },
	{ "LeaseIdMissing", FAULT_OCCUPIED, "another program holds a lease on the blob of this name" },
	/* When a bundle is read, such a file is left out, as with Glacier on S3. */
	{ "BlobArchived", FAULT_PERMISSION, "the blob is in the archive tier: rehydrate it" },
	{ "BlobBeingRehydrated", FAULT_PERMISSION, "the blob is on its way out of the archive tier: try again in some hours" },
	{ "InvalidBlockList", FAULT_SERVER, "a block of the upload is not there any more" },
	{ "ServerBusy", FAULT_SERVER, "the store asks for fewer requests" },
	{ "OperationTimedOut", FAULT_SERVER, "the store did not finish in time" },
	{ "InternalError", FAULT_SERVER, "the store has an internal error" },
};
/* clang-format on */

/* clang-format off */
static const struct store_error_table errors = {
	.service = "Azure Blob Storage", .place = "account and endpoint", .rows = rows, .n = ARRAY_SIZE(rows),
};
/* clang-format on */

int azure_fault(const struct http_answer *answer, const struct azure_place *place,
		struct fault *fault)
{
	struct store_error_table table = errors;
	struct store_error e;

	store_error_read(answer, &e);
	if (!place->is_signed)
		table.clock_code = "AuthenticationFailed";
	store_error_explain(&table, answer, &e, fault);
	if (place->has_expired && fault->kind == FAULT_CREDENTIALS &&
	    strcmp(e.code, "AuthenticationFailed") == 0)
		fault_set(fault, FAULT_EXPIRED, "the SAS token has expired (%s)", e.code);
	return fault_wrap(fault, "container %s at %s", place->container, place->endpoint);
}

bool azure_no_blob(const struct http_answer *answer)
{
	struct store_error e;

	/*
	 * The body of a successful answer is that of the file, which may be large and have any
	 * content.
	 */
	if (answer->status != 404)
		return false;
	store_error_read(answer, &e);
	return strcmp(e.code, "BlobNotFound") == 0;
}

/*
 * --- Blocks
 * ---------------------------------------------------------------------------------------------
 */

#define ID_BYTES 48 /* of the 64 that Azure allows; base64 of so many needs no padding */
#define ID_MD5 32 /* of ID_BYTES */

void azure_block_id(const char *md5, int64_t part, size_t i, char ret_id[static AZURE_BLOCK_ID_MAX])
{
	char text[ID_BYTES + 1];

	_Static_assert(BASE64_MAX(ID_BYTES) <= AZURE_BLOCK_ID_MAX, "an id has room");
	snprintf(text, sizeof(text), "%-*.*s-%08llx-%06zu", ID_MD5, ID_MD5, md5,
		 (unsigned long long)part & 0xffffffff, i % 1000000);
	base64_encode(text, ID_BYTES, ret_id);
}

static int64_t azure_block_size(const struct azure_blocks *b, size_t i)
{
	return MIN(b->part, b->size - (int64_t)i * b->part);
}

/* Returns the index of the block with that name; b->n if no block of this file has it. */
static size_t index_of(const struct azure_blocks *b, const char *id)
{
	unsigned char text[ID_BYTES + 1] = "";
	char md5[ID_MD5 + 1], wanted[AZURE_BLOCK_ID_MAX];

	if (strlen(id) != AZURE_BLOCK_ID_MAX - 1 ||
	    base64_decode(id, AZURE_BLOCK_ID_MAX - 1, text) != ID_BYTES)
		return b->n;
	size_t i = strtoul((const char *)text + ID_BYTES - 6, NULL, 10);
	snprintf(md5, sizeof(md5), "%s", (const char *)text);
	azure_block_id(md5, b->part, i, wanted);
	return i < b->n && strcmp(id, wanted) == 0 ? i : b->n;
}

#define BLOCK "BlockList/UncommittedBlocks/Block"

struct list {
	struct azure_blocks *blocks;
	char id[AZURE_BLOCK_ID_MAX];
	int64_t size;
};

static int take_block(const char *path, const char *text, void *arg)
{
	struct list *l = arg;
	char *end;

	if (text && strcmp(path, BLOCK "/Name") == 0) {
		l->id[0] = '\0';
		if (strlen(text) < sizeof(l->id))
			snprintf(l->id, sizeof(l->id), "%s", text);
	} else if (text && strcmp(path, BLOCK "/Size") == 0) {
		l->size = strtoll(text, &end, 10);
		l->size = end == text || *end ? -1 : l->size;
	} else if (strcmp(path, BLOCK) == 0) {
		size_t i = index_of(l->blocks, l->id);

		if (i < l->blocks->n && l->size == azure_block_size(l->blocks, i))
			snprintf(l->blocks->ids[i], sizeof(l->blocks->ids[i]), "%s", l->id);
		l->id[0] = '\0';
		l->size = -1;
	}
	return 0;
}

int azure_read_blocks(const char *xml, size_t len, struct azure_blocks *blocks, struct err *err)
{
	struct list l = { .blocks = blocks, .size = -1 };

	return xml_leaves(xml, len, take_block, &l, err);
}
