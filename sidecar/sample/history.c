/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the history of one life of a container: a fast series with every sample, and a slow series
 * with one sample a second.
 */
#include "sidecar/sample/history.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/sample/ring.h"

#define FAST_MAX 128
#define SLOW_MAX 300
#define SLOW_SPACING_NS NS_PER_SEC

/* Raise it when the meaning of a field changes. A change of size is noticed without it. */
#define HISTORY_VERSION 1

enum { SERIES_LIFE, SERIES_FAST, SERIES_SLOW, SERIES_COUNT };

static const struct ring_layout layout = {
	.version = HISTORY_VERSION,
	.n_series = SERIES_COUNT,
	.series = {
		/* There are two, so that one is complete while the other is being written. */
		[SERIES_LIFE] = { 2, sizeof(struct life) },
		[SERIES_FAST] = { FAST_MAX, sizeof(struct sample) },
		[SERIES_SLOW] = { SLOW_MAX, sizeof(struct sample) },
	},
};

struct history {
	struct ring ring;
	struct life life;
};

struct history *history_new(void)
{
	struct history *h = calloc(1, sizeof(*h));

	/* The memory is mapped but not touched, so a short life pays only for what it uses. */
	if (h && ring_create_anonymous(&h->ring, &layout, NULL) < 0) {
		free(h);
		return NULL;
	}
	return h;
}

struct history *history_create(int dirfd, const char *file, const struct life *life,
			       struct err *err)
{
	struct history *h = calloc(1, sizeof(*h));
	int r = h ? ring_create(&h->ring, dirfd, file, &layout, err) :
		    err_set(err, ENOMEM, "history");

	if (r < 0) {
		free(h);
		return NULL;
	}
	history_set_life(h, life);
	return h;
}

/*
 * More than any clock or counter shows. Sums and differences of two such numbers do not overflow.
 */
#define NUMBER_MAX ((int64_t)1 << 61)

static bool in_range(int64_t value)
{
	return value >= -1 && value < NUMBER_MAX;
}

static bool memory_valid(const struct memory *m)
{
	int64_t values[sizeof(*m) / sizeof(int64_t)];

	/* The structure has no other members. */
	memcpy(values, m, sizeof(values));
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		if (!in_range(values[i]))
			return false;
	return true;
}

/* Checks only the counts. The entries are checked by the code that uses them. */
static bool ray_valid(const struct life_ray *r)
{
	bool valid = r->n_watched >= 0 && r->n_watched <= LIFE_RAY_WATCHED_MAX && r->n_ends >= 0 &&
		     r->n_ends <= LIFE_RAY_ENDS_MAX && in_range(r->reported_ns) &&
		     in_range(r->vital_ns) && in_range(r->oom_ns);

	for (int32_t i = 0; valid && i < r->n_ends; i++)
		valid = in_range(r->ends[i].ended_ns);
	for (int32_t i = 0; valid && i < r->n_watched; i++)
		valid = in_range(r->watched[i].gone_ns);
	return valid;
}

/* Accepts a signal that asks a process to stop, or 0 for none. */
static bool asks_to_stop(int32_t signo)
{
	return signo == 0 || signo == SIGTERM || signo == SIGINT || signo == SIGQUIT;
}

static bool life_valid(const struct life *l)
{
	const int64_t times[] = { l->started_ns,     l->oom_seen_ns,	   l->oom_last_ns,
				  l->ended_ns,	     l->lost_from_unix_ns, l->lost_until_unix_ns,
				  l->unix_offset_ns, l->shmem_at_start,	   l->victim_rss,
				  l->asked_ns,	     l->message.begin,	   l->message.end };

	for (size_t i = 0; i < ARRAY_SIZE(times); i++)
		if (!in_range(times[i]))
			return false;
	return memory_valid(&l->baseline) && memory_valid(&l->after) && ray_valid(&l->ray) &&
	       memchr(l->name, '\0', sizeof(l->name)) &&
	       memchr(l->boot_id, '\0', sizeof(l->boot_id)) &&
	       memchr(l->cgroup, '\0', sizeof(l->cgroup)) &&
	       memchr(l->victim, '\0', sizeof(l->victim)) &&
	       memchr(l->bundle, '\0', sizeof(l->bundle)) && l->started_ns > 0 &&
	       l->phase >= LIFE_RUNS && l->phase <= LIFE_REPORTED && l->cgroup_version >= 0 &&
	       l->cgroup_version <= 2 && asks_to_stop(l->asked_signal) && l->asked_by >= 0;
}

