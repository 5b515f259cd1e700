/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the existing policies, and finds the one that applies. */
#include "operator/policy/policy_book.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/oom.h"
#include "operator/cache/store.h"

/*
 * How many combinations of policies are kept. With more, all are dropped, and each is computed
 * again when it is needed.
 */
#define EFFECTIVE_MAX 64

/* The result of a combination of policies. */
struct effective_policy {
	struct effective_policy *next;
	struct policy_choice choice;
	struct policy policy;
	char *origin;
};

/* --- Lists ------------------------------------------------------------------------------------ */

static int policy_book_list_add(struct policy_list *list, struct policy_object *o)
{
	struct policy_object **items = realloc(list->items, (list->n + 1) * sizeof(*items));
	size_t at = list->n;

	if (!items)
		return -ENOMEM;
	list->items = items;
	for (; at > 0 && policy_object_compare(o, items[at - 1]) < 0; at--)
		items[at] = items[at - 1];
	items[at] = o;
	list->n++;
	return 0;
}

static void list_remove(struct policy_list *list, const struct policy_object *o)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i] == o) {
			memmove(&list->items[i], &list->items[i + 1],
				(list->n - i - 1) * sizeof(*list->items));
			list->n--;
			return;
		}
}

static void policy_book_list_free(void *value)
{
	struct policy_list *list = value;

	free(list->items);
	free(list);
}

struct policy_list policy_book_oldest(const struct policy_list *list)
{
	return list ? (struct policy_list){ list->items,
					    MIN(list->n, (size_t)POLICY_OBJECTS_MAX) } :
		      (struct policy_list){ 0 };
}

/* --- What holds ------------------------------------------------------------------------------- */

static void forget_effective(struct policy_book *p)
{
	while (p->effective) {
		struct effective_policy *e = p->effective;
		p->effective = e->next;
		policy_release(&e->policy);
		free(e->origin);
		free(e);
	}
	p->n_effective = 0;
}

static const struct effective_policy *find_effective(const struct policy_book *p,
						     const struct policy_choice *choice)
{
	for (const struct effective_policy *e = p->effective; e; e = e->next)
		if (memcmp(&e->choice, choice, sizeof(*choice)) == 0)
			return e;
	return NULL;
}

static const struct effective_policy *make_effective(struct policy_book *p,
						     const struct policy_choice *choice)
{
	struct effective_policy *e = calloc(1, sizeof(*e));
	struct err err = { 0 };

	if (p->n_effective >= EFFECTIVE_MAX)
		forget_effective(p);
	if (!e || policy_resolve(&p->own, choice, &e->policy, &e->origin, &err) < 0) {
		log_warning_limited("a cluster gets the operator's own policy: out of memory");
		free(e);
		return NULL;
	}
	e->choice = *choice;
	e->next = p->effective;
	p->effective = e;
	p->n_effective++;
	return e;
}

/*
 * The namespace's name is always known. Its other labels are known only if we may read them. item
 * and object belong to the caller.
 */
const cJSON *policy_book_namespace_labels(const struct policy_book *p, const char *namespace,
					  cJSON *item, cJSON *object)
{
	const cJSON *labels = strmap_get(&p->namespaces, namespace);

	if (labels)
		return labels;
	*item = (cJSON){ .type = cJSON_String,
			 .string = (char *)"kubernetes.io/metadata.name",
			 .valuestring = (char *)namespace };
	*object = (cJSON){ .type = cJSON_Object, .child = item };
	return object;
}

void policy_book_choose(const struct policy_book *p, const char *namespace, const cJSON *labels,
			struct policy_choice *ret_choice, policy_loser_fn *fn, void *arg)
{
	struct policy_list all = policy_book_oldest(&p->cluster_list),
			   own = policy_book_oldest(strmap_get(&p->lists, namespace));
	cJSON item, object;

	policy_choose(&all, &own, policy_book_namespace_labels(p, namespace, &item, &object),
		      labels, ret_choice, fn, arg);
}

const struct policy *policy_book_for(struct policy_book *p, const char *namespace,
				     const cJSON *cluster_labels, const char **ret_origin)
{
	static const struct policy_choice nothing;
	const struct effective_policy *e = NULL;
	struct policy_choice choice;

	policy_book_choose(p, namespace, cluster_labels, &choice, NULL, NULL);
	if (memcmp(&choice, &nothing, sizeof(choice)) != 0) {
		e = find_effective(p, &choice);
		if (!e)
			e = make_effective(p, &choice);
	}
	*ret_origin = e ? e->origin : NULL;
	return e ? &e->policy : &p->base;
}

struct retention policy_book_retention(const struct policy_book *p, const char *namespace)
{
	struct policy_choice choice;

	policy_book_choose(p, namespace, NULL, &choice, NULL, NULL);
	return (choice.from[POLICY_RETENTION] ? &choice.from[POLICY_RETENTION]->values : &p->base)
		->retention;
}

/* --- Changes ---------------------------------------------------------------------------------- */

static void known_free(void *value)
{
	struct known_policy *k = value;

	policy_object_free(k->object);
	free(k);
}

/* The tallies are not all counted anew before somebody reads them. */
static void forget_winner(struct policy_book *p, const struct policy_object *o)
{
	void *value;

	for (size_t i = 0; i < ARRAY_SIZE(p->known); i++)
		strmap_each(&p->known[i], NULL, &value)
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				if (((struct known_policy *)value)->tally.losses[b].winner == o)
					((struct known_policy *)value)->tally.losses[b].winner =
						NULL;
}

