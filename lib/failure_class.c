/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of death and how sure a verdict is. */
#include "lib/failure_class.h"

#include <stdio.h>
#include <string.h>

#include "lib/linux_signals.h"
#include "lib/macros.h"

static const struct {
	const char *name, *meaning;
	bool of_container;
} classes[] = {
#define FAILURE_CLASS(id, name, meaning) [FAILURE_##id] = { name, meaning, false },
#define FAILURE_CLASS_OF_CONTAINER(id, name, meaning) [FAILURE_##id] = { name, meaning, true },
#include "lib/failure_class.def"
#undef FAILURE_CLASS
};

static const char *const confidences[] = {
	[CONFIDENCE_CERTAIN] = "certain",
	[CONFIDENCE_LIKELY] = "likely",
	[CONFIDENCE_UNKNOWN] = "unknown",
};

const char *failure_class_name(enum failure_class c)
{
	return classes[c].name;
}

const char *failure_class_meaning(enum failure_class c)
{
	return classes[c].meaning;
}

bool failure_class_is_of_process(enum failure_class c)
{
	return !classes[c].of_container;
}

bool failure_class_is_oom(int c)
{
	return c == FAILURE_KERNEL_OOM_CONTAINER || c == FAILURE_KERNEL_OOM_POD ||
	       c == FAILURE_KERNEL_OOM_NODE;
}

bool failure_class_is_of_memory(enum failure_class c)
{
	return failure_class_is_oom((int)c) || c == FAILURE_KERNEL_OOM_PROCESS ||
	       c == FAILURE_RAY_MEMORY_MONITOR;
}

int failure_class_from_name(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(classes); i++)
		if (strcmp(name, classes[i].name) == 0)
			return (int)i;
	return -1;
}

const char *confidence_name(enum confidence c)
{
	return confidences[c];
}

int confidence_from_name(const char *name)
{
	for (size_t i = 0; name && i < ARRAY_SIZE(confidences); i++)
		if (strcmp(name, confidences[i]) == 0)
			return (int)i;
	return -1;
}

enum failure_class failure_class_of_signal(int signo)
{
	/* 0 is FAILURE_COMPLETED, which no signal means: it stands for FAILURE_SIGNALED. */
	static const enum failure_class of_signal[LINUX_SIGRTMAX + 1] = {
		[LINUX_SIGINT] = FAILURE_INTERRUPTED,
		[LINUX_SIGKILL] = FAILURE_KILLED,
		[LINUX_SIGSEGV] = FAILURE_SEGFAULT,
		[LINUX_SIGABRT] = FAILURE_ABORT,
		[LINUX_SIGBUS] = FAILURE_BUS_ERROR,
		[LINUX_SIGILL] = FAILURE_ILLEGAL_INSTRUCTION,
		[LINUX_SIGFPE] = FAILURE_ARITHMETIC_ERROR,
		[LINUX_SIGTRAP] = FAILURE_TRAP,
		[LINUX_SIGTERM] = FAILURE_TERMINATED,
		[LINUX_SIGCHLD] = FAILURE_UNKNOWN,
		[LINUX_SIGCONT] = FAILURE_UNKNOWN,
		[LINUX_SIGSTOP] = FAILURE_UNKNOWN,
		[LINUX_SIGTSTP] = FAILURE_UNKNOWN,
		[LINUX_SIGTTIN] = FAILURE_UNKNOWN,
		[LINUX_SIGTTOU] = FAILURE_UNKNOWN,
		[LINUX_SIGURG] = FAILURE_UNKNOWN,
		[LINUX_SIGWINCH] = FAILURE_UNKNOWN,
	};

	if (signo <= 0 || signo > LINUX_SIGRTMAX)
		return FAILURE_UNKNOWN;
	return of_signal[signo] ? of_signal[signo] : FAILURE_SIGNALED;
}

bool signal_is_of_crash(int signo)
{
	return signo == LINUX_SIGSEGV || signo == LINUX_SIGABRT || signo == LINUX_SIGBUS ||
	       signo == LINUX_SIGILL || signo == LINUX_SIGFPE || signo == LINUX_SIGTRAP;
}

const char *signal_meaning(int signo)
{
	static const char timer[] = "when a timer runs out that it has set and does not handle";
	static const char *const meanings[LINUX_SIGRTMAX + 1] = {
		[LINUX_SIGHUP] = "when its terminal or session closes",
		[LINUX_SIGQUIT] = "when somebody presses Ctrl-\\ or wants it to dump core",
		[LINUX_SIGPIPE] = "when it writes to a pipe or socket that has no reader",
		[LINUX_SIGALRM] = timer,
		[LINUX_SIGVTALRM] = timer,
		[LINUX_SIGPROF] = timer,
		[LINUX_SIGPOLL] =
			"when a file or socket becomes ready, which it has asked for (O_ASYNC)",
		[LINUX_SIGXCPU] = "when it has used up its limit of CPU time (ulimit -t)",
		[LINUX_SIGXFSZ] = "when it writes beyond its limit of file size (ulimit -f)",
		[LINUX_SIGSYS] = "when a seccomp filter refuses a system call of it",
	};

	if (failure_class_of_signal(signo) != FAILURE_SIGNALED)
		return NULL;
	return meanings[signo] ? meanings[signo] :
				 "when another process sends it, for a meaning of their own";
}

const char *signal_name(int signo)
{
	static const char *const standard[LINUX_SIGSYS + 1] = {
#define LINUX_SIGNAL(name, number) [number] = "SIG" #name,
		LINUX_SIGNALS(LINUX_SIGNAL)
#undef LINUX_SIGNAL
	};
	static char names[LINUX_SIGRTMAX + 1][24];

	if (signo <= 0 || signo > LINUX_SIGRTMAX)
		return NULL;
	if (signo <= LINUX_SIGSYS)
		return standard[signo];
	if (signo >= LINUX_SIGRTMIN)
		snprintf(names[signo], sizeof(names[0]), "SIGRTMIN+%d", signo - LINUX_SIGRTMIN);
	else
		snprintf(names[signo], sizeof(names[0]), "SIG%d", signo);
	return names[signo];
}
