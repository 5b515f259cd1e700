/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text of Kubernetes objects in half its bytes. */
#include "operator/kube/squeeze.h"

#include <string.h>

/*
 * The code of a fragment is its place, from 1; of a long one it is WIDE, and its place behind that.
 * All begin with a quote, so that only there something has to be compared; of two that begin alike
 * the longer stands first, and the long ones stand before the others. Nothing of it is kept outside
 * the process: it may change.
 */
#define WIDE 0x1f

struct fragment {
	const char *text;
	size_t len;
};
#define F(text) { text, sizeof(text) - 1 }

/* Whole parts that most Ray pods have alike: of this operator's, of KubeRay's, of the kubelet's. */
static const struct fragment wide[] = {
	F("\"conditions\":[{\"type\":\"PodReadyToStartContainers\",\"status\":\"True\"},{\"type\":\"Initialized\",\"status\":\"True\"},"
	  "{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":\"ContainersReady\",\"status\":\"True\"},{\"type\":\"PodScheduled\","
	  "\"status\":\"True\"}],"),
	F("\"conditions\":[{\"type\":\"Initialized\",\"status\":\"True\"},{\"type\":\"Ready\",\"status\":\"True\"},{\"type\":"
	  "\"ContainersReady\",\"status\":\"True\"},{\"type\":\"PodScheduled\",\"status\":\"True\"}],"),
	F("\"name\":\"afterglow\",\"ports\":[{\"name\":\"afterglow-http\",\"containerPort\":9095,\"protocol\":\"TCP\"}],\"resources\":"
	  "{\"limits\":{\"cpu\":\""),
	F("\"ports\":[{\"name\":\"metrics\",\"containerPort\":8080,\"protocol\":\"TCP\"}],\"resources\":{\"limits\":{\"cpu\":\""),
	F("\"ray.io/worker-group-replica-index\":\""),
	F("\"annotations\":{\"afterglow.dev/recreate-hash\":\"v1-"),
	F("\"ray.io/kuberay-version\":\""),
	F("\"volumes\":[{},{\"configMap\":{\"items\":[{\"key\":\"launch-x86_64-"),
	F("\"terminationGracePeriodSeconds\":30"),
	F("\"lastState\":{},\"ready\":true,\"restartCount\":0,\"containerID\":\"containerd://"),
	F("\"apiVersion\":\"v1\",\"kind\":\"Pod\"}"),
};
_Static_assert(ARRAY_SIZE(wide) < 256, "the place of a long one is a byte");

static const struct fragment fragments[] = {
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
};
#undef F
_Static_assert(ARRAY_SIZE(fragments) < WIDE, "codes are control characters, and the last is WIDE");

/* The place, from 1, of the one that text begins with; 0: none. */
static size_t find(const struct fragment *list, size_t n, const char *text, size_t len)
{
	for (size_t i = 0; i < n; i++)
		if (list[i].len <= len && text[1] == list[i].text[1] &&
		    memcmp(text, list[i].text, list[i].len) == 0)
			return i + 1;
	return 0;
}

/*
 * Puts the code of the fragment that text begins with at to, which is not behind text. The
 * fragment's length; 0: none.
 */
static size_t put_code(const char *text, size_t len, char **to)
{
	size_t place = find(wide, ARRAY_SIZE(wide), text, len);

	if (place) {
		*(*to)++ = WIDE;
		*(*to)++ = (char)place;
		return wide[place - 1].len;
	}
	place = find(fragments, ARRAY_SIZE(fragments), text, len);
	if (!place)
		return 0;
	*(*to)++ = (char)place;
	return fragments[place - 1].len;
}

size_t squeeze(char *text, size_t len)
{
	char *to = text;
	size_t size;

	for (size_t from = 0; from < len; from += size) {
		size = text[from] == '"' ? put_code(text + from, len - from, &to) : 0;
		if (!size) {
			*to++ = text[from];
			size = 1;
		}
	}
	return (size_t)(to - text);
}

/* The fragment of the code at i, which ends up behind it; NULL: it is none. */
static const struct fragment *fragment_of(const char *text, size_t len, size_t *i)
{
	unsigned char code = (unsigned char)text[(*i)++];

	if (code == WIDE) {
		unsigned char place = *i < len ? (unsigned char)text[(*i)++] : 0;

		return place && place <= ARRAY_SIZE(wide) ? &wide[place - 1] : NULL;
	}
	return code && code <= ARRAY_SIZE(fragments) ? &fragments[code - 1] : NULL;
}

void unsqueeze(const char *text, size_t len, struct strbuf *out)
{
	size_t plain = 0, i = 0;

	while (i < len) {
		size_t at = i;
		const struct fragment *fragment = fragment_of(text, len, &i);

		if (!fragment)
			continue;
		strbuf_add(out, text + plain, at - plain);
		strbuf_add(out, fragment->text, fragment->len);
		plain = i;
	}
	strbuf_add(out, text + plain, len - plain);
}
