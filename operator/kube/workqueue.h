/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work queue of keys, as in client-go: a key is in the queue at most once, is
 * processed by one worker at a time, and comes back after failures with a delay of 5 ms
 * that doubles up to 1000 s. Pure: the time is an argument.
 *
 *	add -> get -> (work) -> done, after forget (success) or retry (failure)
 *
 * A key that is added while it is being processed comes again after done. Keys are
 * "namespace/name", and the namespaces take turns: however many keys one has, a key of another
 * waits for one of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "lib/strmap.h"

struct workqueue_item;
struct workqueue_namespace;
struct workqueue {
	struct strmap items; /* key -> struct workqueue_item */
	struct strmap namespaces; /* name -> struct workqueue_namespace */
	/* Those with keys that are ready and may begin. The first is next. */
	TAILQ_HEAD(, workqueue_namespace) turns;
	LIST_HEAD(, workqueue_item) delayed; /* in no order */
	size_t n_ready, n_delayed, n_working;
	/* keys of one namespace that are worked on at a time; 0: any number. Set after init */
	size_t most;
	/* least time between two starts of work on the same key; 0: none. Set after init */
	int64_t pace_ns;
	int burst; /* the number of starts at once after a rest, before the pace applies */
	uint64_t adds, retries; /* counters for metrics */
	/*
	 * For metrics, set after init, or NULL: how long a key was ready before its work began, and
	 * how long the work took.
	 */
	int64_t (*clock)(void);
	void (*on_waited)(void *arg, int64_t ns);
	void (*on_worked)(void *arg, int64_t ns);
	void *arg;
};

void workqueue_init(struct workqueue *q);
void workqueue_release(struct workqueue *q);

/* Makes key ready now, or as soon as the pace allows, whatever delay it had. -ENOMEM: not added. */
int workqueue_add(struct workqueue *q, const char *key);
/* Makes key ready at the time, or earlier if it was due earlier. */
int workqueue_add_at(struct workqueue *q, const char *key, int64_t at_ns);

/*
 * Returns the next key that is ready at now, NULL if there is none. The key stays valid until done.
 */
const char *workqueue_get(struct workqueue *q, int64_t now_ns);
/* Notes that the work on a key that get returned has ended. */
void workqueue_done(struct workqueue *q, const char *key);

/*
 * Removes the key and forgets its failures. While it is being processed, returns false and does
 * nothing.
 */
bool workqueue_remove(struct workqueue *q, const char *key);

/* Success: the failures of key are forgotten. */
void workqueue_forget(struct workqueue *q, const char *key);
/* Failure: comes back after its delay, at least least_ns (a Retry-After). Returns the delay. */
int64_t workqueue_retry(struct workqueue *q, const char *key, int64_t now_ns, int64_t least_ns);

/* Returns when get will return a key; 0: now; -1: never, unless a key is added or done. */
int64_t workqueue_next_ns(const struct workqueue *q);
