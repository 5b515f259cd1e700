/* SPDX-License-Identifier: Apache-2.0 */
/* The policies that there are, and which of them holds. */
#include "operator/policy/policies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/oom.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/policy/policy_resolve.h"
#include "operator/policy/policy_status.h"

#define KEY_MAX 512
/* Combinations that are kept ready; with more of them, all are made anew in turn. */
#define EFFECTIVE_MAX 64
/* A burst of changes is one look at all. */
#define SOON_NS (200 * NS_PER_MS)
/* Clusters and pods come and go; numbers may lag behind, and one status is not written more often for them alone. */
#define COUNTS_NS (5 * NS_PER_SEC)
#define COUNTS_PACE_NS (10 * NS_PER_SEC)
#define RETRY_NS (30 * NS_PER_SEC)
#define WRITES_MAX 4

/* One RayPolicy or ClusterRayPolicy. */
struct known {
	struct policy_object *object;
	struct policy_tally tally; /* of the last look at all */
	size_t counted; /* the number of the cluster that was counted last */
	size_t round; /* of statuses, in which its own was looked at last */
	int64_t written_ns, retry_ns;
	bool writing;
	char key[]; /* of its store */
};

/* A combination of policies, made ready. */
struct effective {
	struct effective *next;
	struct policy_choice choice;
	struct policy policy;
	char *origin;
};

/* A status on its way. */
struct writing {
	struct policies *policies; /* NULL: the place is free */
	bool is_cluster_wide;
	char key[KEY_MAX];
};

struct policies {
	struct policies_options o;
	struct policy own; /* the operator's, as it was given */
	struct policy base; /* what it comes to where no policy object has a say */
	struct strmap known[2]; /* key -> struct known: RayPolicies, ClusterRayPolicies */
	struct strmap lists; /* namespace -> struct policy_list */
	struct policy_list cluster_list;
	struct strmap namespaces; /* name -> its labels */
	struct strmap clusters; /* "namespace/name" -> the labels of a RayCluster */
	struct effective *effective;
	size_t n_effective;
	struct event *look;
	int64_t due_ns; /* when all are looked at; 0: not asked for */
	size_t n_counted;
	size_t round; /* of statuses; more than any known has when it begins */
	bool goes_on; /* the round waits for a place to write in */
	struct writing writings[WRITES_MAX];
};

/* --- Lists ---------------------------------------------------------------------------------------------- */

static int list_add(struct policy_list *list, struct policy_object *o)
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
			memmove(&list->items[i], &list->items[i + 1], (list->n - i - 1) * sizeof(*list->items));
			list->n--;
			return;
		}
}

static void list_free(void *value)
{
	struct policy_list *list = value;

	free(list->items);
	free(list);
}

/* Those that count. */
static struct policy_list oldest_of(const struct policy_list *list)
{
	return list ? (struct policy_list){ list->items, MIN(list->n, (size_t)POLICY_OBJECTS_MAX) } : (struct policy_list){ 0 };
}

static struct policy_list *list_of(struct policies *p, const char *namespace)
{
	struct policy_list *list = strmap_get(&p->lists, namespace);

	if (list)
		return list;
	list = calloc(1, sizeof(*list));
	if (list && strmap_put(&p->lists, namespace, list, NULL) < 0)
		free(TAKE_PTR(list));
	return list;
}

/* --- What holds ----------------------------------------------------------------------------------------- */

static void effective_free(struct effective *e)
{
	policy_release(&e->policy);
	free(e->origin);
	free(e);
}

static void forget_effective(struct policies *p)
{
	while (p->effective) {
		struct effective *e = p->effective;
		p->effective = e->next;
		effective_free(e);
	}
	p->n_effective = 0;
}

static const struct effective *find_effective(const struct policies *p, const struct policy_choice *choice)
{
	for (const struct effective *e = p->effective; e; e = e->next)
		if (memcmp(&e->choice, choice, sizeof(*choice)) == 0)
			return e;
	return NULL;
}

