/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers names for some time. */
#include "operator/webhook/remembered.h"

#include <stdlib.h>

void remembered_release(struct remembered *r)
{
	namespace_map_release(&r->names, free);
}

void remembered_forget(struct remembered *r, const char *name)
{
	free(namespace_map_remove(&r->names, name));
}

static void remembered_forget_old(struct remembered *r, int64_t hold_ns, int64_t now_ns)
{
	const char *name;
	void *known;

	strmap_each(&r->names.map, &name, &known)
		if (now_ns - ((struct remembered_name *)known)->last_ns >= hold_ns)
			remembered_forget(r, name);
}

void remembered_note(struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns)
{
	struct remembered_name *known =
		namespace_map_get_or_add(&r->names, name, sizeof(*known), REMEMBERED_MAX);

	if (!known) {
		remembered_forget_old(r, hold_ns, now_ns);
		known = namespace_map_get_or_add(&r->names, name, sizeof(*known), REMEMBERED_MAX);
	}
	if (!known)
		return;
	if (known->times == 0 || now_ns - known->last_ns > hold_ns)
		*known = (struct remembered_name){ .first_ns = now_ns };
	known->times++;
	known->last_ns = now_ns;
}

const struct remembered_name *remembered_get(const struct remembered *r, const char *name,
					     int64_t hold_ns, int64_t now_ns)
{
	const struct remembered_name *known = strmap_get(&r->names.map, name);

	return known && now_ns - known->last_ns < hold_ns ? known : NULL;
}
