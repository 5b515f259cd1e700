/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a core into a zstd file: the whole core, or what a backtrace needs. */
#pragma once

#include <stdbool.h>

#include "sidecar/core/elf_core.h"
#include "sidecar/pack/zstream.h"

enum pack_mode { PACK_SUMMARY, PACK_FULL };

struct packed {
	uint64_t bytes_in; /* bytes of the core that were read */
	uint64_t holes; /* bytes of holes in the core, which were not read */
	uint64_t bytes_out;
	char sha256[SHA256_TEXT_MAX]; /* of the file written */
	bool complete;
	char why[160]; /* the reason why it is not complete; "" if it is */
};

/*
 * Compresses the core fd, which is read from its beginning. After a failure the output is of no
 * use.
 */
int pack_core(int fd, enum pack_mode mode, struct zstream *out, struct packed *ret_packed,
	      struct err *err);
