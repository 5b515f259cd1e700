/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a large file in parts, HTTP_PARALLEL at a time. All parts are read in order for the SHA-256
 * of the whole file, also those that the store has from an earlier run.
 */
#pragma once

#include "sidecar/ship/object_store.h"

#define PART_NUMBER_MAX 24

struct parts;

struct parts_service {
	bool wants_sha256; /* of each part, for its request */
	/* Whether the store has part i, which was just read. */
	bool (*is_there)(struct parts *p, size_t i, const struct object_digest *digest);
	/*
	 * Sets the parameters of the request that sends part i. number has room for one of them,
	 * and lives as long.
	 */
	void (*address)(const struct parts *p, size_t i, char number[static PART_NUMBER_MAX],
			struct object_request *request);
	/* Takes the answer of the store that it has part i. NULL: nothing of it is needed. */
	int (*on_taken)(struct parts *p, size_t i, const struct http_answer *answer,
			struct fault *fault);
};

/*
 * A file that is sent in parts. The caller sets all but what parts_cut makes, and releases it with
 * parts_release.
 */
struct parts {
	const struct parts_service *service;
	struct object_store *store;
	const struct item *item;
	const char *key;
	int64_t size; /* bytes: of each part but the last */
	size_t n;
	bool *there; /* for each part, whether the store has it, as far as is known */
	bool any_taken; /* the store has accepted a part of this run */
	struct sha256 sha256; /* of the file up to the next part */
};

/*
 * Cuts the file into parts of `wanted` bytes, or of more, so that there are at most
 * OBJECT_PARTS_MAX.
 */
int parts_cut(struct parts *p, int64_t wanted, struct fault *fault);
void parts_release(struct parts *p);
/* Bytes of part i. */
int64_t part_bytes(const struct parts *p, size_t i);

/* Sends the parts that the store does not have. The caller then compares the SHA-256. */
int parts_send(struct parts *p, struct fault *fault);
