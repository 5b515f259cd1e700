/* SPDX-License-Identifier: Apache-2.0 */
/* The classes of death and how sure a verdict is. */
#include "lib/failure_class.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

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

#define SIGNAL_MAX 64

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

int failure_class_from_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
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
	for (size_t i = 0; i < ARRAY_SIZE(confidences); i++)
		if (strcmp(name, confidences[i]) == 0)
			return (int)i;
	return -1;
}

enum failure_class failure_class_of_signal(int signo)
{
	switch (signo) {
	case SIGINT:
		return FAILURE_INTERRUPTED;
	case SIGKILL:
		return FAILURE_KILLED;
	case SIGSEGV:
		return FAILURE_SEGFAULT;
	case SIGABRT:
		return FAILURE_ABORT;
	case SIGBUS:
		return FAILURE_BUS_ERROR;
	case SIGILL:
		return FAILURE_ILLEGAL_INSTRUCTION;
	case SIGFPE:
		return FAILURE_ARITHMETIC_ERROR;
	case SIGTRAP:
		return FAILURE_TRAP;
	case SIGTERM:
		return FAILURE_TERMINATED;
	case SIGCHLD:
	case SIGCONT:
	case SIGSTOP:
	case SIGTSTP:
	case SIGTTIN:
	case SIGTTOU:
	case SIGURG:
	case SIGWINCH:
		return FAILURE_UNKNOWN;
	default:
		return signo > 0 && signo <= SIGNAL_MAX ? FAILURE_SIGNALED : FAILURE_UNKNOWN;
	}
}

bool signal_is_of_crash(int signo)
{
	return signo == SIGSEGV || signo == SIGABRT || signo == SIGBUS || signo == SIGILL ||
	       signo == SIGFPE || signo == SIGTRAP;
}

const char *signal_meaning(int signo)
{
	switch (signo) {
	case SIGHUP:
		return "when its terminal or session closes";
	case SIGQUIT:
		return "when somebody presses Ctrl-\\ or wants it to dump core";
	case SIGPIPE:
		return "when it writes to a pipe or socket that has no reader";
	case SIGALRM:
	case SIGVTALRM:
	case SIGPROF:
		return "when a timer runs out that it has set and does not handle";
	case SIGXCPU:
		return "when it has used up its limit of CPU time (ulimit -t)";
	case SIGXFSZ:
		return "when it writes beyond its limit of file size (ulimit -f)";
	case SIGSYS:
		return "when a seccomp filter refuses a system call of it";
	default:
		return failure_class_of_signal(signo) == FAILURE_SIGNALED ? "when another process sends it, for a meaning of their own" :
									    NULL;
	}
}

const char *signal_name(int signo)
{
	static char names[SIGNAL_MAX][24];
	char *name;
	const char *abbrev;

	if (signo <= 0 || signo > SIGNAL_MAX)
		return NULL;
	name = names[signo - 1];
	abbrev = sigabbrev_np(signo);
	if (abbrev)
		snprintf(name, sizeof(names[0]), "SIG%s", abbrev);
	else if (signo >= SIGRTMIN)
		snprintf(name, sizeof(names[0]), "SIGRTMIN+%d", signo - SIGRTMIN);
	else
		snprintf(name, sizeof(names[0]), "SIG%d", signo);
	return name;
}
