/* SPDX-License-Identifier: Apache-2.0 */
/* Sends HTTP requests to a pod, by kubectl get --raw. */
#include "plugin/sidecar_http.h"

#include <stdio.h>

#include "lib/json.h"
#include "plugin/kubectl_stream.h"
#include "plugin/pod_sidecar.h"
#include "plugin/terminal.h"

#define URL_MAX 640
#define SIDECAR_ANSWER_MAX ((size_t)4 << 20) /* bytes */
#define SIDECARS_ASKED_MAX 200 /* a kubectl process for each, so about 20 s in all */
/* Bytes of all answers; parsed, they take up to 27 times as many. */
#define SIDECARS_ANSWERS_MAX ((size_t)64 << 20)

/*
 * Passes the answer to fn, or prints on stderr why there is none. Returns how many bytes the pod
 * sent.
 */
static size_t sidecar_ask_memory(const struct kubectl *kubectl, const cJSON *pod, int port,
				 sidecar_memory_fn *fn, void *arg)
{
	_cleanup_strbuf_ struct strbuf answer = STRBUF_INIT(SIDECAR_ANSWER_MAX);
	const struct stream stream = { .on_data = stream_into_strbuf, .arg = &answer };
	const char *name = json_str_or(pod, "metadata.name", "?");
	cJSON *memory = NULL;
	struct err err = { 0 };
	char url[URL_MAX];

	snprintf(url, sizeof(url), "/api/v1/namespaces/%.63s/pods/%.253s:%d/proxy/memory",
		 json_str_or(pod, "metadata.namespace", "?"), name, port);
	const char *const args[] = { "get", "--raw", url, "--request-timeout=20s", NULL };
	int r = kubectl_stream(kubectl, args, &stream, &err);

	if (r == 0)
		r = json_parse(strbuf_str(&answer), answer.len, &memory, &err);
	if (r < 0) {
		err_wrap(&err, "asking the sidecar of pod %.253s", name);
		stderr_note("%s\n", err_text(&err));
	} else
		fn(arg, pod, memory);
	return answer.len;
}

int sidecars_ask_memory(const struct kubectl *kubectl, const cJSON *pods, const char *name,
			sidecar_memory_fn *fn, void *arg)
{
	size_t bytes = 0;
	int asked = 0;

	json_each(pod, json_get(pods, "items")) {
		int port = pod_sidecar_port(pod_sidecar(pod));

		if (!port || !json_is(pod, "status.phase", "Running") ||
		    (name && !json_is(pod, "metadata.name", name)))
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
