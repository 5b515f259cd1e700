/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts equal stacks of a sidecar's answers (record/stacks.h) together and writes them for people: the main threads
 * first, the stack that the fewest have before the others, then the other threads. Pure.
 */
#pragma once

#include "lib/strbuf.h"

#define GROUP_THREADS_MAX 65536 /* further threads are only counted */

/* Changes answer, the text of one or several answers. Returns how many processes are in it. */
size_t stack_groups_write(char *answer, struct strbuf *out);
