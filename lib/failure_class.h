/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of death and how sure a verdict is. The table is failure_class.def. */
#pragma once

#include <stdbool.h>

enum failure_class {
#define FAILURE_CLASS(id, name, meaning) FAILURE_##id,
#include "lib/failure_class.def"
#undef FAILURE_CLASS
	FAILURE_CLASS_COUNT
};

/*
 * How sure a verdict is. CERTAIN: the kernel or the wait status proves it. LIKELY: it is the best
 * explanation of partial evidence. UNKNOWN: neither.
 */
enum confidence { CONFIDENCE_CERTAIN, CONFIDENCE_LIKELY, CONFIDENCE_UNKNOWN };

/* Returns a name such as "KernelOOMContainer", never NULL. */
const char *failure_class_name(enum failure_class c);
/* Returns a line that explains the class to people. */
const char *failure_class_meaning(enum failure_class c);
/* Returns whether a process can have a death of this class while its container lives on. */
bool failure_class_is_of_process(enum failure_class c);
/* Returns whether the kernel's OOM killer ended the whole container; false for -1. */
bool failure_class_is_oom(int c);
/* Returns whether it is one of these, or the kernel or Ray killed a process for memory. */
bool failure_class_is_of_memory(enum failure_class c);
/* Returns the class of that name, or -1; -1 for NULL. */
int failure_class_from_name(const char *name);

/* Returns "certain", "likely" or "unknown". */
const char *confidence_name(enum confidence c);
/* Returns the confidence of that name, or -1; -1 for NULL. */
int confidence_from_name(const char *name);

/*
 * The source of evidence that memory.high slowed the container down until its end. The operator
 * recognizes such evidence by it.
 */
#define EVIDENCE_MEMORY_HIGH "memory.high"

/*
 * Returns the class of a death by this signal if nothing else is known; FAILURE_UNKNOWN for a
 * signal that ends no process.
 */
enum failure_class failure_class_of_signal(int signo);
/*
 * Returns whether it is the signal of a fault or of abort(): SIGSEGV, SIGABRT, SIGBUS, SIGILL,
 * SIGFPE, SIGTRAP. Nobody uses these signals to stop a process.
 */
bool signal_is_of_crash(int signo);

/*
 * Returns when a process gets a signal of the class Signaled, as a clause that follows "a process
 * gets it": "when it writes to a pipe or socket that nobody reads". Returns NULL for other signals,
 * because their class explains them.
 */
const char *signal_meaning(int signo);

/*
 * Returns "SIGKILL" for 9, with the numbers of Linux on every system; NULL if it is not a signal.
 * Real-time signals are "SIGRTMIN+N".
 */
const char *signal_name(int signo);
