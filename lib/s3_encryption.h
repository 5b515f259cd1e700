/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How S3 encrypts objects: what a policy may say, and what afterglow-ship sends as
 * x-amz-server-side-encryption.
 */
#pragma once

#include <stdbool.h>
#include <string.h>

#define S3_ENCRYPTIONS "AES256", "aws:kms", "aws:kms:dsse"

/* Whether a key of KMS encrypts; false for NULL. */
static inline bool s3_encryption_is_kms(const char *type)
{
	return type && strncmp(type, "aws:kms", strlen("aws:kms")) == 0;
}
