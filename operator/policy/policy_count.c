/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what each policy governs, and finds the policies that override it. */
#include "operator/policy/policy_count.h"

#include <stdio.h>
#include <string.h>

static void note_loser(void *, const struct policy_object *loser, enum policy_block block,
		       const struct policy_object *winner, bool locked)
{
	struct known_policy *k = loser->owner;

	if (k->tally.losses[block].winner)
		return;
	k->tally.losses[block].winner = winner;
	k->tally.losses[block].locked = locked;
}

/* Compares the selectors of two policies, whether or not a cluster exists that both select. */
static void compare_pairs(const struct policy_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t j = i + 1; j < list->n; j++) {
			const struct policy_object *older = list->items[i],
						   *younger = list->items[j];
			unsigned both = older->given & younger->given;

			if (!both || older->trouble.code || younger->trouble.code ||
			    !policy_objects_overlap(older, younger))
				continue;
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				if (both & (1u << b))
					note_loser(NULL, younger, b, older, false);
		}
}

static void compare_with_locks(const struct policy_book *p, const char *namespace,
			       const struct policy_list *list)
{
	struct policy_list all = policy_book_oldest(&p->cluster_list);
	cJSON item, object;
	struct selector_labels labels;

	selector_labels_read(policy_book_namespace_labels(p, namespace, &item, &object), &labels);
	for (size_t i = 0; i < all.n; i++)
		for (size_t j = 0; j < list->n; j++) {
			const struct policy_object *lock = all.items[i], *o = list->items[j];
			unsigned both = lock->locked & o->given;

			if (!both || lock->trouble.code || o->trouble.code ||
			    !selector_matches(&lock->namespace_selector, &labels) ||
			    !(selector_is_empty(&lock->selector) ||
			      selector_is_empty(&o->selector) ||
			      selector_equals(&lock->selector, &o->selector)))
				continue;
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				if (both & (1u << b))
					note_loser(NULL, o, b, lock, true);
		}
}

static void policy_count_one(struct policy_book *p, const struct policy_object *o, size_t n_pods)
{
	struct known_policy *k = o ? o->owner : NULL;

	if (!k || k->counted == p->n_counted)
		return;
	k->counted = p->n_counted;
	k->tally.clusters++;
	k->tally.pods += n_pods;
}

static void count_cluster(struct policy_book *p, const struct store *pods, const char *key,
			  const cJSON *labels)
{
	const struct store_entry *pod = NULL;
	struct policy_choice choice;
	char namespace[POLICY_KEY_MAX];
	size_t n_pods = 0;

	snprintf(namespace, sizeof(namespace), "%.*s", (int)strcspn(key, "/"), key);
	policy_book_choose(p, namespace, labels, &choice, note_loser, NULL);
	while ((pod = store_index_next(pods, key, pod)))
		n_pods++;
	p->n_counted++;
	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++) {
		policy_count_one(p, choice.from[b], n_pods);
		policy_count_one(p, choice.lock[b], n_pods);
	}
}

static void tallies_begin(const struct policy_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		((struct known_policy *)list->items[i]->owner)->tally =
			(struct policy_tally){ .too_many = i >= POLICY_OBJECTS_MAX };
}

static void policy_count_begin(struct policy_book *p)
{
	struct policy_list all = policy_book_oldest(&p->cluster_list);
	const char *key;
	void *value;

	tallies_begin(&p->cluster_list);
	compare_pairs(&all);
	strmap_each(&p->lists, &key, &value) {
		struct policy_list own = policy_book_oldest(value);

		tallies_begin(value);
		compare_with_locks(p, key, &own);
		compare_pairs(&own);
	}
}

void policy_count_drop(struct policy_book *p)
{
	p->counting = false;
	p->count_bucket = 0;
}

bool policy_count_some(struct policy_book *p, const struct store *pods)
{
	const char *key;
	void *value;

	/* A map that has grown has its entries in other buckets: some would be counted twice. */
	if (p->counting && p->count_buckets != p->clusters.n_buckets)
		policy_count_drop(p);
	if (!p->counting)
		policy_count_begin(p);
	p->count_buckets = p->clusters.n_buckets;
	struct strmap_pos pos = { .bucket = p->count_bucket };
	/* A bucket is looked at as a whole, because a walk goes on at a bucket. */
	for (size_t n = 0; (p->counting = strmap_next(&p->clusters, &pos, &key, &value));) {
		count_cluster(p, pods, key, value);
		if (++n >= POLICY_COUNT_CLUSTERS && !pos.next)
			break;
	}
	p->count_bucket = p->counting ? pos.bucket : 0;
	return !p->counting;
}
