/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is built of cJSON values and strbufs while memory runs out lacks parts,
 * and neither says so where it happens. Whoever may use only the whole asks before
 * and after: the same number, nothing was lost.
 */
#ifndef AFTERGLOW_LIB_OOM_H
#define AFTERGLOW_LIB_OOM_H

#include <stddef.h>

/* How many allocations of cJSON and strbuf have failed so far, in this thread. */
size_t oom_count(void);
void oom_note(void);

#endif
