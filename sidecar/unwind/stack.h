/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the frames of each thread by libdwfl, from the core's registers and memory. */
#pragma once

#include <elfutils/libdwfl.h>

#include "sidecar/unwind/core_machine.h"
#include "sidecar/unwind/modules.h"

#define STACK_WHY_TEXT "     (no unwind information, as %s: the callers are guesses)\n"

#define FRAMES_MAX 4096
#define FRAMES_WALKED_MAX 262144 /* of a stack that overflowed: 8 MiB of frames of 32 bytes */
#define FRAMES_OUTERMOST 8 /* outermost frames that are kept of a stack with too many frames */

struct frame {
	uint64_t pc; /* of the instruction, or the address it returns to */
	uint64_t sp; /* 0: not known */
	bool exact; /* pc is an instruction that was to run, not a return address */
};

struct stack {
	struct frame *frames; /* innermost first */
	size_t n;
	/* the outermost of the frames that are not in `frames`, a ring */
	struct frame outermost[FRAMES_OUTERMOST];
	size_t beyond; /* the number of frames that are not in `frames` */
	bool cut; /* there are even more frames, which were not walked */
	/* frames[1] is the address at the top of the stack, because frames[0] is in no code */
	bool guessed;
	/*
	 * The frames up to this one are certain. Those after it were found by the frame pointer,
	 * because it has no unwind information: `why` says why not. n - 1 and NULL: all frames are
	 * certain.
	 */
	size_t last_certain;
	const char *why;
	bool corrupt; /* it ends at an address where no code is */
	const char *end; /* why it ends before the beginning of the thread, else NULL */
};

void stack_release(struct stack *stack);
#define _cleanup_stack_ _cleanup_(stack_release)

/* The arguments of a signal handler, from its frame on the stack. */
struct fault {
	struct core_siginfo info;
	uint64_t registers[CORE_REGISTERS_MAX];
	size_t frame; /* the index of the frame that was interrupted */
};

struct unwinder {
	Dwfl *dwfl;
	Elf *machine_elf;
	struct modules *modules;
	uint64_t registers[CORE_REGISTERS_MAX]; /* of the thread being walked */
};

/* modules must outlive the unwinder. unwinder_release must be called even after a failure. */
int unwinder_init(struct unwinder *u, struct modules *modules, struct err *err);
void unwinder_release(struct unwinder *u);

/*
 * Finds at most max frames (and at most FRAMES_MAX), and at least the frame of the thread's program
 * counter. Fails only if there is no memory.
 */
int unwinder_walk(struct unwinder *u, const struct core_thread *thread, size_t max,
		  struct stack *ret_stack, struct err *err);

/*
 * Finds the outermost signal frame of a fatal signal: it shows where a process crashed
 * if a handler (Ray's, faulthandler's) raised the signal again. False: there is none.
 */
bool unwinder_find_fault(const struct unwinder *u, const struct stack *stack,
			 struct fault *ret_fault);

/* The code on both sides of an address. */
struct core_code unwinder_code(const struct unwinder *u, uint64_t pc);

/* libdwfl's module at an address, with its file opened and checked; NULL if there is none. */
Dwfl_Module *unwinder_module(const struct unwinder *u, uint64_t address);
