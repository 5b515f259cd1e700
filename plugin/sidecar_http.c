/* SPDX-License-Identifier: Apache-2.0 */
/* Sends HTTP requests to a pod, by kubectl get --raw. */
#include "plugin/sidecar_http.h"

#include <errno.h>
#include <stdio.h>

#include "lib/json.h"
#include "plugin/kubectl_stream.h"
#include "plugin/pod_sidecar.h"
#include "plugin/terminal.h"

#define URL_MAX 640

int sidecar_get(const struct kubectl *kubectl, const cJSON *pod, const char *path, struct strbuf *answer, struct err *err)
{
	const char *namespace = json_str(pod, "metadata.namespace"), *name = json_str(pod, "metadata.name");
	int port = pod_sidecar_port(pod_sidecar(pod));
	char url[URL_MAX];

	if (!namespace || !name || !port)
		return err_set(err, EPROTO, "pod %.253s has no sidecar that can be asked",
			       name ? name : "?");
	snprintf(url, sizeof(url), "/api/v1/namespaces/%.63s/pods/%.253s:%d/proxy/%s", namespace, name, port, path);

	const struct stream stream = { .on_data = stream_into_strbuf, .arg = answer };
	int r = kubectl_stream(kubectl, (const char *const[]){ "get", "--raw", url, "--request-timeout=20s", NULL }, &stream, err);

	return r < 0 ? err_wrap(err, "asking the sidecar of pod %.253s", name) : 0;
}

size_t sidecar_ask_memory(const struct kubectl *kubectl, const cJSON *pod, sidecar_memory_fn *fn,
			  void *arg)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(SIDECAR_ANSWER_MAX);
	cJSON *memory = NULL;
	struct err err = { 0 };
	int r = sidecar_get(kubectl, pod, "memory", &answer, &err);

	if (r == 0 && json_parse(strbuf_str(&answer), answer.len, &memory, &err) < 0)
		r = err_wrap(&err, "the sidecar of pod %.253s", json_str(pod, "metadata.name"));
	if (r < 0)
		stderr_note("%s\n", err_text(&err));
	else
		fn(arg, pod, memory);
	return answer.len;
}

int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name, sidecar_memory_fn *fn, void *arg)
{
	size_t bytes = 0;
	int asked = 0;

	json_each(pod, json_get(pods, "items")) {
		if (!pod_sidecar_serves(pod) || (name && !json_is(pod, "metadata.name", name)))
			continue;
		if (asked == SIDECARS_ASKED_MAX || bytes >= SIDECARS_ANSWERS_MAX) {
			stderr_note("Only the first %d pods were asked.\n", asked);
			break;
		}
		asked++;
		bytes += sidecar_ask_memory(kubectl, pod, fn, arg);
	}
	return asked;
}
