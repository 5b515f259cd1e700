/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether memory is all zeros: such a page of a file can be a hole. */
#ifndef AFTERGLOW_LIB_ZEROS_H
#define AFTERGLOW_LIB_ZEROS_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* len: at least 1 byte. */
static inline bool is_zero(const char *data, size_t len)
{
	return data[0] == 0 && memcmp(data, data + 1, len - 1) == 0;
}

#endif
