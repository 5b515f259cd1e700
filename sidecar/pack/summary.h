/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what a summary keeps of a core: all notes, and the memory that a debugger
 * needs for backtraces. That is each thread's stack from its stack pointer upwards, for
 * the crashed thread also the stacks that its signal handlers interrupted, the dynamic
 * linker's list of loaded files, the page of the kernel's own code (vdso), and the
 * pages that the crashed thread's registers point to.
 */
#ifndef AFTERGLOW_SIDECAR_PACK_SUMMARY_H
#define AFTERGLOW_SIDECAR_PACK_SUMMARY_H

#include "sidecar/core/elf_core.h"

#define SUMMARY_STACK_MAX ((uint64_t)1 << 20) /* of each thread */
#define SUMMARY_CRASHED_STACK_MAX ((uint64_t)16 << 20) /* of the one that crashed: an endless recursion too */
#define SUMMARY_MEMORY_MAX ((uint64_t)512 << 20)
#define SUMMARY_RANGES_MAX 30000
#define SUMMARY_MODULES_MAX 4096 /* of the dynamic linker's list */

struct summary_range {
	uint64_t address, offset, size; /* in the dead process, in the core; whole pages but at a segment's end */
	uint32_t flags; /* of its segment */
};

struct summary {
	struct summary_range *ranges; /* by address, none touches the next */
	size_t n_ranges;
	size_t room;
};

/* Pure but for reading the core. -ENODATA: it has no threads that we can read. The caller releases. */
int summary_plan(const struct elf_core *core, struct summary *ret_summary, struct err *err);
void summary_release(struct summary *s);

#endif
