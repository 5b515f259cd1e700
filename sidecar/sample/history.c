/* SPDX-License-Identifier: Apache-2.0 */
/* What was seen: a fast ring of every sample, a slow one of one a second. */
#include "sidecar/sample/history.h"

#include <stdlib.h>

#include "lib/units.h"

#define FAST_MAX 128
#define SLOW_MAX 300
#define SLOW_SPACING_NS NS_PER_SEC

struct ring {
	struct sample *samples;
	size_t max, n, next;
};

struct history {
	struct ring fast, slow;
	struct sample storage[FAST_MAX + SLOW_MAX];
};

struct history *history_new(void)
{
	/* calloc of this size is mapped, not touched: a short life pays for what it uses. */
	struct history *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->fast = (struct ring){ .samples = h->storage, .max = FAST_MAX };
	h->slow = (struct ring){ .samples = h->storage + FAST_MAX, .max = SLOW_MAX };
	return h;
}

void history_free(struct history *h)
{
	free(h);
}

/* The i-th of the ring, 0 the oldest. */
static const struct sample *ring_at(const struct ring *r, size_t i)
{
	return &r->samples[(r->next + r->max - r->n + i) % r->max];
}

static void ring_add(struct ring *r, const struct sample *s)
{
	r->samples[r->next] = *s;
	r->next = (r->next + 1) % r->max;
	r->n += r->n < r->max;
}

void history_add(struct history *h, const struct sample *s)
{
	/* What leaves the fast ring goes to the slow one, unless it has one for that second. */
	if (h->fast.n == h->fast.max) {
		const struct sample *leaving = ring_at(&h->fast, 0);

		if (!h->slow.n ||
		    leaving->at_ns - ring_at(&h->slow, h->slow.n - 1)->at_ns >= SLOW_SPACING_NS)
			ring_add(&h->slow, leaving);
	}
	ring_add(&h->fast, s);
}

void history_each(const struct history *h, void (*fn)(const struct sample *s, void *arg), void *arg)
{
	for (size_t i = 0; i < h->slow.n; i++)
		fn(ring_at(&h->slow, i), arg);
	for (size_t i = 0; i < h->fast.n; i++)
		fn(ring_at(&h->fast, i), arg);
}

const struct sample *history_last(const struct history *h)
{
	return h->fast.n ? ring_at(&h->fast, h->fast.n - 1) : NULL;
}
