/* SPDX-License-Identifier: Apache-2.0 */
/* Asks running pods for their memory and prints it. */
#include "plugin/live.h"

#include "lib/json.h"
#include "lib/macros.h"
#include "plugin/reads.h"
#include "plugin/sidecar_http.h"
#include "plugin/table.h"
#include "plugin/terminal.h"
#include "plugin/top.h"

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
		stderr_note("No running Ray pod with a sidecar%s%s was found%s.\n",
			    o->argument ? " called " : "", o->argument ? o->argument : "",
			    where_looked(o));
	r = cJSON_GetArraySize(answers) ? 0 : 1;
	if (o->output) {
		_cleanup_json_ cJSON *json = cJSON_CreateObject();

		json_set(json, "pods", TAKE_PTR(answers));
		document_print(json, "PodMemory", out);
	} else if (r == 0)
		top_text(answers, o->all_namespaces, o->argument != NULL, out);
	return r;
}
