/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the items of a bounded queue or copy by namespace. */
#include "operator/kube/namespace_share.h"

#include <stdlib.h>

#include "lib/macros.h"

bool namespace_share_add(struct namespace_share *share, const char *name_space, size_t n,
			 size_t max, size_t max_each)
{
	size_t *own = strmap_get(&share->counts, name_space);
	size_t room = share->n < max ? max - share->n : 0;

	if ((own ? *own : 0) + n > MIN(room, max_each))
		return false;
	if (!own) {
		own = calloc(1, sizeof(*own));
		if (!own || strmap_put(&share->counts, name_space, own, NULL) < 0) {
			free(own);
			return false;
		}
	}
	*own += n;
	share->n += n;
	return true;
}

void namespace_share_remove(struct namespace_share *share, const char *name_space, size_t n)
{
	size_t *own = strmap_get(&share->counts, name_space);

	share->n -= n;
	if (own && (*own -= n) == 0)
		free(strmap_remove(&share->counts, name_space));
}

void namespace_share_release(struct namespace_share *share)
{
	strmap_release(&share->counts, free);
	share->n = 0;
}
