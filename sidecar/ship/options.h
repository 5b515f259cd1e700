/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of afterglow-ship. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/command_line.h"
#include "sidecar/ship/store_url.h"

/*
 * Bytes. S3 itself sets these bounds. Each part costs a request, and a part is sent again when its
 * connection breaks.
 */
#define S3_PART_MIN ((int64_t)5 << 20)
#define S3_PART_MAX ((int64_t)1 << 30)
#define S3_PART_DEFAULT ((int64_t)16 << 20)

/* The size of Azure's blocks, bytes. The service accepts up to 4000 MiB. */
#define AZURE_BLOCK_MIN ((int64_t)1 << 20)
#define AZURE_BLOCK_MAX ((int64_t)1 << 30)
#define AZURE_BLOCK_DEFAULT ((int64_t)16 << 20)

#define S3_KMS_KEY_ID_MAX 2048 /* the longest that AWS takes */

struct ship_options {
	bool help, version;
	bool read; /* read the bundle from the store instead of shipping it */
	int64_t idle_s; /* do nothing but wait for so many seconds; 0: do not wait */
	const char *store_text; /* the URL as it is given */
	struct store_url store;
	const char *credentials; /* directory, NULL: none */
	const char *ca; /* PEM file, NULL: the system's roots */
	const char *proxy, *no_proxy; /* NULL: the environment decides */
	const char *as; /* path below the store */
	const char *bundle;
	/* path below the store for cores; NULL: they stay with the other files */
	const char *cores_prefix;
	int64_t deadline_s; /* 0: none */
	int64_t rate; /* bytes a second, 0: no limit */
	int64_t stall_s; /* a request is dropped when no byte moved for so many seconds */
	const char *s3_endpoint, *s3_region, *s3_role_arn, *s3_sts_endpoint;
	bool s3_path_style;
	int64_t s3_part;
	const char *s3_encryption, *s3_kms_key_id; /* of objects; NULL: the bucket decides */
	bool s3_bucket_key;
	const char *azure_endpoint;
	int64_t azure_block;
	const char *webhdfs_user;
};

/* For --help. */
extern const struct option_table ship_options_table;

/*
 * Parses the command line. The strings of *ret_options point into argv, except `as`, which may
 * point to static storage of the function.
 */
int ship_options_parse(char **argv, struct ship_options *ret_options, struct err *err);