struct history *history_open(int dirfd, const char *file, struct err *err)
{
	struct history *h = calloc(1, sizeof(*h));
	int r = h ? ring_open(&h->ring, dirfd, file, &layout, err) :
		    err_set(err, ENOMEM, "history");

	if (r < 0) {
		free(h);
		return NULL;
	}
	const struct life *life = ring_newest(&h->ring, SERIES_LIFE);
	if (!life || !life_valid(life)) {
		err_set(err, EPROTO, "%s does not say to which container it belongs", file);
		history_free(h);
		return NULL;
	}
	h->life = *life;
	return h;
}

void history_free(struct history *h)
{
	if (!h)
		return;
	ring_close(&h->ring);
	free(h);
}

void history_sync(const struct history *h)
{
	ring_sync(&h->ring);
}

const struct life *history_life(const struct history *h)
{
	return &h->life;
}

void history_set_life(struct history *h, const struct life *life)
{
	h->life = *life;
	ring_add(&h->ring, SERIES_LIFE, &h->life);
}

/* Returns NULL for a sample that is torn or that no sidecar wrote. */
static const struct sample *sample_at(const struct history *h, uint32_t series, size_t i)
{
	const struct sample *s = ring_at(&h->ring, series, i);

	if (!s || s->n_top > SAMPLE_TOP || s->at_ns <= 0 || !in_range(s->at_ns) ||
	    !memory_valid(&s->memory))
		return NULL;
	for (uint32_t p = 0; p < s->n_top; p++)
		if (!in_range(s->top[p].rss) || !in_range(s->top[p].shared) ||
		    !memchr(s->top[p].name, '\0', sizeof(s->top[p].name)))
			return NULL;
	return s;
}

static const struct sample *newest(const struct history *h, uint32_t series)
{
	for (size_t n = ring_count(&h->ring, series); n > 0; n--) {
		const struct sample *s = sample_at(h, series, n - 1);

		if (s)
			return s;
	}
	return NULL;
}

void history_add(struct history *h, const struct sample *s)
{
	const struct sample *leaving, *last;

	/*
	 * The sample that leaves the fast series goes to the slow one, unless that already has one
	 * for the same second.
	 */
	if (ring_count(&h->ring, SERIES_FAST) == FAST_MAX) {
		leaving = sample_at(h, SERIES_FAST, 0);
		last = newest(h, SERIES_SLOW);
		if (leaving && (!last || leaving->at_ns - last->at_ns >= SLOW_SPACING_NS))
			ring_add(&h->ring, SERIES_SLOW, leaving);
	}
	ring_add(&h->ring, SERIES_FAST, s);
}

void history_each(const struct history *h, void (*fn)(const struct sample *s, void *arg), void *arg)
{
	int64_t reached = 0;

	/*
	 * Samples with times that do not rise are skipped: a sidecar that died between two writes
	 * may have left one sample in both series.
	 */
	for (uint32_t series = SERIES_SLOW;; series = SERIES_FAST) {
		for (size_t i = 0, n = ring_count(&h->ring, series); i < n; i++) {
			const struct sample *s = sample_at(h, series, i);

			if (!s || s->at_ns <= reached)
				continue;
			reached = s->at_ns;
			fn(s, arg);
		}
		if (series == SERIES_FAST)
			break;
	}
}

const struct sample *history_last(const struct history *h)
{
	return newest(h, SERIES_FAST);
}
