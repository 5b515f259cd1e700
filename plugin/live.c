/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the state of running pods. */
#include "plugin/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/directory.h"
#include "plugin/pod_sidecar.h"
#include "plugin/policy_explain.h"
#include "plugin/reads.h"
#include "plugin/sidecar_http.h"
#include "plugin/table.h"
#include "plugin/terminal.h"
#include "plugin/top.h"

/* --- top ------------------------------------------------------------------------------------------------ */

static void answer_take(void *answers, const cJSON *pod, cJSON *memory)
{
	cJSON *answer = cJSON_CreateObject();

	json_set_str(answer, "namespace", json_str(pod, "metadata.namespace"));
	json_set_str(answer, "pod", json_str(pod, "metadata.name"));
	json_set(answer, "memory", memory);
	json_append(answers, answer);
}

int live_top(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *pods = NULL, *answers = cJSON_CreateArray();
	struct kubectl kubectl = kubectl_of(o);
	int r = read_ray_pods(o, o->cluster, o->selector, &pods, err);

	if (r < 0)
		return r;
	if (!sidecars_ask_memory(&kubectl, pods, o->argument, answer_take, answers))
		stderr_note("No running Ray pod with a sidecar%s%s was found%s.\n", o->argument ? " called " : "",
			    o->argument ? o->argument : "", where_looked(o));
	r = cJSON_GetArraySize(answers) ? 0 : 1;
	if (o->output) {
		_cleanup_json_ cJSON *json = cJSON_CreateObject();

		json_set(json, "pods", TAKE_PTR(answers));
		document_print(json, "PodMemory", out);
	} else if (r == 0)
		top_text(answers, o->all_namespaces, o->argument != NULL, out);
	return r;
}

/* --- snapshot -------------------------------------------------------------------------------- */

/* The directory of a snapshot, and how many files are in it. */
struct snapshot {
	int dir_fd;
	size_t files;
};

static int put(struct snapshot *s, const char *name, const struct strbuf *text, struct err *err)
{
	int r = strbuf_failed(text) ? err_set(err, ENOMEM, "%s", name) : file_put(s->dir_fd, name, strbuf_str(text), text->len, 0600, err);

	s->files += r == 0;
	return r < 0 ? err_wrap(err, "%s", name) : 0;
}

static int put_json(struct snapshot *s, const char *name, const cJSON *json, struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(KUBECTL_ANSWER_MAX);

	json_print(json, &text);
	return put(s, name, &text, err);
}

/*
 * Saves the memory as the sidecar gives it and as top prints it. If the sidecar does not answer,
 * both files are left out.
 */
static int put_memory(struct snapshot *s, const struct kubectl *kubectl, const cJSON *pod, struct err *err)
{
	_cleanup_strbuf_ struct strbuf table = STRBUF_INIT(SIDECAR_ANSWER_MAX);
	_cleanup_json_ cJSON *answers = cJSON_CreateArray();

	sidecar_ask_memory(kubectl, pod, answer_take, answers);
	if (!cJSON_GetArraySize(answers)) {
		stderr_note("memory.json and memory.txt are left out: "
			"the sidecar did not answer with the memory of the pod\n");
		return 0;
	}
	top_text(answers, true, true, &table);
	int r = put_json(s, "memory.json", answers->child, err);
	return r < 0 ? r : put(s, "memory.txt", &table, err);
}

/*
 * Saves the other files that the sidecar serves. If it does not give one, that is reported on
 * stderr and the file is left out.
 */
static int put_answers(struct snapshot *s, const struct kubectl *kubectl, const cJSON *pod, struct err *err)
{
	static const struct {
		const char *path, *name;
	} rows[] = { { "failures", "failures.json" }, { "metrics", "metrics.txt" } };

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(SIDECAR_ANSWER_MAX);
		struct err why = { 0 };

		if (sidecar_get(kubectl, pod, rows[i].path, &answer, &why) < 0)
			stderr_note("%s is left out: %s\n", rows[i].name, err_text(&why));
		else if (put(s, rows[i].name, &answer, err) < 0)
			return -EIO;
	}
	return 0;
}

static int put_objects(struct snapshot *s, const struct options *o, const cJSON *pod, struct err *err)
{
	const char *namespace = json_str(pod, "metadata.namespace");
	char selector[320];

	snprintf(selector, sizeof(selector), "involvedObject.kind=Pod,involvedObject.name=%.253s", json_str(pod, "metadata.name"));
	_cleanup_json_ cJSON *events = read_quietly(o, (const char *const[]){ "get", "events", "--namespace", namespace, "--field-selector", selector,
									      "--output=json", NULL });
	if (put_json(s, "pod.json", pod, err) < 0)
		return -EIO;
	if (events)
		return put_json(s, "events.json", events, err);
	stderr_note("events.json is left out: you may not read Events\n");
	return 0;
}

int live_snapshot(const struct options *o, struct strbuf *out, struct err *err)
{
	struct kubectl kubectl = kubectl_of(o);
	_cleanup_json_ cJSON *pod = NULL;
	_cleanup_close_ int dir_fd = -1;
	int r = read_objects(o, "pod", NULL, o->argument, false, &pod, err);

	if (r == 0 && !pod_sidecar_port(pod_sidecar(pod)))
		r = err_set(err, EPROTO, "pod %.253s has no sidecar that can be asked",
			    o->argument);
	if (r == 0)
		r = directory_open_empty(o->second, &dir_fd, err);
	struct snapshot s = { .dir_fd = dir_fd };
	/* What changes fastest is saved first. */
	if (r == 0)
		r = put_memory(&s, &kubectl, pod, err);
	if (r == 0)
		r = put_answers(&s, &kubectl, pod, err);
	if (r == 0)
		r = put_objects(&s, o, pod, err);
	if (r == 0)
		strbuf_addf(out, "%zu files are in %s. Nothing in the pod was changed, and no failure was recorded.\n", s.files, o->second);
	return r;
}

/* --- policy explain ------------------------------------------------------------------------------------- */

int live_policy(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *pod = NULL, *cluster = NULL, *policies = NULL, *cluster_policies = NULL;
	int r = read_objects(o, "pod", NULL, o->second, false, &pod, err);

	if (r < 0)
		return r;
	const char *namespace = json_str(pod, "metadata.namespace"), *name = label_of(pod, "ray.io/cluster");
	if (!name)
		return err_set(err, EPROTO, "pod %.253s is no Ray pod: it has no label ray.io/cluster", o->second);
	cluster = read_quietly(o, (const char *const[]){ "get", "rayclusters.ray.io", "--namespace", namespace, "--output=json", "--", name, NULL });
	policies = read_quietly(o, (const char *const[]){ "get", "raypolicies.afterglow.dev", "--namespace", namespace, "--output=json", NULL });
	cluster_policies = read_quietly(o, (const char *const[]){ "get", "clusterraypolicies.afterglow.dev", "--output=json", NULL });
	const struct policy_facts facts = { pod, cluster, policies, cluster_policies };
	_cleanup_json_ cJSON *json = o->output ? policy_explain_json(&facts) : NULL;

	if (json)
		document_print(json, "Settings", out);
	else
		policy_explain(&facts, out);
	return 0;
}
