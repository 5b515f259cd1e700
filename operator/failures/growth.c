/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a sidecar's warnings about memory that grows towards its limit. */
#include "operator/failures/growth.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "operator/failures/termination.h"
#include "operator/kube/event.h"
#include "operator/kube/object.h"

#define BYTES_MAX (INT64_C(1) << 50)
#define DAY_S 86400

static bool is_between(const cJSON *warning, const char *field, int64_t low, int64_t high,
		       int64_t *ret_value)
{
	*ret_value = json_int(warning, field, INT64_MIN);
	return *ret_value >= low && *ret_value <= high;
}

static bool is_taken(const struct growth *growths, size_t n, const char *container)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(growths[i].container, container) == 0)
			return true;
	return false;
}

static bool take(const cJSON *warning, const cJSON *pod, struct growth *g)
{
	const char *kind = json_str(warning, "kind"), *container = json_str(warning, "container"),
		   *process = json_str(warning, "process");
	int64_t grew_s, left_s;

	if (!kind || strcmp(kind, "MemoryGrowing") != 0 || !container ||
	    strlen(container) >= sizeof(g->container) ||
	    !json_find(json_get(pod, "spec.containers"), "name", container) ||
	    !is_between(warning, "growthBytesPerHour", 1, BYTES_MAX, &g->rate) ||
	    !is_between(warning, "bytes", 0, BYTES_MAX, &g->bytes) ||
	    !is_between(warning, "limitBytes", 1, BYTES_MAX, &g->limit) ||
	    !is_between(warning, "grewSeconds", 1, 2 * DAY_S, &grew_s) ||
	    !is_between(warning, "secondsLeft", 0, DAY_S, &left_s))
		return false;
	snprintf(g->container, sizeof(g->container), "%s", container);
	text_tame(process ? process : "", g->process, sizeof(g->process));
	g->grew_ns = grew_s * NS_PER_SEC;
	g->left_ns = left_s * NS_PER_SEC;
	return true;
}

size_t growth_take(const cJSON *warnings, const cJSON *pod,
		   struct growth ret_growths[static GROWTHS_MAX])
{
	size_t n = 0;

	if (!cJSON_IsArray(warnings))
		return 0;
	json_each(warning, warnings)
		if (n < GROWTHS_MAX && take(warning, pod, &ret_growths[n]) &&
		    !is_taken(ret_growths, n, ret_growths[n].container))
			n++;
	return n;
}

/* The figures change with each report, but the name must not. */
static void set_name(cJSON *event, const cJSON *object, const cJSON *pod, const struct growth *g,
		     int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT(4096);
	const char *object_uid = json_str_or(object, "metadata.uid", ""),
		   *pod_uid = json_str_or(pod, "metadata.uid", "");
	char name[300], hash[11];

	strbuf_addf(&seed, "MemoryGrowing/%.100s/%.100s/%s/%" PRId64, object_uid, pod_uid,
		    g->container, now_ns / GROWTH_AGAIN_NS);
	sha256_hex(strbuf_str(&seed), seed.len, 10, hash);
	snprintf(name, sizeof(name), "%.200s.%s", json_str_or(object, "metadata.name", "object"),
		 hash);
	json_set_str(json_object_at(event, "metadata"), "name", name);
}

cJSON *growth_event(const cJSON *object, const cJSON *pod, const struct growth *g, int64_t now_ns)
{
	char note[900];

	snprintf(
		note, sizeof(note),
		"Memory of %s in container %s of pod %.253s grew by %s per hour for %s, to %s. At that rate the container meets its memory "
		"limit of %s in %s.",
		g->process[0] ? g->process : "the processes", g->container,
		json_str_or(pod, "metadata.name", "?"), SIZE_TEXT(g->rate),
		DURATION_TEXT(g->grew_ns), SIZE_TEXT(g->bytes), SIZE_TEXT(g->limit),
		DURATION_TEXT(g->left_ns));
	cJSON *event = event_of_object(object, "Warning", "MemoryGrowing", "Watch", note, now_ns);
	if (event)
		set_name(event, object, pod, g, now_ns);
	return event;
}
