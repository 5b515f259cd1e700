/* SPDX-License-Identifier: Apache-2.0 */
/* What pods that run say and are. */
#include "plugin/live.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/pod_sidecar.h"
#include "plugin/policy_explain.h"
#include "plugin/reads.h"
#include "plugin/sidecar_http.h"
#include "plugin/top.h"

#define TOP_PODS_MAX 200 /* a process of kubectl's for each, so some 20 s */

/* --- top ------------------------------------------------------------------------------------------------ */

static bool runs(const cJSON *pod)
{
	const char *phase = json_str(pod, "status.phase");

	return phase && strcmp(phase, "Running") == 0 && pod_sidecar_port(pod_sidecar(pod)) > 0;
}

/* What a sidecar does not answer is said on stderr, and the others are asked all the same. */
static void add_answer(const struct kubectl *kubectl, const cJSON *pod, cJSON *answers)
{
	cJSON *memory = NULL, *answer;
	struct err err = { 0 };

	if (sidecar_get_json(kubectl, pod, "memory", &memory, &err) < 0) {
		fprintf(stderr, "%s\n", err_text(&err));
		return;
	}
	answer = cJSON_CreateObject();
	json_set_str(answer, "namespace", json_str(pod, "metadata.namespace"));
	json_set_str(answer, "pod", json_str(pod, "metadata.name"));
	json_set(answer, "memory", memory);
	json_append(answers, answer);
}

static void ask_pods(const struct options *o, const cJSON *pods, cJSON *answers)
{
	struct kubectl kubectl = kubectl_of(o);
	const cJSON *pod;
	int asked = 0;

	cJSON_ArrayForEach(pod, json_get(pods, "items")) {
		const char *name = json_str(pod, "metadata.name");

		if (!runs(pod) || !name || (o->argument && strcmp(name, o->argument) != 0))
			continue;
		if (asked++ == TOP_PODS_MAX) {
			fprintf(stderr, "Only the first %d pods were asked; a POD, --cluster or --selector names fewer.\n", TOP_PODS_MAX);
			return;
		}
		add_answer(&kubectl, pod, answers);
	}
	if (!asked)
		fprintf(stderr, "No running Ray pod with a sidecar%s%s was found%s.\n", o->argument ? " called " : "",
			o->argument ? o->argument : "", where_looked(o));
}

static int print_json(const cJSON *json, struct strbuf *out)
{
	_cleanup_free_ char *text = cJSON_Print(json);

	out->failed = out->failed || !text;
	strbuf_addf(out, "%s\n", text ? text : "");
	return 0;
}

int live_top(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *pods = NULL, *answers = cJSON_CreateArray();
	int r;

	if (o->output && strcmp(o->output, "json") != 0)
		return err_set(err, EINVAL, "top prints json alone with --output, not \"%.40s\"", o->output);
	r = read_ray_pods(o, o->cluster, o->selector, &pods, err);
	if (r < 0)
		return r;
	ask_pods(o, pods, answers);
	if (o->output)
		return print_json(answers, out);
	if (!cJSON_GetArraySize(answers))
		return 1;
	top_text(answers, o->all_namespaces, o->argument != NULL, out);
	return 0;
}

/* --- policy explain ------------------------------------------------------------------------------------- */

int live_policy(const struct options *o, struct strbuf *out, struct err *err)
{
	_cleanup_json_ cJSON *pod = NULL, *cluster = NULL, *policies = NULL, *cluster_policies = NULL;
	int r = read_pod(o, o->second, &pod, err);

	if (r < 0)
		return r;
	const char *namespace = json_str(pod, "metadata.namespace"), *name = label_of(pod, "ray.io/cluster");
	if (!name)
		return err_set(err, EPROTO, "pod %.253s is no Ray pod: it has no label ray.io/cluster", o->second);
	cluster = read_quietly(o, (const char *const[]){ "get", "rayclusters.ray.io", "--namespace", namespace, "--output=json", "--", name, NULL });
	policies = read_quietly(o, (const char *const[]){ "get", "raypolicies.afterglow.dev", "--namespace", namespace, "--output=json", NULL });
	cluster_policies = read_quietly(o, (const char *const[]){ "get", "clusterraypolicies.afterglow.dev", "--output=json", NULL });
	policy_explain(&(const struct policy_facts){ pod, cluster, policies, cluster_policies }, out);
	return 0;
}
