/* SPDX-License-Identifier: Apache-2.0 */
/* The launcher's clock. */
#pragma once

#include <stdint.h>
#include <time.h>

#define NS_PER_SEC ((int64_t)1000000000)
#define NS_PER_MS ((int64_t)1000000)

/* CLOCK_BOOTTIME, as the protocol's times are. */
static inline int64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}
