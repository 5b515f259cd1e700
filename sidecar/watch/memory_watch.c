/* SPDX-License-Identifier: Apache-2.0 */
/* Watches a container for memory that grows for hours. */
#include "sidecar/watch/memory_watch.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

#define QUIET_MAX 6 /* samples; half an hour */
#define SENTENCE_MAX 400

bool memory_watch_begin(struct memory_watch *w, const struct memory *m, int64_t now_ns)
{
	if (w->looked_ns && now_ns - w->looked_ns < MEMORY_WATCH_EVERY_NS)
		return false;
	w->looked_ns = now_ns;
	long_trend_add(&w->all, now_ns, m->anon);
	for (size_t i = 0; i < w->n; i++)
		w->list[i].seen = false;
	return true;
}

static bool is_watched(enum component_kind kind)
{
	return kind == COMPONENT_GCS || kind == COMPONENT_RAYLET || kind == COMPONENT_DASHBOARD ||
	       kind == COMPONENT_DRIVER;
}

/*
 * Finds or makes the entry of a process. If its PID now belongs to a process of another kind, the
 * trend begins anew. Returns NULL if the list is full.
 */
static struct watched_memory *place_of(struct memory_watch *w, pid_t pid, enum component_kind kind)
{
	struct watched_memory *place = NULL;

	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].pid == pid)
			place = &w->list[i];
	if (place && place->kind == kind)
		return place;
	if (!place && w->n < MEMORY_WATCH_PROCESSES_MAX)
		place = &w->list[w->n++];
	if (place)
		*place = (struct watched_memory){ .pid = pid, .kind = kind };
	return place;
}

void memory_watch_process(struct memory_watch *w, const struct process *p)
{
	char label[PROCESS_NAME_MAX];
	enum component_kind kind = component_of(p->name, p->command, label);
	struct watched_memory *place = is_watched(kind) ? place_of(w, p->pid, kind) : NULL;

	if (!place)
		return;
	place->seen = true;
	place->own = process_own(p);
	memcpy(place->name, p->name, sizeof(place->name));
	long_trend_add(&place->trend, w->looked_ns, place->own);
}

static void forget_gone(struct memory_watch *w)
{
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++)
		if (w->list[i].seen) {
			if (kept != i)
				w->list[kept] = w->list[i];
			kept++;
		}
	w->n = kept;
}

/* Returns the process that grows fastest, or NULL if none grows. */
static const struct watched_memory *fastest_growing(const struct memory_watch *w, int64_t room,
						    struct long_growth *ret_growth)
{
	const struct watched_memory *found = NULL;
	struct long_growth g;

	for (size_t i = 0; i < w->n; i++)
		if (long_trend_judge(&w->list[i].trend, room, &g) &&
		    (!found || g.rate > ret_growth->rate)) {
			found = &w->list[i];
			*ret_growth = g;
		}
	return found;
}

static bool memory_forecast_make(const struct memory_watch *w, const struct memory *m,
				 struct memory_forecast *ret_forecast)
{
	/* The kernel reclaims page cache before the limit is reached. */
	int64_t used = memory_ray(m) >= 0 ? memory_ray(m) : m->usage, room = m->limit - used;
	struct long_growth of_all, of_one;
	bool grows = long_trend_judge(&w->all, room, &of_all);
	const struct watched_memory *one = fastest_growing(w, room, &of_one);

	if (one && (!grows || of_one.rate >= of_all.rate / 2)) {
		of_one.left_ns = grows ? MIN(of_one.left_ns, of_all.left_ns) : of_one.left_ns;
		*ret_forecast = (struct memory_forecast){
			.growth = of_one, .bytes = one->own, .limit = m->limit, .pid = one->pid
		};
		memcpy(ret_forecast->process, one->name, sizeof(one->name));
	} else if (grows)
		*ret_forecast = (struct memory_forecast){ .growth = of_all,
							  .bytes = m->anon,
							  .limit = m->limit };
	return one || grows;
}

enum memory_change memory_watch_end(struct memory_watch *w, const struct memory *m)
{
	bool did = w->forecast.growth.rate > 0;

	forget_gone(w);
	if (w->looked_ns / LONG_TREND_STEP_NS == w->judged)
		return MEMORY_SAME;
	w->judged = w->looked_ns / LONG_TREND_STEP_NS;
	if (m->limit > 0 && m->usage >= 0 && memory_forecast_make(w, m, &w->forecast)) {
		w->quiet = 0;
		return did ? MEMORY_SAME : MEMORY_BEGAN_TO_GROW;
	}
	if (!did || ++w->quiet < QUIET_MAX)
		return MEMORY_SAME;
	w->forecast = (struct memory_forecast){ .pid = 0 };
	return MEMORY_CEASED_TO_GROW;
}

static void look_at(const struct process *p, void *arg)
{
	memory_watch_process(arg, p);
}

enum memory_change memory_watch_poll(struct memory_watch *w, const struct memory *m,
				     const struct process_table *t, int64_t now_ns)
{
	if (!memory_watch_begin(w, m, now_ns))
		return MEMORY_SAME;
	if (t)
		process_table_each(t, look_at, w);
	return memory_watch_end(w, m);
}

const char *memory_watch_describe(const struct memory_forecast *f, char *text, size_t size)
{
	char who[PROCESS_NAME_MAX + 24] = "the processes of the container together";
	char bytes[SIZE_TEXT_MAX], rate[SIZE_TEXT_MAX], limit[SIZE_TEXT_MAX],
		grew[DURATION_TEXT_MAX], left[DURATION_TEXT_MAX];

	if (f->pid)
		snprintf(who, sizeof(who), "%s (PID %d)", f->process, (int)f->pid);
	snprintf(
		text, size,
		"Memory grows: %s hold%s %s and grew by %s per hour for %s. At that rate the container meets its memory limit of %s in %s.",
		who, f->pid ? "s" : "", size_format((uint64_t)f->bytes, bytes),
		size_format((uint64_t)f->growth.rate, rate),
		duration_format(f->growth.grew_ns, grew), size_format((uint64_t)f->limit, limit),
		duration_format(f->growth.left_ns, left));
	return text;
}

cJSON *memory_watch_to_json(const struct memory_forecast *f)
{
	cJSON *json = cJSON_CreateObject();
	char text[SENTENCE_MAX];

	json_set_str(json, "sentence", memory_watch_describe(f, text, sizeof(text)));
	json_set_str(json, "process", f->pid ? f->process : NULL);
	json_set_int(json, "pid", f->pid);
	json_set_int(json, "bytes", f->bytes);
	json_set_int(json, "growthBytesPerHour", f->growth.rate);
	json_set_int(json, "grewSeconds", f->growth.grew_ns / NS_PER_SEC);
	json_set_int(json, "limitBytes", f->limit);
	json_set_int(json, "secondsLeft", f->growth.left_ns / NS_PER_SEC);
	return json;
}
