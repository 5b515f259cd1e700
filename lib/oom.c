/* SPDX-License-Identifier: Apache-2.0 */
/* Counts failed allocations. */
#include "lib/oom.h"

/* Each thread has its own count, because it checks only the values that it built itself. */
static _Thread_local size_t count;

size_t oom_count(void)
{
	return count;
}

void oom_note(void)
{
	count++;
}
