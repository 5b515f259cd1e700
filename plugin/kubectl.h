/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl, which reads the kubeconfig, runs exec plugins, authenticates and uses proxies. So
 * no credential passes through this program.
 */
#pragma once

#include <sys/types.h>

#include "lib/err.h"

#define KUBECTL_ANSWER_MAX (256 << 20) /* bytes of one answer */
#define KUBECTL_ARGS_MAX 48

/* The program, and the flags of all calls. */
struct kubectl {
	const char *program; /* $KUBECTL, else "kubectl" */
	const char *kubeconfig, *context; /* NULL: kubectl's own choice */
};

/* The rest is shared by kubectl_stream.c, which runs it, and evidence.c. */
#define CHILD_NOT_STARTED 127 /* the exit code of a child that could not run the program */

/*
 * Makes the argv: the program, the flags of all calls, then args, and NULL at the end. -E2BIG: too
 * many.
 */
int kubectl_argv(const struct kubectl *kubectl, const char *const *args,
		 const char *ret_argv[static KUBECTL_ARGS_MAX + 1], struct err *err);
/*
 * A pipe whose ends are closed in programs that are started; the caller closes both. They are above
 * stderr, even where this program was started without stdin or stdout, so dup2 makes a copy of them
 * that stays open. For a program with one thread: macOS cannot open and mark them in one step.
 */
int pipe_open(int ret_ends[2], struct err *err);
/*
 * Waits for the child. -ENOENT: there is no program of that name; -EPROTO: its exit code is not 0.
 */
int child_wait(pid_t pid, const char *program, struct err *err);
