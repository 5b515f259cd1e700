/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the answers of Azure Blob Storage: errors, and lists of blocks. Pure. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"

#define AZURE_BLOCK_ID_MAX 65 /* base64, with the final NUL */

/* The names that appear in the text of a fault. */
struct azure_place {
	const char *container, *endpoint;
	bool is_signed; /* with the time of our clock, as requests with an account key are */
	bool has_expired; /* the SAS token that the request had */
};

/* Sets the fault of an answer whose status is not 2xx. Returns -1. */
int azure_fault(const struct http_answer *answer, const struct azure_place *place,
		struct fault *fault);
/* Whether the answer says that there is no such blob, in a container that exists. */
bool azure_no_blob(const struct http_answer *answer);

/*
 * The name of block i of a file that is cut in blocks of part bytes; md5: of the block, in base64.
 * All names have the same length, as Azure demands.
 */
void azure_block_id(const char *md5, int64_t part, size_t i,
		    char ret_id[static AZURE_BLOCK_ID_MAX]);

/* A file that is cut into blocks. The store may have some of them already. */
struct azure_blocks {
	int64_t size, part; /* bytes: of the file, and of each block but the last */
	size_t n;
	char (*ids)[AZURE_BLOCK_ID_MAX]; /* n names; "": the store does not have the block */
};

/*
 * Reads a list of uncommitted blocks, and sets the ids of those whose place and size fit this file.
 */
int azure_read_blocks(const char *xml, size_t len, struct azure_blocks *blocks, struct err *err);
