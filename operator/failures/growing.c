/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the growing memory of one pod. */
#include "operator/failures/growing.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"

#define HOUR_NS (3600 * NS_PER_SEC)
/* length of "2026-11-22T14:00Z" */
#define MINUTES_CHARS 16

/*
 * Writes when the limit will be met, to the hour. That changes less often than the time that is
 * left.
 */
static void growth_say(const struct growth *g, const cJSON *pod, int64_t now_ns,
		       char text[static GROWING_TEXT_MAX])
{
	char when[TIME_TEXT_MAX];

	time_format((now_ns + g->left_ns + HOUR_NS / 2) / HOUR_NS * HOUR_NS, when);
	snprintf(
		text, GROWING_TEXT_MAX,
		"Memory of %s in container %s of pod %.253s has grown by %s per hour for %s, to %s; at that rate the container meets its memory "
		"limit of %s at about %.*sZ",
		g->process[0] ? g->process : "the processes", g->container,
		json_str_or(pod, "metadata.name", "?"), SIZE_TEXT(g->rate),
		DURATION_TEXT(g->grew_ns), SIZE_TEXT(g->bytes), SIZE_TEXT(g->limit), MINUTES_CHARS,
		when);
}

static size_t find(const struct growing *growing, const char *container)
{
	size_t i = 0;

	while (i < growing->n && strcmp(growing->list[i].container, container) != 0)
		i++;
	return i;
}

bool growing_take(struct growing *growing, const cJSON *pod, const struct growth *growths, size_t n,
		  int64_t now_ns)
{
	struct growing old = *growing;
	bool changed = n != old.n;

	growing->n = n;
	for (size_t i = 0; i < n; i++) {
		size_t was = find(&old, growths[i].container);

		if (was < old.n && now_ns - old.list[was].since_ns < GROWING_RENEW_NS &&
		    now_ns >= old.list[was].since_ns) {
			growing->list[i] = old.list[was];
			continue;
		}
		changed = true;
		memcpy(growing->list[i].container, growths[i].container,
		       sizeof(growths[i].container));
		growing->list[i].since_ns = now_ns;
		growth_say(&growths[i], pod, now_ns, growing->list[i].text);
	}
	return changed;
}
