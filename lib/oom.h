/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A value that is built of cJSON and strbufs while memory runs out lacks parts, and
 * neither of them reports it where it happens. A caller that needs the value complete
 * compares oom_count before and after: if it is the same, nothing was lost.
 */
#pragma once

#include <stddef.h>

/* Returns how many allocations of cJSON and strbuf have failed so far, in this thread. */
size_t oom_count(void);
void oom_note(void);
