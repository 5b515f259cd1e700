/* SPDX-License-Identifier: Apache-2.0 */
/* Implements a queue of keys to work on. */
#include "operator/kube/workqueue.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"

#define DELAY_FIRST_NS (5 * NS_PER_MS)
#define DELAY_MAX_NS (1000 * NS_PER_SEC)
#define NAMESPACE_MAX 256

/* A namespace exists while it has items. */
struct workqueue_namespace {
	/* while it has something that is ready and may begin */
	TAILQ_ENTRY(workqueue_namespace) in_turns;
	TAILQ_HEAD(, workqueue_item) ready; /* in the order they came */
	size_t n, n_working; /* items */
	bool has_turns;
	const char *name;
};

/*
 * An item exists while it is ready, delayed, worked on, or has failures to remember. It cannot be
 * ready and delayed at the same time.
 */
struct workqueue_item {
	union {
		TAILQ_ENTRY(workqueue_item) in_ready;
		LIST_ENTRY(workqueue_item) in_delayed;
	};
	int64_t at_ns;
	int64_t since_ns; /* when it became ready or work on it began, by the queue's clock */
	int64_t paced_ns; /* until then its turns are used up, at the pace */
	int64_t not_before_ns; /* the pace minus the burst; 0: there is no pace */
	unsigned failures;
	bool ready, delayed, working;
	bool again; /* it was added again while it was worked on */
	const char *key;
	struct workqueue_namespace *namespace;
};

void workqueue_init(struct workqueue *q)
{
	*q = (struct workqueue){ .items = STRMAP_INIT };
	TAILQ_INIT(&q->turns);
}

void workqueue_release(struct workqueue *q)
{
	strmap_release(&q->items, free);
	strmap_release(&q->namespaces, free);
	workqueue_init(q);
}

static struct workqueue_namespace *workqueue_namespace_of(struct workqueue *q, const char *key)
{
	char name[NAMESPACE_MAX];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(key, "/"), key);
	struct workqueue_namespace *own = strmap_get_or_add(&q->namespaces, name, sizeof(*own));
	if (own && !own->name) {
		own->name = strmap_key(&q->namespaces, name);
		TAILQ_INIT(&own->ready);
	}
	return own;
}

static struct workqueue_item *item_of(struct workqueue *q, const char *key)
{
	struct workqueue_item *item = strmap_get_or_add(&q->items, key, sizeof(*item));

	if (!item || item->key)
		return item;
	item->namespace = workqueue_namespace_of(q, key);
	if (!item->namespace) {
		free(strmap_remove(&q->items, key));
		return NULL;
	}
	item->namespace->n++;
	item->key = strmap_key(&q->items, key);
	return item;
}

static void item_drop_if_idle(struct workqueue *q, struct workqueue_item *item)
{
	if (item->ready || item->delayed || item->working || item->failures)
		return;
	if (--item->namespace->n == 0)
		free(strmap_remove(&q->namespaces, item->namespace->name));
	strmap_remove(&q->items, item->key);
	free(item);
}

/* Reports the time since the last call for this item. */
static void workqueue_tell_time(const struct workqueue *q, struct workqueue_item *item,
				void (*tell)(void *arg, int64_t ns))
{
	int64_t now_ns = q->clock ? q->clock() : 0;

	if (tell && item->since_ns)
		tell(q->arg, now_ns - item->since_ns);
	item->since_ns = now_ns;
}

static void namespace_take_turns(struct workqueue *q, struct workqueue_namespace *own)
{
	bool turns = !TAILQ_EMPTY(&own->ready) && (!q->most || own->n_working < q->most);

	if (turns && !own->has_turns)
		TAILQ_INSERT_TAIL(&q->turns, own, in_turns);
	else if (!turns && own->has_turns)
		TAILQ_REMOVE(&q->turns, own, in_turns);
	own->has_turns = turns;
}

/*
 * Makes a key ready. A key is ready, delayed or worked on. While it is worked on it may also be
 * delayed, but never ready.
 */
static void ready_append(struct workqueue *q, struct workqueue_item *item)
{
	assert(!item->ready && !item->delayed && !item->working);
	workqueue_tell_time(q, item, NULL);
	item->ready = true;
	TAILQ_INSERT_TAIL(&item->namespace->ready, item, in_ready);
	namespace_take_turns(q, item->namespace);
	q->n_ready++;
}

static void ready_remove(struct workqueue *q, struct workqueue_item *item)
{
	assert(item->ready && q->n_ready > 0);
	TAILQ_REMOVE(&item->namespace->ready, item, in_ready);
	namespace_take_turns(q, item->namespace);
	item->ready = false;
	q->n_ready--;
}

static void delayed_remove(struct workqueue *q, struct workqueue_item *item)
{
	assert(item->delayed && q->n_delayed > 0);
	LIST_REMOVE(item, in_delayed);
	item->delayed = false;
	q->n_delayed--;
}

