/* SPDX-License-Identifier: Apache-2.0 */
/* Decides how long RayFailures are kept, and how many of them in a namespace. */
#include "operator/policy/retention.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/kube/object.h"

#define AGE_MAX_S ((int64_t)100 * 365 * 86400)
#define KEY_MAX 512

int retention_parse_age(const char *text, int64_t *ret_ns, struct err *err)
{
	static const struct {
		char unit;
		int64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	size_t digits = strspn(text, "0123456789");
	int64_t n = 0;

	if (!*text || strcmp(text, "0") == 0) {
		*ret_ns = 0;
		return 0;
	}
	for (size_t i = 0; i < digits && n <= AGE_MAX_S; i++)
		n = n * 10 + (text[i] - '0');
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (digits && text[digits] == units[i].unit && !text[digits + 1] && n > 0 &&
		    n <= AGE_MAX_S / units[i].seconds) {
			*ret_ns = n * units[i].seconds * NS_PER_SEC;
			return 0;
		}
	return err_set(
		err, EINVAL,
		"%.40s: must be a whole number with s, m, h or d (\"720h\", \"30d\"), or 0 for ever",
		text);
}

/* --- The failures that exist ----------------------------------------------------------------- */

struct kept_namespace {
	LIST_HEAD(, kept) kept;
	size_t n; /* those that are leaving among them */
	int64_t refused_until_ns; /* since 1970 */
};

void kept_set_release(struct kept_set *set)
{
	strmap_release(&set->all, free);
	strmap_release(&set->namespaces, free);
}

static int64_t retention_end_of(const cJSON *failure)
{
	const char *ended = object_annotation(failure, FAILURE_ENDED_ANNOTATION);
	int64_t ns;

	if ((ended && time_parse(ended, &ns, NULL) == 0) ||
	    json_time(failure, "metadata.creationTimestamp", &ns))
		return ns;
	return INT64_MAX; /* a failure of unknown age is never too old */
}

static bool retention_key_of(const cJSON *failure, char key[static KEY_MAX])
{
	const char *namespace = json_str(failure, "metadata.namespace"),
		   *name = json_str(failure, "metadata.name");

	return namespace && name && snprintf(key, KEY_MAX, "%s/%s", namespace, name) < KEY_MAX;
}

int kept_set_add(struct kept_set *set, const cJSON *failure)
{
	const char *namespace = json_str(failure, "metadata.namespace");
	char key[KEY_MAX];

	if (!retention_key_of(failure, key))
		return 0;
	/* An object of the same name may have been made anew. */
	kept_set_remove(set, failure);
	struct kept *k = strmap_get_or_add(&set->all, key, sizeof(*k));
	struct kept_namespace *ns =
		k ? strmap_get_or_add(&set->namespaces, namespace, sizeof(*ns)) : NULL;
	if (!ns) {
		free(strmap_remove(&set->all, key));
		return -ENOMEM;
	}
	k->namespace = strmap_key(&set->namespaces, namespace);
	k->name = strmap_key(&set->all, key) + strlen(namespace) + 1;
	snprintf(k->uid, sizeof(k->uid), "%s", json_str_or(failure, "metadata.uid", ""));
	k->ended_ns = retention_end_of(failure);
	LIST_INSERT_HEAD(&ns->kept, k, link);
	ns->n++;
	return 0;
}

void kept_set_remove(struct kept_set *set, const cJSON *failure)
{
	char key[KEY_MAX];
	struct kept *k = retention_key_of(failure, key) ? strmap_remove(&set->all, key) : NULL;

	if (!k)
		return;
	struct kept_namespace *ns = strmap_get(&set->namespaces, k->namespace);
	LIST_REMOVE(k, link);
	if (--ns->n == 0)
		free(strmap_remove(&set->namespaces, k->namespace));
	free(k);
}

void kept_set_refused(struct kept_set *set, const char *namespace, int64_t until_ns)
{
	struct kept_namespace *ns = strmap_get(&set->namespaces, namespace);

	if (ns)
		ns->refused_until_ns = until_ns;
}

/*
 * --- What is to go
 * ------------------------------------------------------------------------------------
 */

static bool is_too_old(const struct retention *r, int64_t ended, int64_t now_ns)
{
	return r->max_age_ns > 0 && ended < now_ns - r->max_age_ns;
}

/* The oldest of the namespace that stays so far, and how many do; NULL: none does. */
static struct kept *retention_oldest_of(const struct kept_namespace *ns, size_t *ret_n)
{
	struct kept *k, *oldest = NULL;
	size_t n = 0;

	LIST_FOREACH(k, &ns->kept, link) {
		if (k->leaving)
			continue;
		n++;
		/* At equal times the name decides, so that all replicas choose alike. */
		if (!oldest || k->ended_ns < oldest->ended_ns ||
		    (k->ended_ns == oldest->ended_ns && strcmp(k->name, oldest->name) < 0))
			oldest = k;
	}
	*ret_n = n;
	return oldest;
}

bool retention_wants(const struct retention *r, const struct kept_set *set, const char *namespace,
		     int64_t ended_ns, int64_t now_ns)
{
	const struct kept_namespace *ns = strmap_get(&set->namespaces, namespace);
	size_t n;

	if (is_too_old(r, ended_ns, now_ns))
		return false;
	if (!r->max_count || !ns || ns->n < r->max_count)
		return true;
	const struct kept *oldest = retention_oldest_of(ns, &n);
	return n < r->max_count || !oldest || ended_ns >= oldest->ended_ns;
}

static struct kept *too_old_of(const struct kept_namespace *ns, const struct retention *r,
			       int64_t now_ns)
{
	struct kept *k = r->max_age_ns > 0 ? LIST_FIRST(&ns->kept) : NULL;

	while (k && (k->leaving || !is_too_old(r, k->ended_ns, now_ns)))
		k = LIST_NEXT(k, link);
	return k;
}

static struct kept *too_many_of(const struct kept_namespace *ns, const struct retention *r)
{
	size_t n;

	if (!r->max_count || ns->n <= r->max_count)
		return NULL;
	struct kept *oldest = retention_oldest_of(ns, &n);
	return n > r->max_count ? oldest : NULL;
}

struct kept *retention_next(retention_fn *of, void *arg, const struct kept_set *set, int64_t now_ns,
			    const char **ret_reason)
{
	struct kept *k, *many = NULL;
	const char *namespace;
	void *value;

	strmap_each(&set->namespaces, &namespace, &value) {
		const struct kept_namespace *ns = value;
		struct retention r = of(arg, namespace);

		if (ns->refused_until_ns > now_ns)
			continue;
		k = too_old_of(ns, &r, now_ns);
		if (k) {
			*ret_reason = "age";
			return k;
		}
		if (!many)
			many = too_many_of(ns, &r);
	}
	*ret_reason = "count";
	return many;
}
