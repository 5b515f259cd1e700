/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the existing policies and writes their statuses. */
#include "operator/policy/policies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/policy/policy_book.h"
#include "operator/policy/policy_count.h"

/* After a burst of changes all policies are looked at only once. */
#define SOON_NS (200 * NS_PER_MS)
/*
 * Clusters and pods come and go. Their numbers may be out of date by this much, so that statuses
 * are not written more often for them alone.
 */
#define COUNTS_NS (5 * NS_PER_SEC)
#define COUNTS_PACE_NS (10 * NS_PER_SEC)
#define RETRY_NS (30 * NS_PER_SEC)
#define WRITES_MAX 4

/* A status that is being written. */
struct writing {
	struct policies *policies; /* NULL: the place is free */
	bool is_cluster_wide;
	char key[POLICY_KEY_MAX];
};

struct policies {
	struct policies_options o;
	struct policy_book book;
	struct event *look;
	int64_t due_ns; /* when all policies are looked at; 0: never */
	/* Number of the round; higher than that of any policy when the round begins. */
	size_t round;
	bool goes_on; /* the round waits until another write may start */
	/* something changed since the count began, which it may have passed already */
	bool changed;
	struct writing writings[WRITES_MAX];
};

const struct policy *policies_for(struct policies *p, const char *namespace,
				  const cJSON *cluster_labels, const char **ret_origin)
{
	return policy_book_for(&p->book, namespace, cluster_labels, ret_origin);
}

struct retention policies_retention(const struct policies *p, const char *namespace)
{
	return policy_book_retention(&p->book, namespace);
}

/*
 * --- Changes
 * --------------------------------------------------------------------------------------------
 */

static void look_within(struct policies *p, int64_t delay_ns)
{
	int64_t due = now_boottime_ns() + delay_ns;

	if (p->due_ns && p->due_ns <= due)
		return;
	p->due_ns = due;
	timer_after(p->look, delay_ns);
}

void policies_see(struct policies *p, enum watch_kind kind, enum store_change change,
		  const cJSON *before, const cJSON *after)
{
	struct policy_book *book = &p->book;
	int64_t delay_ns = COUNTS_NS;
	bool changed;

	if (kind == WATCH_POLICIES || kind == WATCH_CLUSTER_POLICIES) {
		changed =
			policy_book_see_policy(book, kind == WATCH_CLUSTER_POLICIES, before, after);
		delay_ns = SOON_NS;
	} else if (kind == WATCH_NAMESPACES)
		changed = policy_book_see_namespace(book, before, after);
	else if (kind == WATCH_CLUSTERS)
		changed =
			policy_book_see_cluster(book, before, after) && !policy_book_is_empty(book);
	else
		changed = kind == WATCH_PODS && change != STORE_UPDATED &&
			  !policy_book_is_empty(book);
	if (!changed)
		return;
	p->changed = true;
	look_within(p, delay_ns);
}

void policies_begin(struct policies *p)
{
	look_within(p, SOON_NS);
}

/*
 * --- Statuses
 * -------------------------------------------------------------------------------------------
 */

static void policies_on_written(void *arg, struct client_response *response)
{
	struct writing *w = arg;
	struct policies *p = w->policies;
	struct known_policy *k = strmap_get(&p->book.known[w->is_cluster_wide], w->key);
	/* The policy is gone or was changed meanwhile. The watch will show it. */
	bool failed = response->err.code && response->status != 404 && response->status != 409;

	if (failed)
		log_warning_limited("policy %s: its status was not written: %s", w->key,
				    err_text(&response->err));
	if (k) {
		k->writing = false;
		k->written_ns = now_boottime_ns();
		k->retry_ns = failed ? k->written_ns + RETRY_NS : 0;
	}
	w->policies = NULL;
	look_within(p, failed ? RETRY_NS : SOON_NS);
}

static struct writing *policies_free_place(struct policies *p)
{
	for (size_t i = 0; i < WRITES_MAX; i++)
		if (!p->writings[i].policies)
			return &p->writings[i];
	return NULL;
}

