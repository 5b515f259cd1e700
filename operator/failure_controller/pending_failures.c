/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the RayFailures that wait to be written. */
#include "operator/failure_controller/pending_failures.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

struct pending_namespace {
	size_t n;
	/*
	 * Boottime of the first of the failures in a row for which there was no room; 0: there is
	 * room.
	 */
	int64_t full_ns;
	const char *name;
};

struct pending_pod {
	size_t n;
	int64_t since_ns; /* boottime when the last failure of the namespace was added */
};

static void pending_free(void *value)
{
	struct pending_failure *pending = value;

	if (!pending)
		return;
	ray_failure_free(pending->failure);
	cJSON_Delete(pending->object);
	free(pending);
}

void pending_failures_release(struct pending_failures *p)
{
	strmap_release(&p->all, pending_free);
	strmap_release(&p->namespaces, free);
	strmap_release(&p->pods, free);
}

static struct pending_namespace *pending_failures_namespace_of(struct pending_failures *p,
							       const char *name)
{
	struct pending_namespace *own = strmap_get_or_add(&p->namespaces, name, sizeof(*own));

	if (own && !own->name)
		own->name = strmap_key(&p->namespaces, name);
	return own;
}

/*
 * Returns whether there is room. A namespace gets at most as much as is left for all others
 * together, so there is always room for a namespace that has none yet.
 */
static bool pending_failures_has_room(const struct pending_failures *p,
				      const struct pending_namespace *namespace)
{
	return namespace->n < PENDING_NAMESPACE_MAX && p->all.n < PENDING_MAX &&
	       namespace->n < PENDING_MAX - p->all.n;
}

static void drop_if_empty(struct pending_failures *p, const struct pending_namespace *namespace)
{
	if (namespace->n == 0)
		free(strmap_remove(&p->namespaces, namespace->name));
}

static int count_in(struct pending_failures *p, const char *uid, int64_t now_ns)
{
	struct pending_pod *pod = uid ? strmap_get_or_add(&p->pods, uid, sizeof(*pod)) : NULL;

	if (pod) {
		pod->n++;
		pod->since_ns = now_ns;
	}
	return uid && !pod ? -ENOMEM : 0;
}

static void count_out(struct pending_failures *p, const char *uid)
{
	struct pending_pod *pod = uid ? strmap_get(&p->pods, uid) : NULL;

	assert(!pod || pod->n > 0);
	if (pod && --pod->n == 0)
		free(strmap_remove(&p->pods, uid));
}

static int pending_entry_add(struct pending_failures *p, const char *key,
			     struct ray_failure *failure, struct pending_namespace *namespace,
			     int64_t now_ns, struct pending_failure **ret_pending)
{
	struct pending_failure *pending = strmap_get_or_add(&p->all, key, sizeof(*pending));

	if (!pending || count_in(p, ray_failure_text(failure->pod_uid), now_ns) < 0) {
		free(strmap_remove(&p->all, key));
		return -ENOMEM;
	}
	pending->key = strmap_key(&p->all, key);
	pending->failure = failure;
	pending->since_ns = now_ns;
	pending->namespace = namespace;
	namespace->n++;
	assert(namespace->n <= PENDING_NAMESPACE_MAX && p->all.n <= PENDING_MAX);
	*ret_pending = pending;
	return 0;
}

int pending_failures_add(struct pending_failures *p, struct ray_failure *failure, int64_t now_ns,
			 struct pending_failure **ret_pending)
{
	_cleanup_free_ char *key = ray_failure_key(failure);
	struct pending_namespace *own =
		key ? pending_failures_namespace_of(p, failure->namespace) : NULL;
	int r;

	if (!key)
		return -EINVAL;
	if (!own)
		return -ENOMEM;
	if (!pending_failures_has_room(p, own)) {
		if (!own->full_ns)
			own->full_ns = now_ns;
		r = -ENOSPC;
	} else {
		own->full_ns = 0;
		r = pending_entry_add(p, key, failure, own, now_ns, ret_pending);
	}
	drop_if_empty(p, own);
	return r;
}

struct pending_failure *pending_failures_get(const struct pending_failures *p, const char *key)
{
	return strmap_get(&p->all, key);
}

void pending_failures_remove(struct pending_failures *p, struct pending_failure *pending)
{
	struct pending_namespace *namespace = pending->namespace;

	strmap_remove(&p->all, pending->key);
	count_out(p, ray_failure_text(pending->failure->pod_uid));
	assert(namespace->n > 0);
	namespace->n--;
	drop_if_empty(p, namespace);
	pending_free(pending);
	assert(p->all.n < PENDING_MAX);
}

bool pending_failures_of_pod(const struct pending_failures *p, const char *uid, int64_t now_ns,
			     int64_t within_ns)
{
	const struct pending_pod *pod = strmap_get(&p->pods, uid);

	return pod && now_ns - pod->since_ns < within_ns;
}

void pending_failures_touch(struct pending_failures *p, int64_t now_ns)
{
	void *value;

	strmap_each(&p->all, NULL, &value)
		((struct pending_failure *)value)->since_ns = now_ns;
	strmap_each(&p->pods, NULL, &value)
		((struct pending_pod *)value)->since_ns = now_ns;
}

bool pending_failures_is_full(const struct pending_failures *p, const char *namespace,
			      int64_t now_ns, int64_t within_ns)
{
	const struct pending_namespace *n = strmap_get(&p->namespaces, namespace);

	return n && n->full_ns && now_ns - n->full_ns < within_ns;
}

/* --- One failure -------------------------------------------------------------------------- */

void pending_failure_replace(struct pending_failure *pending, struct ray_failure *failure)
{
	ray_failure_free(pending->failure);
	pending->failure = failure;
}

void pending_failure_set_object(struct pending_failure *pending, cJSON *object)
{
	cJSON_Delete(pending->object);
	pending->object = object;
	pending->reduced = false;
}

bool pending_failure_may_retry(struct pending_failure *pending, int status, int64_t now_ns)
{
	bool refused = status / 100 == 4 && status != 409 && status != 429;

	if (!pending->failed_ns)
		pending->failed_ns = now_ns;
	if (!refused)
		pending->refused_ns = 0;
	else if (!pending->refused_ns)
		pending->refused_ns = now_ns;
	return now_ns - pending->failed_ns < PENDING_FAILED_NS &&
	       (!refused || now_ns - pending->refused_ns < PENDING_REFUSED_NS);
}
