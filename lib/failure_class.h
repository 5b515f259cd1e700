/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of death and how sure a verdict is. The table is failure_class.def. */
#ifndef AFTERGLOW_LIB_FAILURE_CLASS_H
#define AFTERGLOW_LIB_FAILURE_CLASS_H

#include <stdbool.h>

enum failure_class {
#define FAILURE_CLASS(id, name, meaning) FAILURE_##id,
#include "lib/failure_class.def"
#undef FAILURE_CLASS
	FAILURE_CLASS_COUNT
};

/* How sure: proved by the kernel or the wait status; the best reading of partial evidence; neither. */
enum confidence { CONFIDENCE_CERTAIN, CONFIDENCE_LIKELY, CONFIDENCE_UNKNOWN };

/* "KernelOOMContainer", never NULL. */
const char *failure_class_name(enum failure_class c);
/* One line for people. */
const char *failure_class_meaning(enum failure_class c);
/* Whether a process can end so while its container lives on. */
bool failure_class_is_of_process(enum failure_class c);
/* The class of that name, or -1. */
int failure_class_from_name(const char *name);

/* "certain", "likely", "unknown". */
const char *confidence_name(enum confidence c);
/* The confidence of that name, or -1. */
int confidence_from_name(const char *name);

/* The class that death by this signal has when nothing else is known, FAILURE_UNKNOWN where no process dies of it. */
enum failure_class failure_class_of_signal(int signo);
/* Whether it is the signal of a fault or of abort(): SIGSEGV, SIGABRT, SIGBUS, SIGILL, SIGFPE, SIGTRAP. Nobody stops a process by them. */
bool signal_is_of_crash(int signo);

/*
 * When a process gets a signal of the class Signaled, as a clause that follows "a process gets it": "when it writes to a pipe
 * or socket that nobody reads". NULL for the other signals, whose class says it.
 */
const char *signal_meaning(int signo);

/* "SIGKILL" for 9; NULL for numbers that are no signal. Real-time signals are "SIGRTMIN+N". */
const char *signal_name(int signo);

#endif