static const struct effective *make_effective(struct policies *p, const struct policy_choice *choice)
{
	struct effective *e = calloc(1, sizeof(*e));
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

/* Which namespace it is in, everybody knows; its other labels only who may read it. item and object are the caller's. */
static const cJSON *namespace_labels(const struct policies *p, const char *namespace, cJSON *item, cJSON *object)
{
	const cJSON *labels = strmap_get(&p->namespaces, namespace);

	if (labels)
		return labels;
	*item = (cJSON){ .type = cJSON_String, .string = (char *)"kubernetes.io/metadata.name", .valuestring = (char *)namespace };
	*object = (cJSON){ .type = cJSON_Object, .child = item };
	return object;
}

static void choose(const struct policies *p, const char *namespace, const cJSON *labels, struct policy_choice *ret_choice,
		   policy_loser_fn *fn, void *arg)
{
	struct policy_list all = oldest_of(&p->cluster_list), own = oldest_of(strmap_get(&p->lists, namespace));
	cJSON item, object;

	policy_choose(&all, &own, namespace_labels(p, namespace, &item, &object), labels, ret_choice, fn, arg);
}

const struct policy *policies_for(struct policies *p, const char *namespace, const cJSON *cluster_labels, const char **ret_origin)
{
	static const struct policy_choice nothing;
	const struct effective *e = NULL;
	struct policy_choice choice;

	choose(p, namespace, cluster_labels, &choice, NULL, NULL);
	if (memcmp(&choice, &nothing, sizeof(choice)) != 0) {
		e = find_effective(p, &choice);
		if (!e)
			e = make_effective(p, &choice);
	}
	*ret_origin = e ? e->origin : NULL;
	return e ? &e->policy : &p->base;
}

struct retention policies_retention(const struct policies *p, const char *namespace)
{
	struct policy_choice choice;

	choose(p, namespace, NULL, &choice, NULL, NULL);
	return (choice.from[POLICY_RETENTION] ? &choice.from[POLICY_RETENTION]->values : &p->base)->retention;
}

/* --- Changes -------------------------------------------------------------------------------------------- */

static void look_within(struct policies *p, int64_t delay_ns)
{
	int64_t due = now_boottime_ns() + delay_ns;

	if (p->due_ns && p->due_ns <= due)
		return;
	p->due_ns = due;
	event_add(p->look, &(struct timeval){ delay_ns / NS_PER_SEC, delay_ns % NS_PER_SEC / 1000 });
}

static void known_free(void *value)
{
	struct known *k = value;

	policy_object_free(k->object);
	free(k);
}

static void forget_policy(struct policies *p, bool is_cluster_wide, const char *key, const char *namespace)
{
	struct known *k = strmap_remove(&p->known[is_cluster_wide], key);
	struct policy_list *list = is_cluster_wide ? &p->cluster_list : strmap_get(&p->lists, namespace);

	if (!k)
		return;
	if (list)
		list_remove(list, k->object);
	if (list && !is_cluster_wide && list->n == 0)
		list_free(strmap_remove(&p->lists, namespace));
	known_free(k);
}

static struct known *known_new(struct policies *p, bool is_cluster_wide, const char *key, const char *namespace,
			       struct policy_object *object)
{
	struct known *k = calloc(1, sizeof(*k) + strlen(key) + 1);
	struct policy_list *list = is_cluster_wide ? &p->cluster_list : list_of(p, namespace);

	if (!k || !list || list_add(list, object) < 0) {
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
	object->owner = k;
	return k;
}

static bool is_parsed(const struct known *k, const cJSON *object)
{
	const char *uid = json_str(object, "metadata.uid");

	return k && uid && strcmp(k->object->uid, uid) == 0 && k->object->generation == json_int(object, "metadata.generation", -1);
}

static void see_policy(struct policies *p, bool is_cluster_wide, const cJSON *before, const cJSON *after)
{
	_cleanup_free_ char *key = object_key(after ? after : before);
	const char *namespace = json_str(after ? after : before, "metadata.namespace");
	struct policy_object *object;

	/* A status of ours is no change. */
	if (!key || (!is_cluster_wide && !namespace) || (after && is_parsed(strmap_get(&p->known[is_cluster_wide], key), after)))
		return;
	forget_effective(p);
	object = after ? policy_object_new(after) : NULL;
	if (after && !object) {
		log_warning_limited("policy %s: it is as it was before: out of memory", key);
		return;
	}
	forget_policy(p, is_cluster_wide, key, namespace);
	if (object && !known_new(p, is_cluster_wide, key, namespace, object)) {
		policy_object_free(object);
		log_warning_limited("policy %s does not hold: out of memory", key);
	}
	look_within(p, SOON_NS);
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
	cJSON *copy;
	void *old = NULL;

	if (!key)
		return false;
	if (!after) {
		cJSON_Delete(strmap_remove(map, key));
		return true;
	}
	copy = copy_labels(json_get(after, "metadata.labels"));
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

static bool is_empty(const struct policies *p)
{
	return p->known[0].n + p->known[1].n == 0;
}

void policies_see(struct policies *p, enum watch_kind kind, enum store_change change, const cJSON *before, const cJSON *after)
{
	if (kind == WATCH_POLICIES || kind == WATCH_CLUSTER_POLICIES)
		see_policy(p, kind == WATCH_CLUSTER_POLICIES, before, after);
	else if (kind == WATCH_NAMESPACES && see_labels(&p->namespaces, before, after))
		look_within(p, COUNTS_NS);
	else if (kind == WATCH_CLUSTERS && see_labels(&p->clusters, before, after) && !is_empty(p))
		look_within(p, COUNTS_NS);
	else if (kind == WATCH_PODS && change != STORE_UPDATED && !is_empty(p))
		look_within(p, COUNTS_NS);
}

void policies_begin(struct policies *p)
{
	look_within(p, SOON_NS);
}

/* --- Counting ------------------------------------------------------------------------------------------- */

static void note_loser(void *arg, const struct policy_object *loser, enum policy_block block, const struct policy_object *winner,
		       bool locked)
{
	struct known *k = loser->owner;

	(void)arg;
	if (k->tally.losses[block].winner)
		return;
	k->tally.losses[block].winner = winner;
	k->tally.losses[block].locked = locked;
}

/* What the words of two tell, whether or not there is a cluster that both select. */
static void compare_pairs(const struct policy_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		for (size_t j = i + 1; j < list->n; j++) {
			const struct policy_object *older = list->items[i], *younger = list->items[j];
			unsigned both = older->given & younger->given;

			if (!both || older->trouble.code || younger->trouble.code || !policy_objects_overlap(older, younger))
				continue;
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				if (both & (1u << b))
					note_loser(NULL, younger, b, older, false);
		}
}

static void compare_with_locks(const struct policies *p, const char *namespace, const struct policy_list *list)
{
	struct policy_list all = oldest_of(&p->cluster_list);
	cJSON item, object;
	const cJSON *labels = namespace_labels(p, namespace, &item, &object);

	for (size_t i = 0; i < all.n; i++)
		for (size_t j = 0; j < list->n; j++) {
			const struct policy_object *lock = all.items[i], *o = list->items[j];
			unsigned both = lock->locked & o->given;

			if (!both || lock->trouble.code || o->trouble.code || !selector_matches(&lock->namespace_selector, labels) ||
			    !(selector_is_empty(&lock->selector) || selector_is_empty(&o->selector) ||
			      selector_equals(&lock->selector, &o->selector)))
				continue;
			for (enum policy_block b = 0; b < POLICY_BLOCKS; b++)
				if (both & (1u << b))
					note_loser(NULL, o, b, lock, true);
		}
}

static void count(struct policies *p, const struct policy_object *o, size_t n_pods)
{
	struct known *k = o ? o->owner : NULL;

	if (!k || k->counted == p->n_counted)
		return;
	k->counted = p->n_counted;
	k->tally.clusters++;
	k->tally.pods += n_pods;
}

static void count_cluster(struct policies *p, const struct store *pods, const char *key, const cJSON *labels)
{
	const struct store_entry *pod = NULL;
	struct policy_choice choice;
	char namespace[KEY_MAX];
	size_t n_pods = 0;

	snprintf(namespace, sizeof(namespace), "%.*s", (int)strcspn(key, "/"), key);
	choose(p, namespace, labels, &choice, note_loser, NULL);
	while ((pod = store_index_next(pods, key, pod)))
		n_pods++;
	p->n_counted++;
	for (enum policy_block b = 0; b < POLICY_BLOCKS; b++) {
		count(p, choice.from[b], n_pods);
		count(p, choice.lock[b], n_pods);
	}
}

static void begin_tallies(const struct policy_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		((struct known *)list->items[i]->owner)->tally = (struct policy_tally){ .too_many = i >= POLICY_OBJECTS_MAX };
}

static void count_all(struct policies *p)
{
	const struct store *pods = watches_store(p->o.watches, WATCH_PODS);
	struct policy_list all = oldest_of(&p->cluster_list);
	struct strmap_pos pos = { 0 };
	const char *key;
	void *value;

	begin_tallies(&p->cluster_list);
	compare_pairs(&all);
	while (strmap_next(&p->lists, &pos, &key, &value)) {
		struct policy_list own = oldest_of(value);

		begin_tallies(value);
		compare_with_locks(p, key, &own);
		compare_pairs(&own);
	}
	pos = (struct strmap_pos){ 0 };
	while (strmap_next(&p->clusters, &pos, &key, &value))
		count_cluster(p, pods, key, value);
}

/* --- Statuses ------------------------------------------------------------------------------------------- */

static void on_written(void *arg, struct client_response *response)
{
	struct writing *w = arg;
	struct policies *p = w->policies;
	struct known *k = strmap_get(&p->known[w->is_cluster_wide], w->key);
	/* It is gone, or was changed by then: the watch tells. */
	bool failed = response->err.code && response->status != 404 && response->status != 409;

	if (failed)
		log_warning_limited("policy %s: its status was not written: %s", w->key, err_text(&response->err));
	if (k) {
		k->writing = false;
		k->written_ns = now_boottime_ns();
		k->retry_ns = failed ? k->written_ns + RETRY_NS : 0;
	}
	w->policies = NULL;
	look_within(p, failed ? RETRY_NS : SOON_NS);
}

static struct writing *free_place(struct policies *p)
{
	for (size_t i = 0; i < WRITES_MAX; i++)
		if (!p->writings[i].policies)
			return &p->writings[i];
	return NULL;
}

/* Takes status. */
static void write_status(struct policies *p, struct known *k, cJSON *status)
{
	const char *slash = strchr(k->key, '/');
	_cleanup_json_ cJSON *body = cJSON_CreateObject();
	cJSON *metadata = json_object_at(body, "metadata");
	struct writing *w = free_place(p);
	struct err err = { 0 };

	json_set_str(body, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(body, "kind", policy_object_kind(k->object));
	json_set_str(metadata, "name", k->object->name);
	if (slash)
		json_set(metadata, "namespace", cJSON_CreateString(k->key));
	if (slash && json_str(metadata, "namespace"))
		cJSON_GetObjectItemCaseSensitive(metadata, "namespace")->valuestring[slash - k->key] = '\0';
	json_set(body, "status", status);
	snprintf(w->key, sizeof(w->key), "%s", k->key);
	w->is_cluster_wide = k->object->is_cluster_wide;
	if (client_apply(p->o.client, body, "status", on_written, w, &err) < 0) {
		log_warning_limited("policy %s: its status was not written: %s", k->key, err_text(&err));
		k->retry_ns = now_boottime_ns() + RETRY_NS;
		return;
	}
	w->policies = p;
	k->writing = true;
}

/* When the status may be written that differs so from the one there is, boottime. */
static int64_t write_at(const struct known *k, enum policy_status_change change)
{
	return MAX(k->retry_ns, change == POLICY_STATUS_COUNTS && k->written_ns ? k->written_ns + COUNTS_PACE_NS : 0);
}

static void settle_status(struct policies *p, struct known *k)
{
	const struct store *store = watches_store(p->o.watches, k->object->is_cluster_wide ? WATCH_CLUSTER_POLICIES : WATCH_POLICIES);
	const cJSON *object = store_get(store, k->key);
	const cJSON *old = json_get(object, "status");
	_cleanup_json_ cJSON *status = policy_status(k->object, &k->tally, old, now_realtime_ns());
	enum policy_status_change change = object && status ? policy_status_compare(old, status) : POLICY_STATUS_SAME;
	int64_t now = now_boottime_ns();

	if (change == POLICY_STATUS_SAME || k->writing)
		return; /* the answer has us look again */
	if (write_at(k, change) > now)
		look_within(p, write_at(k, change) - now);
	else if (free_place(p))
		write_status(p, k, TAKE_PTR(status));
}

/*
 * Those that the round has not had yet. It stops when no place is free, and the next answer lets it go on: with thousands of
 * policies, of which a tenant may make as many as he likes, each answer would otherwise be a look at all.
 */
static bool settle_statuses(struct policies *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->known); i++) {
		struct strmap_pos pos = { 0 };
		void *value;

		while (strmap_next(&p->known[i], &pos, NULL, &value)) {
			struct known *k = value;

			if (k->round == p->round)
				continue;
			if (!free_place(p))
				return false;
			settle_status(p, k);
			k->round = p->round;
			watches_drop_views(p->o.watches);
		}
	}
	return true;
}

static bool may_look(const struct policies *p)
{
	return watches_synced(p->o.watches) && watches_know_policies(p->o.watches);
}

static void on_look(evutil_socket_t fd, short what, void *arg)
{
	struct policies *p = arg;
	bool went_on = p->goes_on;

	(void)fd;
	(void)what;
	p->due_ns = 0;
	if (!p->o.may_write(p->o.arg) || is_empty(p))
		return; /* policies_begin, or a policy, wakes us */
	if (!may_look(p)) {
		look_within(p, NS_PER_SEC);
		return;
	}
	count_all(p);
	p->round += !went_on;
	p->goes_on = !settle_statuses(p);
	/* What has changed since the round began. */
	if (went_on && !p->goes_on)
		look_within(p, SOON_NS);
}

/* --- Life ----------------------------------------------------------------------------------------------- */

int policies_new(const struct policies_options *options, struct policies **ret_policies, struct err *err)
{
	static const struct policy_choice nothing;
	struct policies *p = calloc(1, sizeof(*p));
	char *origin;
	int r;

	if (!p)
		return err_set(err, ENOMEM, "policies");
	p->o = *options;
	p->look = evtimer_new(options->base, on_look, p);
	r = p->look ? policy_copy(options->policy, &p->own, err) : err_set(err, ENOMEM, "policies");
	p->own.retention = options->retention;
	if (r == 0)
		r = policy_resolve(&p->own, &nothing, &p->base, &origin, err);
	if (r < 0) {
		policies_free(p);
		return r;
	}
	*ret_policies = p;
	return 0;
}

static void labels_free(void *value)
{
	cJSON_Delete(value);
}

void policies_free(struct policies *p)
{
	if (!p)
		return;
	if (p->look)
		event_free(p->look);
	forget_effective(p);
	for (size_t i = 0; i < ARRAY_SIZE(p->known); i++)
		strmap_release(&p->known[i], known_free);
	strmap_release(&p->lists, list_free);
	free(p->cluster_list.items);
	strmap_release(&p->namespaces, labels_free);
	strmap_release(&p->clusters, labels_free);
	policy_release(&p->own);
	policy_release(&p->base);
	free(p);
}