/* Takes status. */
static void write_status(struct policies *p, struct known_policy *k, cJSON *status)
{
	const char *slash = strchr(k->key, '/');
	_cleanup_json_ cJSON *body = cJSON_CreateObject();
	cJSON *metadata = json_object_at(body, "metadata");
	struct writing *w = policies_free_place(p);
	struct err err = { 0 };

	json_set_str(body, "apiVersion", "afterglow.dev/v1alpha1");
	json_set_str(body, "kind", policy_object_kind(k->object));
	json_set_str(metadata, "name", k->object->name);
	if (slash)
		json_set(metadata, "namespace", cJSON_CreateString(k->key));
	if (slash && json_str(metadata, "namespace"))
		cJSON_GetObjectItemCaseSensitive(metadata, "namespace")
			->valuestring[slash - k->key] = '\0';
	json_set(body, "status", status);
	snprintf(w->key, sizeof(w->key), "%s", k->key);
	w->is_cluster_wide = k->object->is_cluster_wide;
	if (client_apply(p->o.client, body, "status", policies_on_written, w, &err) < 0) {
		log_warning_limited("policy %s: its status was not written: %s", k->key,
				    err_text(&err));
		k->retry_ns = now_boottime_ns() + RETRY_NS;
		return;
	}
	w->policies = p;
	k->writing = true;
}

/* Returns when a status with this difference may be written (boottime). */
static int64_t policies_write_at(const struct known_policy *k, enum policy_status_change change)
{
	return MAX(k->retry_ns, change == POLICY_STATUS_COUNTS && k->written_ns ?
					k->written_ns + COUNTS_PACE_NS :
					0);
}

static void settle_status(struct policies *p, struct known_policy *k)
{
	const struct store *store = watches_store(
		p->o.watches, k->object->is_cluster_wide ? WATCH_CLUSTER_POLICIES : WATCH_POLICIES);
	const cJSON *object = store_get(store, k->key);
	const cJSON *old = json_get(object, "status");
	_cleanup_json_ cJSON *status = policy_status(k->object, &k->tally, old, now_realtime_ns());
	enum policy_status_change change =
		object && status ? policy_status_compare(old, status) : POLICY_STATUS_SAME;
	int64_t now = now_boottime_ns();

	if (change == POLICY_STATUS_SAME || k->writing)
		return; /* the answer causes another look */
	if (policies_write_at(k, change) > now)
		look_within(p, policies_write_at(k, change) - now);
	else if (policies_free_place(p))
		write_status(p, k, TAKE_PTR(status));
}

/*
 * Looks at the policies that the round has not reached yet. It stops when no write can start, and
 * the next answer continues the round: a tenant may create thousands of policies, and otherwise
 * each answer would cause a look at all of them.
 */
static bool settle_statuses(struct policies *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(p->book.known); i++) {
		struct strmap_pos pos = { 0 };
		void *value;

		while (strmap_next(&p->book.known[i], &pos, NULL, &value)) {
			struct known_policy *k = value;

			if (k->round == p->round)
				continue;
			if (!policies_free_place(p))
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

static void policies_on_look(evutil_socket_t, short, void *arg)
{
	struct policies *p = arg;
	bool went_on = p->goes_on;

	p->due_ns = 0;
	if (!p->o.may_write(p->o.arg) || policy_book_is_empty(&p->book)) {
		policy_count_drop(&p->book);
		return; /* policies_begin, or a change of a policy, wakes us */
	}
	if (!may_look(p)) {
		look_within(p, NS_PER_SEC);
		return;
	}
	if (!p->book.counting && !went_on)
		p->changed = false;
	if (!policy_count_some(&p->book, watches_store(p->o.watches, WATCH_PODS))) {
		look_within(p, NS_PER_MS);
		return;
	}
	p->round += !went_on;
	p->goes_on = !settle_statuses(p);
	/* If something has changed since the round began, another one follows. */
	if ((went_on || p->changed) && !p->goes_on)
		look_within(p, went_on ? SOON_NS : COUNTS_NS);
}

/*
 * --- Life
 * -----------------------------------------------------------------------------------------------
 */

int policies_new(const struct policies_options *options, struct policies **ret_policies,
		 struct err *err)
{
	struct policies *p = calloc(1, sizeof(*p));

	if (!p)
		return err_set(err, ENOMEM, "policies");
	p->o = *options;
	p->look = evtimer_new(options->base, policies_on_look, p);
	int r = p->look ? policy_book_init(&p->book, options->policy, options->retention, err) :
			  err_set(err, ENOMEM, "policies");
	if (r < 0) {
		policies_free(p);
		return r;
	}
	*ret_policies = p;
	return 0;
}

void policies_free(struct policies *p)
{
	if (!p)
		return;
	event_drop(p->look);
	policy_book_release(&p->book);
	free(p);
}
