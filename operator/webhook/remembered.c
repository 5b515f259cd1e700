/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers names for some time. */
#include "operator/webhook/remembered.h"

#include <stdlib.h>

void remembered_release(struct remembered *r)
{
	strmap_release(&r->names, free);
	namespace_share_release(&r->share);
}

void remembered_forget(struct remembered *r, const char *name)
{
	if (!strmap_get(&r->names, name))
		return;
	namespace_share_remove(&r->share, name, 1);
	/* The name may be the map's own copy, which goes here. */
	free(strmap_remove(&r->names, name));
}

static void remembered_forget_old(struct remembered *r, int64_t hold_ns, int64_t now_ns)
{
	const char *name;
	void *known;

	strmap_each(&r->names, &name, &known)
		if (now_ns - ((struct remembered_name *)known)->last_ns >= hold_ns)
			remembered_forget(r, name);
}

static bool has_room(struct remembered *r, const char *name)
{
	return namespace_share_add(&r->share, name, 1, REMEMBERED_MAX, REMEMBERED_MAX);
}

static struct remembered_name *remembered_add(struct remembered *r, const char *name,
					      int64_t hold_ns, int64_t now_ns)
{
	struct remembered_name *known = NULL;

	if (!has_room(r, name)) {
		remembered_forget_old(r, hold_ns, now_ns);
		if (!has_room(r, name))
			return NULL;
	}
	known = calloc(1, sizeof(*known));
	if (known && strmap_put(&r->names, name, known, NULL) == 0)
		return known;
	free(known);
	namespace_share_remove(&r->share, name, 1);
	return NULL;
}

void remembered_note(struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns)
{
	struct remembered_name *known = strmap_get(&r->names, name);

	if (!known && !(known = remembered_add(r, name, hold_ns, now_ns)))
		return;
	if (known->times == 0 || now_ns - known->last_ns > hold_ns)
		*known = (struct remembered_name){ .first_ns = now_ns };
	known->times++;
	known->last_ns = now_ns;
}

const struct remembered_name *remembered_get(const struct remembered *r, const char *name,
					     int64_t hold_ns, int64_t now_ns)
{
	const struct remembered_name *known = strmap_get(&r->names, name);

	return known && now_ns - known->last_ns < hold_ns ? known : NULL;
}
