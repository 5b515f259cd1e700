/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers names for some time. */
#include "operator/webhook/remembered.h"

#include <stdlib.h>

#include "lib/macros.h"

void remembered_release(struct remembered *r)
{
	strmap_release(&r->names, free);
}

static void remembered_forget_old(struct remembered *r, int64_t hold_ns, int64_t now_ns)
{
	const char *name;
	void *since;

	strmap_each(&r->names, &name, &since)
		if (now_ns - *(const int64_t *)since >= hold_ns)
			free(strmap_remove(&r->names, name));
}

void remembered_note(struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns)
{
	int64_t *since = strmap_get(&r->names, name);

	if (!since && r->names.n >= REMEMBERED_MAX)
		remembered_forget_old(r, hold_ns, now_ns);
	if (!since && r->names.n < REMEMBERED_MAX) {
		since = malloc(sizeof(*since));
		if (since && strmap_put(&r->names, name, since, NULL) < 0)
			free(TAKE_PTR(since));
	}
	if (since)
		*since = now_ns;
}

void remembered_forget(struct remembered *r, const char *name)
{
	free(strmap_remove(&r->names, name));
}

bool remembered_holds(const struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns)
{
	const int64_t *since = strmap_get(&r->names, name);

	return since && now_ns - *since < hold_ns;
}
