/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out why a head pod is not ready. */
#include "operator/raycluster/head_trouble.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

#include "lib/json.h"
#include "lib/utf8.h"
#include "operator/raycluster/pod_state.h"

#define PART_MAX 500

/* Returns a reason of Kubernetes, which is in CamelCase; for any other text the fallback. */
static const char *camel_case_or(const char *reason, const char *fallback)
{
	if (!reason || !isalpha((unsigned char)*reason))
		return fallback;
	for (const char *p = reason; *p; p++)
		if (!isalnum((unsigned char)*p))
			return fallback;
	return reason;
}

/* Adds the first line of a container's termination message, cut between characters. */
static void head_trouble_add_words(struct strbuf *out, const char *words)
{
	size_t len = words ? strcspn(words, "\n") : 0;

	if (len > PART_MAX)
		len = utf8_cut(words, PART_MAX);
	if (len)
		strbuf_addf(out, "%s%.*s", out->len ? "; " : "", (int)len, words);
}

/* "CrashLoopBackOff" alone hides the cause, so the kubelet's message and the last end are added. */
static const char *unready_container(const cJSON *head, struct strbuf *out)
{
	const cJSON *container = pod_unready_container(head),
		    *waiting = json_get(container, "state.waiting"),
		    *ended = json_get(container, "state.terminated");
	const cJSON *now = cJSON_IsObject(waiting) ? waiting : ended;
	const char *name = json_str(container, "name");

	if (!container)
		return NULL;
	strbuf_addf(out, "%scontainer %.63s is %s", out->len ? "; " : "", name ? name : "?",
		    json_str_or(now, "reason", "not ready"));
	head_trouble_add_words(out, json_str(now, "message"));
	if (!cJSON_IsObject(ended))
		ended = json_get(container, "lastState.terminated");
	if (cJSON_IsObject(ended))
		strbuf_addf(out, "; it ended before with exit code %" PRId64 " (%.63s)",
			    json_int(ended, "exitCode", -1),
			    json_str(ended, "reason") ? json_str(ended, "reason") : "?");
	return json_str(now, "reason");
}

void head_trouble(const cJSON *head, const char **ret_reason, struct strbuf *out)
{
	const cJSON *conditions = json_get(head, "status.conditions"),
		    *ready = json_find(conditions, "type", "Ready");
	const cJSON *scheduled = json_find(conditions, "type", "PodScheduled");

	if (json_is(scheduled, "status", "False")) {
		*ret_reason = camel_case_or(json_str(scheduled, "reason"), "Unschedulable");
		strbuf_adds(out, "the head pod is not scheduled");
		head_trouble_add_words(out, json_str_or(scheduled, "message", "no reason given"));
		return;
	}
	head_trouble_add_words(out, json_str(ready, "message"));
	const char *reason = unready_container(head, out);
	*ret_reason =
		camel_case_or(reason ? reason : json_str(ready, "reason"), "ContainersNotReady");
	if (!out->len)
		strbuf_adds(out, "the head pod is not ready");
}
