/* SPDX-License-Identifier: Apache-2.0 */
/* Sends HTTP requests to a pod, by kubectl get --raw. */
#include "plugin/sidecar_http.h"

#include <stdio.h>

#include "lib/json.h"
#include "plugin/kubectl_stream.h"
#include "plugin/pod_sidecar.h"
#include "plugin/terminal.h"

#define URL_MAX 640

/*
 * Passes the answer on, which fn takes over. Why there is none is said on stderr. Returns how many
 * bytes came.
 */
static size_t sidecar_ask_memory(const struct kubectl *kubectl, const cJSON *pod, int port, sidecar_memory_fn *fn, void *arg)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(SIDECAR_ANSWER_MAX);
	const struct stream stream = { .on_data = stream_into_strbuf, .arg = &answer };
	const char *name = json_str_or(pod, "metadata.name", "?");
	cJSON *memory = NULL;
	struct err err = { 0 };
	char url[URL_MAX];

	snprintf(url, sizeof(url), "/api/v1/namespaces/%.63s/pods/%.253s:%d/proxy/memory", json_str_or(pod, "metadata.namespace", "?"),
		 name, port);
	int r = kubectl_stream(kubectl, (const char *const[]){ "get", "--raw", url, "--request-timeout=20s", NULL }, &stream, &err);
	if (r == 0)
		r = json_parse(strbuf_str(&answer), answer.len, &memory, &err);
	if (r < 0) {
		err_wrap(&err, "asking the sidecar of pod %.253s", name);
		stderr_note("%s\n", err_text(&err));
	} else
		fn(arg, pod, memory);
	return answer.len;
}

int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name, sidecar_memory_fn *fn, void *arg)
{
	size_t bytes = 0;
	int asked = 0;

	json_each(pod, json_get(pods, "items")) {
		int port = json_is(pod, "status.phase", "Running") ? pod_sidecar_port(pod_sidecar(pod)) : 0;

		if (!port || (name && !json_is(pod, "metadata.name", name)))
			continue;
		if (asked == SIDECARS_ASKED_MAX || bytes >= SIDECARS_ANSWERS_MAX) {
			stderr_note("Only the first %d pods were asked.\n", asked);
			break;
		}
		asked++;
		bytes += sidecar_ask_memory(kubectl, pod, port, fn, arg);
	}
	return asked;
}
