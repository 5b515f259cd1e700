/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the stacks of a process that lives: for each thread "used NS in NS" (of a processor, since
 * it began; "in 0": it is not known), a heading "thread TID STATE MOVED NAME", then its stack in
 * lines that begin with blanks. The stack has no addresses and no numbers of its thread, so threads
 * that wait in the same place have the same text (lib/stack_groups.h).
 *
 * MOVED is "still" if the thread was where it had been stopped after its Python frames were read,
 * which happens when the process runs again; else "moved": Python's frames may be later than the
 * others.
 */
#pragma once

#include "sidecar/unwind/render.h"

/*
 * Writes at most max_threads; `flush` takes the text of each and returns false when there is no
 * more room. Fails only if there is no memory.
 */
int living_write(struct unwinder *u, struct symbols *symbols, size_t max_threads,
		 bool (*flush)(struct strbuf *text), struct err *err);
