/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl, which reads the kubeconfig, runs exec plugins, authenticates and uses proxies. So no
 * credential passes through this program.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

#define KUBECTL_ANSWER_MAX (256 << 20) /* bytes of one answer */
#define KUBECTL_ARGS_MAX 48

/* The program, and the flags of all calls. */
struct kubectl {
	const char *program; /* $KUBECTL, else "kubectl" */
	const char *kubeconfig, *context; /* NULL: kubectl's own choice */
};

/*
 * Runs kubectl with args (NULL at the end; at most KUBECTL_ARGS_MAX) and parses its stdout as JSON,
 * which the caller owns. kubectl's stderr goes to ours as it comes, unless quiet: an exec plugin
 * may ask the user to log in, and otherwise only the API server's own errors are printed there.
 * Returns -ENOENT if there is no kubectl, -EIO if its exit code is not 0, -EFBIG if the answer is
 * larger than KUBECTL_ANSWER_MAX, -EPROTO if it is not JSON.
 */
int kubectl_json(const struct kubectl *kubectl, const char *const *args, bool quiet, cJSON **ret_json, struct err *err);

/* The rest is shared with kubectl_stream.c and browser.c. */
#define CHILD_NOT_STARTED 127 /* the exit code of a child that could not run the program */

/* Makes the argv: the program, the flags of all calls, then args, and NULL at the end. -E2BIG: too many. */
int kubectl_argv(const struct kubectl *kubectl, const char *const *args,
		 const char *ret_argv[static KUBECTL_ARGS_MAX + 1], struct err *err);
/*
 * A pipe whose ends are closed in programs that are started; the caller closes both. They are above
 * stderr, even where this program was started without stdin or stdout, so dup2 makes a copy of them
 * that stays open. For a program with one thread: macOS cannot open and mark them in one step.
 */
int pipe_open(int ret_ends[2], struct err *err);
/*
 * Waits for the child, which runs the program of that name. Its errors are those of kubectl_json.
 */
int child_wait(pid_t pid, const char *program, struct err *err);

/* Replaces this process by kubectl with args. Returns only if that fails. */
int kubectl_exec(const struct kubectl *kubectl, const char *const *args, struct err *err);
