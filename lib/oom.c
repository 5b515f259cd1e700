/* SPDX-License-Identifier: Apache-2.0 */
/* Counting failed allocations. */
#include "lib/oom.h"

/* Of each thread: it asks about what it built itself. */
static _Thread_local size_t count;

size_t oom_count(void)
{
	return count;
}

void oom_note(void)
{
	count++;
}
