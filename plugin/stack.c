/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the sidecars of pods for stacks. */
#include "plugin/stack.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/sidecar_names.h"
#include "lib/stack_groups.h"
#include "plugin/kubectl_stream.h"
#include "plugin/pod_sidecar.h"
#include "plugin/reads.h"
#include "plugin/table.h"
#include "plugin/terminal.h"

#define STACK_PODS_MAX 64
/* kubectl processes; the stacks of waiting ranks should be of about the same time */
#define AT_A_TIME 8
/*
 * Bytes of a pod's answer, and of all together: an exec into a pod shows what the pod likes,
 * without end.
 */
#define STACKS_ANSWER_MAX ((size_t)64 << 20)
#define STACKS_ANSWERS_MAX ((size_t)512 << 20)

struct ask {
	struct stack_place place;
	const char *namespace;
	FILE *file; /* takes the answer; NULL: nobody was asked */
	size_t room; /* bytes that the file may still take */
	pid_t child;
	struct strbuf answer;
};

struct asks {
	struct ask all[STACK_PODS_MAX];
	size_t n;
};

/*
 * --- Which pods
 * ----------------------------------------------------------------------------------------
 */

/* Returns why nobody in the pod can be asked; NULL: somebody can. */
static const char *pod_refusal(const cJSON *pod)
{
	if (!pod_sidecar(pod))
		return "it has no container afterglow, which would have to be asked. Ray pods that are made while Afterglow runs have one; "
		       "`kubectl afterglow doctor` says what keeps it out";
	return json_is(pod, "status.phase", "Running") ? NULL : "it does not run";
}

/*
 * --- Asking
 * --------------------------------------------------------------------------------------------
 */

static int ask_take(void *arg, const void *data, size_t len, struct err *err)
{
	struct ask *a = arg;

	if (len > a->room)
		return err_set(err, EFBIG, "the answer of pod %s", a->place.pod);
	a->room -= len;
	return fwrite(data, 1, len, a->file) == len ?
		       0 :
		       err_set(err, EIO, "a temporary file for stacks");
}

/* Runs in a child, so that several are asked at a time. */
_Noreturn static void ask_run(const struct options *o, struct ask *a)
{
	const struct kubectl kubectl = kubectl_of(o);
	const struct stream stream = { .on_data = ask_take, .arg = a };
	const char *const args[] = {
		"exec",	       a->place.pod,	  "--namespace", a->namespace,
		"--container", SIDECAR_CONTAINER, "--",		 "/usr/bin/afterglow-sidecar",
		"stack",       "--raw",		  o->second,	 NULL
	};

	int r = kubectl_stream(&kubectl, args, &stream, NULL);

	_exit(fflush(a->file) != 0 || r < 0);
}

static void ask_begin(const struct options *o, const cJSON *pod, size_t room, struct ask *a)
{
	const char *refusal = pod_refusal(pod);

	*a = (struct ask){ .place = { json_str(pod, "metadata.name"),
				      json_str(pod, "spec.nodeName") },
			   .namespace = json_str(pod, "metadata.namespace"),
			   .room = room,
			   .answer = STRBUF_INIT(STACKS_ANSWER_MAX + 256) };
	if (refusal) {
		strbuf_addf(&a->answer, "note %s\n", refusal);
		return;
	}
	a->file = a->place.pod && a->namespace ? tmpfile() : NULL;
	a->child = a->file ? fork() : -1;
	if (a->child == 0)
		ask_run(o, a);
}

static void ask_finish(struct ask *a)
{
	int status = -1;

	if (a->child > 0)
		while (waitpid(a->child, &status, 0) < 0 && errno == EINTR)
			;
	if (a->file) {
		lseek(fileno(a->file), 0, SEEK_SET);
		fd_read_all(fileno(a->file), &a->answer, NULL);
		fclose(a->file);
	}
	if (status != 0 && (a->child > 0 || !a->answer.len))
		strbuf_adds(
			&a->answer,
			a->answer.len ?
				"\nnote its answer broke off, or is too long to be shown whole\n" :
				"note its sidecar gave no stacks; what kubectl said of it is on stderr\n");
}

static void pods_ask(const struct options *o, const cJSON *pods, struct asks *asks)
{
	size_t finished = 0, n = (size_t)MAX(cJSON_GetArraySize(json_get(pods, "items")), 1),
	       room = MIN(STACKS_ANSWER_MAX, STACKS_ANSWERS_MAX / MIN(n, (size_t)STACK_PODS_MAX));

	json_each(pod, json_get(pods, "items")) {
		if (asks->n == STACK_PODS_MAX) {
			stderr_note("Only the first %d pods were asked.\n", STACK_PODS_MAX);
			break;
		}
		if (asks->n - finished == AT_A_TIME)
			ask_finish(&asks->all[finished++]);
		ask_begin(o, pod, room, &asks->all[asks->n++]);
	}
	while (finished < asks->n)
		ask_finish(&asks->all[finished++]);
}

/*
 * --- The command
 * ---------------------------------------------------------------------------------------
 */

static int answers_write(const struct options *o, struct asks *asks, struct strbuf *out,
			 struct err *err)
{
	struct stack_groups *groups = stack_groups_new();

	if (!groups)
		return err_set(err, ENOMEM, "stacks");
	for (size_t i = 0; i < asks->n; i++)
		if (asks->all[i].answer.len)
			stack_groups_add(groups, &asks->all[i].place, asks->all[i].answer.data);
	size_t processes = stack_groups_processes(groups);
	if (o->output) {
		_cleanup_json_ cJSON *json = stack_groups_json(groups);

		document_print(json, "Stacks", out);
	} else
		stack_groups_write(groups, out);
	stack_groups_free(groups);
	if (!processes && !out->len)
		return o->second ? err_set(err, EPROTO, "no process there is called \"%.80s\"",
					   o->second) :
				   err_set(err, EPROTO, STACKS_NOBODY);
	return processes ? 0 : 1;
}

int stack_command(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *pods = NULL;
	struct asks *asks = calloc(1, sizeof(*asks));
	int r = asks ? read_pods_named(o, o->argument, &pods, err) : err_set(err, ENOMEM, "pods"),
	    n;
	const cJSON *first = cJSON_GetArrayItem(json_get(pods, "items"), 0);

	n = cJSON_GetArraySize(json_get(pods, "items"));
	if (r == 0 && n == 0)
		r = err_set(err, EPROTO,
			    "no pod, and no RayCluster with pods, is called \"%.253s\"",
			    o->argument);
	if (r == 0 && n == 1 && pod_refusal(first))
		r = err_set(err, EPROTO, "pod %.253s: %s", json_str(first, "metadata.name"),
			    pod_refusal(first));
	if (r == 0) {
		pods_ask(o, pods, asks);
		r = answers_write(o, asks, out, err);
	}
	for (size_t i = 0; asks && i < asks->n; i++)
		strbuf_release(&asks->all[i].answer);
	free(asks);
	return r;
}