static void forget_policy(struct policy_book *p, bool is_cluster_wide, const char *key,
			  const char *namespace)
{
	struct known_policy *k = strmap_remove(&p->known[is_cluster_wide], key);
	struct policy_list *list =
		is_cluster_wide ? &p->cluster_list : strmap_get(&p->lists, namespace);

	if (!k)
		return;
	if (list)
		list_remove(list, k->object);
	forget_winner(p, k->object);
	if (list && !is_cluster_wide && list->n == 0)
		policy_book_list_free(strmap_remove(&p->lists, namespace));
	known_free(k);
}

static struct known_policy *known_new(struct policy_book *p, bool is_cluster_wide, const char *key,
				      const char *namespace, struct policy_object *object)
{
	struct known_policy *k = calloc(1, sizeof(*k) + strlen(key) + 1);
	struct policy_list *list = is_cluster_wide ?
					   &p->cluster_list :
					   strmap_get_or_add(&p->lists, namespace, sizeof(*list));

	if (!k || !list || policy_book_list_add(list, object) < 0) {
		free(k);
		return NULL;
	}
	memcpy(k->key, key, strlen(key) + 1);
	if (strmap_put(&p->known[is_cluster_wide], key, k, NULL) < 0) {
		list_remove(list, object);
		free(k);
		return NULL;
	}
	k->object = object;
	k->tally.too_many = list->n > POLICY_OBJECTS_MAX;
	object->owner = k;
	return k;
}

static bool is_parsed(const struct known_policy *k, const cJSON *object)
{
	const char *uid = json_str(object, "metadata.uid");

	return k && uid && strcmp(k->object->uid, uid) == 0 &&
	       k->object->generation == json_int(object, "metadata.generation", -1);
}

bool policy_book_see_policy(struct policy_book *p, bool is_cluster_wide, const cJSON *before,
			    const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);
	const char *namespace = json_str(after ? after : before, "metadata.namespace");

	/* A status that we wrote is not a change. */
	if (!key || (!is_cluster_wide && !namespace) ||
	    (after && is_parsed(strmap_get(&p->known[is_cluster_wide], key), after)))
		return false;
	forget_effective(p);
	struct policy_object *object = after ? policy_object_new(after) : NULL;
	if (after && !object) {
		log_warning_limited("policy %s: its previous version stays in force: out of memory",
				    key);
		return false;
	}
	forget_policy(p, is_cluster_wide, key, namespace);
	if (object && !known_new(p, is_cluster_wide, key, namespace, object)) {
		policy_object_free(object);
		log_warning_limited("policy %s is not in force: out of memory", key);
	}
	return true;
}

static cJSON *copy_labels(const cJSON *labels)
{
	cJSON *copy = cJSON_CreateObject();
	const cJSON *item = cJSON_IsObject(labels) ? labels->child : NULL;
	size_t lost = oom_count();

	for (size_t i = 0; item && i < SELECTOR_LABELS_MAX; i++, item = item->next)
		cJSON_AddItemToObject(copy, item->string, cJSON_Duplicate(item, false));
	if (oom_count() == lost)
		return copy;
	cJSON_Delete(copy);
	return NULL;
}

/* Keeps the labels of a namespace or cluster. */
static bool see_labels(struct strmap *map, const cJSON *before, const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);
	const cJSON *known = key ? strmap_get(map, key) : NULL;
	void *old = NULL;

	if (!key)
		return false;
	if (!after) {
		cJSON_Delete(strmap_remove(map, key));
		return true;
	}
	cJSON *copy = copy_labels(json_get(after, "metadata.labels"));
	if (copy && known && cJSON_Compare(known, copy, true)) {
		cJSON_Delete(copy);
		return false;
	}
	if (!copy || strmap_put(map, key, copy, &old) < 0) {
		cJSON_Delete(copy);
		log_warning_limited("the labels of %s are not known: out of memory", key);
		return false;
	}
	cJSON_Delete(old);
	return true;
}

bool policy_book_see_namespace(struct policy_book *p, const cJSON *before, const cJSON *after)
{
	return see_labels(&p->namespaces, before, after);
}

bool policy_book_see_cluster(struct policy_book *p, const cJSON *before, const cJSON *after)
{
	return see_labels(&p->clusters, before, after);
}

bool policy_book_is_empty(const struct policy_book *p)
{
	return p->known[0].n + p->known[1].n == 0;
}

/* --- Life ------------------------------------------------------------------------------------- */

int policy_book_init(struct policy_book *p, const struct policy *own, struct retention retention,
		     struct err *err)
{
	static const struct policy_choice nothing;
	char *origin;

	*p = (struct policy_book){ 0 };
	int r = policy_copy(own, &p->own, err);
	p->own.retention = retention;
	if (r == 0)
		r = policy_resolve(&p->own, &nothing, &p->base, &origin, err);
	if (r < 0)
		policy_book_release(p);
	return r;
}

static void labels_free(void *value)
{
	cJSON_Delete(value);
}

void policy_book_release(struct policy_book *p)
{
	forget_effective(p);
	for (size_t i = 0; i < ARRAY_SIZE(p->known); i++)
		strmap_release(&p->known[i], known_free);
	strmap_release(&p->lists, policy_book_list_free);
	free(p->cluster_list.items);
	strmap_release(&p->namespaces, labels_free);
	strmap_release(&p->clusters, labels_free);
	policy_release(&p->own);
	policy_release(&p->base);
	*p = (struct policy_book){ 0 };
}
