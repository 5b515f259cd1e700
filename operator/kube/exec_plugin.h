/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gets credentials from a program that the user configured (aws eks get-token, gke-gcloud-auth-
 * plugin, kubelogin): builds the call, runs it beside the event loop, and parses the
 * answer. client.authentication.k8s.io/v1 and v1beta1.
 *
 * The program runs without a terminal. Its stderr is ours, so that people see its
 * messages. Its answer is never logged.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_EXEC_PLUGIN_H
#define AFTERGLOW_OPERATOR_KUBE_EXEC_PLUGIN_H

#include <event2/event.h>

#include "lib/err.h"

#define EXEC_WHERE_MAX 256

struct exec_spec {
	char where[EXEC_WHERE_MAX]; /* "/home/me/.kube/config: users[0].user.exec", for errors */
	char *api_version;
	char *command; /* without a slash: looked for in $PATH */
	char **args; /* NULL-terminated, without the command */
	char **env; /* "NAME=value", NULL-terminated, over our own environment */
	char *info; /* KUBERNETES_EXEC_INFO */
	char *hint; /* what to say when the command is not there, or NULL */
};

void exec_spec_free(struct exec_spec *spec);

struct exec_answer {
	char *token, *certificate, *key; /* NULL: none; certificate and key both or neither */
	int64_t expires_ns; /* since 1970, 0: never */
};

void exec_answer_release(struct exec_answer *answer);

/* Frees a secret after it was overwritten. NULL is allowed. */
void secret_free(char *text);

/* Parses an ExecCredential. -EPROTO: it is invalid; the error never contains its content. */
int exec_answer_parse(const char *text, size_t len, const char *api_version, struct exec_answer *ret_answer,
		      struct err *err);

struct exec_run;

/*
 * answer is valid during the call, and may be emptied; err is NULL, or says why there is no answer.
 * The run has been freed.
 */
typedef void (*exec_done_fn)(void *arg, struct exec_answer *answer, const struct err *err);

/* Calls done once, unless cancelled; never before it returns. The program has a minute. */
int exec_run_start(struct event_base *base, const struct exec_spec *spec, exec_done_fn done, void *arg,
		   struct exec_run **ret_run, struct err *err);
/* Kills the program. NULL is allowed. */
void exec_run_cancel(struct exec_run *run);

#endif
