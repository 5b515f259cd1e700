/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text of Kubernetes objects in half its bytes. */
#include "operator/kube/squeeze.h"

#include <string.h>

/*
 * The code of a fragment is its place, from 1. All begin with a quote, so that only there something has to be
 * compared; of two that begin alike the longer stands first. Nothing of it is kept outside the process: it may change.
 */
static const struct {
	const char *text;
	size_t len;
} fragments[] = {
#define F(text) { text, sizeof(text) - 1 }
	F("\"metadata\":{\"name\":\""),
	F("\"ownerReferences\":[{\"apiVersion\":\"ray.io/v1\",\"kind\":\"RayCluster\",\"name\":\""),
	F("\"controller\":true,\"blockOwnerDeletion\":true}]},\"spec\":{"),
	F("\"namespace\":\""),
	F("\"uid\":\""),
	F("\"resourceVersion\":\""),
	F("\"creationTimestamp\":\""),
	F("\"labels\":{\"app.kubernetes.io/created-by\":\"kuberay-operator\",\"app.kubernetes.io/name\":\"kuberay\",\"ray.io/cluster\":\""),
	F("\"ray.io/group\":\""),
	F("\"ray.io/identifier\":\""),
	F("\"ray.io/is-ray-node\":\"yes\",\"ray.io/node-type\":\""),
	F("\"containers\":[{\"name\":\""),
	F("\"resources\":{\"limits\":{\"cpu\":\""),
	F("\"requests\":{\"cpu\":\""),
	F("\"memory\":\""),
	F("\"restartPolicy\":\""),
	F("\"terminationGracePeriodSeconds\":30"),
	F("\"nodeName\":\""),
	F("\"status\":{\"phase\":\""),
	F("\"conditions\":[{\"type\":\""),
	F("\"status\":\"True\"},{\"type\":\""),
	F("\"status\":\"False\",\"reason\":\""),
	F("\"podIP\":\""),
	F("\"startTime\":\""),
	F("\"containerStatuses\":[{\"name\":\""),
	F("\"containerID\":\"containerd://"),
	F("\"ready\":true,\"restartCount\":"),
	F("\"started\":true"),
	F("\"lastState\":{}"),
	F("\"state\":{\"running\":{\"startedAt\":\""),
	F("\"name\":\""),
#undef F
};
_Static_assert(ARRAY_SIZE(fragments) < ' ', "codes are control characters");

/* The length of the fragment that text begins with, 0: none. */
static size_t fragment_at(const char *text, size_t len, char *ret_code)
{
	for (size_t i = 0; i < ARRAY_SIZE(fragments); i++) {
		size_t size = fragments[i].len;

		if (size <= len && text[1] == fragments[i].text[1] && memcmp(text, fragments[i].text, size) == 0) {
			*ret_code = (char)(i + 1);
			return size;
		}
	}
	return 0;
}

size_t squeeze(char *text, size_t len)
{
	size_t to = 0, size;
	char code;

	for (size_t from = 0; from < len; from += size) {
		size = text[from] == '"' ? fragment_at(text + from, len - from, &code) : 0;
		text[to++] = size ? code : text[from];
		size = size ? size : 1;
	}
	return to;
}

void unsqueeze(const char *text, size_t len, struct strbuf *out)
{
	size_t plain = 0;

	for (size_t i = 0; i <= len; i++) {
		unsigned char c = i < len ? (unsigned char)text[i] : 1;

		if (c == 0 || c > ARRAY_SIZE(fragments))
			continue;
		strbuf_add(out, text + plain, i - plain);
		plain = i + 1;
		if (i < len)
			strbuf_add(out, fragments[c - 1].text, fragments[c - 1].len);
	}
}
