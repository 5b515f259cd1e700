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
	return c == FAILURE_KERNEL_OOM_CONTAINER || c == FAILURE_KERNEL_OOM_POD || c == FAILURE_KERNEL_OOM_NODE;
}

bool failure_class_is_of_memory(int c)
{
	return failure_class_is_oom(c) || c == FAILURE_KERNEL_OOM_PROCESS || c == FAILURE_RAY_MEMORY_MONITOR;
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
	switch (signo) {
	case LINUX_SIGINT:
		return FAILURE_INTERRUPTED;
	case LINUX_SIGKILL:
		return FAILURE_KILLED;
	case LINUX_SIGSEGV:
		return FAILURE_SEGFAULT;
	case LINUX_SIGABRT:
		return FAILURE_ABORT;
	case LINUX_SIGBUS:
		return FAILURE_BUS_ERROR;
	case LINUX_SIGILL:
		return FAILURE_ILLEGAL_INSTRUCTION;
	case LINUX_SIGFPE:
		return FAILURE_ARITHMETIC_ERROR;
	case LINUX_SIGTRAP:
		return FAILURE_TRAP;
	case LINUX_SIGTERM:
		return FAILURE_TERMINATED;
	case LINUX_SIGCHLD:
	case LINUX_SIGCONT:
	case LINUX_SIGSTOP:
	case LINUX_SIGTSTP:
	case LINUX_SIGTTIN:
	case LINUX_SIGTTOU:
	case LINUX_SIGURG:
	case LINUX_SIGWINCH:
		return FAILURE_UNKNOWN;
	default:
		return signo > 0 && signo <= LINUX_SIGRTMAX ? FAILURE_SIGNALED : FAILURE_UNKNOWN;
	}
}

bool signal_is_of_crash(int signo)
{
	return signo == LINUX_SIGSEGV || signo == LINUX_SIGABRT || signo == LINUX_SIGBUS ||
	       signo == LINUX_SIGILL || signo == LINUX_SIGFPE || signo == LINUX_SIGTRAP;
}

const char *signal_meaning(int signo)
{
	switch (signo) {
	case LINUX_SIGHUP:
		return "when its terminal or session closes";
	case LINUX_SIGQUIT:
		return "when somebody presses Ctrl-\\ or wants it to dump core";
	case LINUX_SIGPIPE:
		return "when it writes to a pipe or socket that has no reader";
	case LINUX_SIGALRM:
	case LINUX_SIGVTALRM:
	case LINUX_SIGPROF:
		return "when a timer runs out that it has set and does not handle";
	case LINUX_SIGPOLL:
		return "when a file or socket becomes ready, as it has asked to be told (O_ASYNC)";
	case LINUX_SIGXCPU:
		return "when it has used up its limit of CPU time (ulimit -t)";
	case LINUX_SIGXFSZ:
		return "when it writes beyond its limit of file size (ulimit -f)";
	case LINUX_SIGSYS:
		return "when a seccomp filter refuses a system call of it";
	default:
		return failure_class_of_signal(signo) == FAILURE_SIGNALED ? "when another process sends it, for a meaning of their own" :
									    NULL;
	}
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
