/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether memory is all zeros: such a page of a file can be a hole. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Compares words, because memcmp of musl compares bytes. data need not be aligned. */
static inline bool is_zero(const char *data, size_t len)
{
	uint64_t words[8];

	for (; len >= sizeof(words); data += sizeof(words), len -= sizeof(words)) {
		memcpy(words, data, sizeof(words));
		if (words[0] | words[1] | words[2] | words[3] | words[4] | words[5] | words[6] |
		    words[7])
			return false;
	}
	for (; len; data++, len--)
		if (*data)
			return false;
	return true;
}
