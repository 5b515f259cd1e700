/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says what a signal would do to a process if it were process 1 of its PID namespace.
 *
 * Theory of operation. The kernel drops a signal to a process 1 that has neither a handler for it
 * nor blocks it, whoever sends it (SIGNAL_UNKILLABLE in kernel/signal.c); only SIGKILL and SIGSTOP
 * from outside the namespace are excepted. If process 1 blocks the signal, it stays pending and is
 * dropped later, unless a handler, a signalfd or sigwait(3) has taken it by then. While a process
 * waits in sigwait(3), /proc/PID/status shows the signals that it waits for as not blocked, so a
 * process such as tini looks as if it did not care; /proc/PID/syscall then shows the wait.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum disposition {
	DISPOSITION_DROPPED, /* process 1 would not notice it */
	DISPOSITION_BLOCKED, /* it would be pending */
	DISPOSITION_TAKEN, /* it is caught, ignored or waited for; or nobody can tell */
};

/* Decides by the text of /proc/PID/status alone, without a look at sigwait(3). Pure. */
enum disposition disposition_of(const char *status, int signo);

/* Decides for a process as it is now. */
enum disposition disposition_read(pid_t pid, int signo);

/* Returns whether it is in sigwait(3) for the signal, or nobody can tell. */
bool disposition_in_sigwait(pid_t pid, int signo);
