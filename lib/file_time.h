/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a file. A header alone, because the launcher links no lib. */
#pragma once

#include <stdint.h>
#include <time.h>

#include "lib/macros.h"

#define FILE_TIME_MAX_S (INT64_C(1) << 32)

/*
 * Returns the time of a file as nanoseconds since 1970. Because its owner can set any time, a time
 * more than 136 years before or after 1970 is cut to that, so that the difference to the present
 * time fits int64_t.
 */
static inline int64_t file_time_ns(struct timespec t)
{
	int64_t seconds = MAX(MIN((int64_t)t.tv_sec, FILE_TIME_MAX_S), -FILE_TIME_MAX_S);

	return seconds * INT64_C(1000000000) + t.tv_nsec;
}