static void delayed_insert(struct workqueue *q, struct workqueue_item *item, int64_t at_ns)
{
	assert(!item->ready && !item->delayed);
	item->delayed = true;
	item->at_ns = at_ns;
	LIST_INSERT_HEAD(&q->delayed, item, in_delayed);
	q->n_delayed++;
}

/* Makes the item ready now, or a little later if the work on it has only just ended. */
static void ready_soon(struct workqueue *q, struct workqueue_item *item)
{
	if (item->delayed)
		delayed_remove(q, item);
	if (item->not_before_ns)
		delayed_insert(q, item, item->not_before_ns);
	else
		ready_append(q, item);
}

int workqueue_add(struct workqueue *q, const char *key)
{
	struct workqueue_item *item = item_of(q, key);

	if (!item)
		return -ENOMEM;
	q->adds++;
	if (item->working)
		item->again = true;
	else if (!item->ready)
		ready_soon(q, item);
	return 0;
}

int workqueue_add_at(struct workqueue *q, const char *key, int64_t at_ns)
{
	struct workqueue_item *item = item_of(q, key);

	if (!item)
		return -ENOMEM;
	q->adds++;
	if (item->ready)
		return 0;
	if (item->delayed)
		item->at_ns = MIN(item->at_ns, at_ns);
	else
		delayed_insert(q, item, at_ns);
	return 0;
}

const char *workqueue_get(struct workqueue *q, int64_t now_ns)
{
	struct workqueue_item *item, *next;

	for (item = LIST_FIRST(&q->delayed); item; item = next) {
		next = LIST_NEXT(item, in_delayed);
		if (item->at_ns > now_ns || item->working)
			continue;
		delayed_remove(q, item);
		ready_append(q, item);
	}
	struct workqueue_namespace *namespace = TAILQ_FIRST(&q->turns);
	if (!namespace)
		return NULL;
	item = TAILQ_FIRST(&namespace->ready);
	TAILQ_REMOVE(&q->turns, namespace, in_turns);
	namespace->has_turns = false;
	namespace->n_working++;
	ready_remove(q, item);
	workqueue_tell_time(q, item, q->on_waited);
	item->working = true;
	item->paced_ns = MAX(item->paced_ns, now_ns) + q->pace_ns;
	item->not_before_ns = q->pace_ns ? item->paced_ns - q->burst * q->pace_ns : 0;
	q->n_working++;
	return item->key;
}

void workqueue_done(struct workqueue *q, const char *key)
{
	struct workqueue_item *item = strmap_get(&q->items, key);

	if (!item || !item->working)
		return;
	workqueue_tell_time(q, item, q->on_worked);
	item->working = false;
	assert(q->n_working > 0 && item->namespace->n_working > 0);
	q->n_working--;
	item->namespace->n_working--;
	namespace_take_turns(q, item->namespace);
	/*
	 * After a failure the delay holds even if the key was added meanwhile, because the work
	 * would fail again.
	 */
	if (item->again && !(item->failures && item->delayed))
		ready_soon(q, item);
	item->again = false;
	item_drop_if_idle(q, item);
}

bool workqueue_remove(struct workqueue *q, const char *key)
{
	struct workqueue_item *item = strmap_get(&q->items, key);

	if (!item)
		return true;
	if (item->working)
		return false;
	if (item->ready)
		ready_remove(q, item);
	if (item->delayed)
		delayed_remove(q, item);
	item->failures = 0;
	item_drop_if_idle(q, item);
	return true;
}

void workqueue_forget(struct workqueue *q, const char *key)
{
	struct workqueue_item *item = strmap_get(&q->items, key);

	if (!item)
		return;
	item->failures = 0;
	item_drop_if_idle(q, item);
}

int64_t workqueue_retry(struct workqueue *q, const char *key, int64_t now_ns, int64_t least_ns)
{
	struct workqueue_item *item = item_of(q, key);
	int64_t delay = DELAY_FIRST_NS;

	if (!item)
		return 0;
	for (unsigned i = 0; i < item->failures && delay < DELAY_MAX_NS; i++)
		delay *= 2;
	delay = MAX(MIN(delay, DELAY_MAX_NS), least_ns);
	item->failures++;
	q->retries++;
	if (item->delayed)
		delayed_remove(q, item);
	if (!item->ready)
		delayed_insert(q, item, now_ns + delay);
	return delay;
}

int64_t workqueue_next_ns(const struct workqueue *q)
{
	const struct workqueue_item *item;
	int64_t next = -1;

	if (!TAILQ_EMPTY(&q->turns))
		return 0;
	LIST_FOREACH(item, &q->delayed, in_delayed)
		if (!item->working && (next < 0 || item->at_ns < next))
			next = item->at_ns;
	return next;
}
