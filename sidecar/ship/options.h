/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of afterglow-ship. */
#ifndef AFTERGLOW_SIDECAR_SHIP_OPTIONS_H
#define AFTERGLOW_SIDECAR_SHIP_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "sidecar/ship/store_url.h"

/* S3's own bounds; a small part costs a request each, a large one is sent again when the connection breaks. */
#define S3_PART_MIN ((int64_t)5 << 20)
#define S3_PART_MAX ((int64_t)1 << 30)
#define S3_PART_DEFAULT ((int64_t)16 << 20)

struct ship_options {
	bool help, version;
	bool read;		/* the bundle comes from the store */
	int64_t idle_s;		/* only wait for so long; 0: no */
	struct store_url store;
	const char *credentials; /* directory, NULL: none */
	const char *ca;		 /* PEM file, NULL: the system's roots */
	const char *as;		 /* path below the store */
	const char *bundle;
	const char *cores_prefix; /* path below the store where cores go, NULL: to the other files */
	int64_t deadline_s;	/* 0: none */
	int64_t rate;		/* bytes a second, 0: no limit */
	int64_t stall_s;	/* a request that moves nothing for so long is dropped */
	const char *s3_endpoint, *s3_region, *s3_role_arn, *s3_sts_endpoint;
	bool s3_path_style;
	int64_t s3_part;
	const char *webhdfs_user;
};

extern const char ship_usage[];

/* Strings point into argv, except as, which may point to storage of the function's own. */
int ship_options_parse(char **argv, struct ship_options *ret_options, struct err *err);

#endif
