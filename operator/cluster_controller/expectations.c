/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps track of pods that may or may not exist. */
#include "operator/cluster_controller/expectations.h"

#include <stdlib.h>
#include <string.h>

#include "lib/units.h"

/* kube-apiserver gives up a request after a minute (--request-timeout). */
#define ON_ITS_WAY_NS (65 * NS_PER_SEC)

struct expected_pod {
	bool must_ask;
	int64_t until_ns; /* until then the name is reserved for its creation */
	char group[]; /* "": the pod existed */
};

void expectations_release(struct expectations *e)
{
	strmap_release(&e->pods, free);
}

void expectations_ask(struct expectations *e, const char *name, const char *group)
{
	struct expected_pod *pod = strmap_get(&e->pods, name);
	size_t size = strlen(group ? group : "") + 1;

	if (!pod && e->pods.n < EXPECTATIONS_MAX && (pod = calloc(1, sizeof(*pod) + size))) {
		memcpy(pod->group, group ? group : "", size);
		if (strmap_put(&e->pods, name, pod, NULL) < 0)
			free(TAKE_PTR(pod));
	}
	if (pod)
		pod->must_ask = true;
}

const char *expectations_next(const struct expectations *e)
{
	const char *name;
	void *value;

	strmap_each(&e->pods, &name, &value)
		if (((const struct expected_pod *)value)->must_ask)
			return name;
	return NULL;
}

void expectations_settle(struct expectations *e, const char *name)
{
	free(strmap_remove(&e->pods, name));
}

void expectations_absent(struct expectations *e, const char *name, int64_t now_ns)
{
	struct expected_pod *pod = strmap_get(&e->pods, name);

	if (!pod)
		return;
	if (!*pod->group) {
		expectations_settle(e, name);
		return;
	}
	pod->must_ask = false;
	pod->until_ns = now_ns + ON_ITS_WAY_NS;
}

size_t expectations_unanswered(struct expectations *e, int64_t now_ns,
			       struct unanswered_create *ret_list, size_t max)
{
	const char *name;
	void *value;
	size_t n = 0;

	strmap_each(&e->pods, &name, &value) {
		const struct expected_pod *pod = value;

		if (pod->must_ask)
			continue;
		if (now_ns >= pod->until_ns)
			expectations_settle(e, name);
		else if (n < max)
			ret_list[n++] =
				(struct unanswered_create){ .name = name, .group = pod->group };
	}
	return n;
}
