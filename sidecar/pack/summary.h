/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what a summary keeps of a core: all notes, and the memory that a debugger
 * needs for backtraces. That is each thread's stack from its stack pointer upwards, for
 * the crashed thread also the stacks that its signal handlers interrupted, the dynamic
 * linker's list of loaded files, the page of the kernel's own code (vdso), and the
 * pages that the crashed thread's registers point to.
 */
#pragma once

#include "sidecar/core/elf_core.h"

#define SUMMARY_STACK_MAX ((uint64_t)1 << 20) /* of each thread */
/* of the crashed thread; enough for an endless recursion */
#define SUMMARY_CRASHED_STACK_MAX ((uint64_t)16 << 20)
#define SUMMARY_MEMORY_MAX ((uint64_t)512 << 20)
#define SUMMARY_RANGES_MAX 30000
#define SUMMARY_MODULES_MAX 4096 /* of the dynamic linker's list */

struct summary_range {
	/*
	 * address in the dead process, offset in the core; whole pages, except at a segment's end
	 */
	uint64_t address, offset, size;
	uint32_t flags; /* of its segment */
};

struct summary {
	struct summary_range *ranges; /* by address, with a gap between any two */
	size_t n_ranges;
	size_t room;
};

/*
 * Makes the plan. Has no effects except reading the core. -ENODATA: the core has no threads that we
 * can read. The caller releases the summary.
 */
int summary_plan(const struct elf_core *core, struct summary *ret_summary, struct err *err);
void summary_release(struct summary *s);
