/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs kubectl, which knows how to reach the cluster and who we are: kubeconfig, exec plugins, proxies. Nothing of that is
 * ours, and no credential passes through this program.
 */
#ifndef AFTERGLOW_PLUGIN_KUBECTL_H
#define AFTERGLOW_PLUGIN_KUBECTL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <sys/types.h>

#include "lib/err.h"

#define KUBECTL_ANSWER_MAX (256 << 20) /* bytes of one answer */
#define KUBECTL_ARGS_MAX 48

/* The flags that all calls get, and the program: $KUBECTL, or kubectl. */
struct kubectl {
	const char *program;
	const char *kubeconfig, *context; /* NULL: kubectl's own choice */
};

/*
 * Runs kubectl with args (ends with NULL; at most KUBECTL_ARGS_MAX) and parses what it prints as JSON; the caller owns it.
 * What kubectl writes to stderr goes to ours, unless quiet. -ENOENT: there is no kubectl; -EIO: it ended with another code
 * than 0; -EFBIG: the answer is larger than KUBECTL_ANSWER_MAX; -EPROTO: it is no JSON.
 */
int kubectl_json(const struct kubectl *kubectl, const char *const *args, bool quiet, cJSON **ret_json, struct err *err);

/* What the two above and kubectl_stream.h are made of. */
#define CHILD_NOT_STARTED 127 /* the exit code of a child that could not become the program */

/* args with the flags of all calls before them, and NULL at the end. */
int kubectl_argv(const struct kubectl *kubectl, const char *const *args,
		 const char *ret_argv[static KUBECTL_ARGS_MAX + 1], struct err *err);
/*
 * A pipe whose ends are closed in programs that are started; the caller closes both. They are above
 * stderr, even where this program was started without stdin or stdout, so dup2 makes a copy of them
 * that stays open. For a program with one thread: macOS cannot open and mark them in one step.
 */
int pipe_open(int ret_ends[2], struct err *err);
/* Waits for the child, a program of that name, and says how it ended: as kubectl_json. */
int child_wait(pid_t pid, const char *program, struct err *err);

/* Becomes kubectl with these arguments. Returns only when that fails. */
int kubectl_exec(const struct kubectl *kubectl, const char *const *args, struct err *err);

#endif
