/* SPDX-License-Identifier: Apache-2.0 */
/* FNV-1a, a hash of texts. Who knows the start value can make texts with equal hashes. */
#pragma once

#include <stdint.h>

#define FNV_START UINT64_C(14695981039346656037)

static inline uint64_t fnv1a(const char *text, uint64_t start)
{
	uint64_t hash = start;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return hash;
}
