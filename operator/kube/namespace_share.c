/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the items of a bounded queue or copy by namespace. */
#include "operator/kube/namespace_share.h"

#include <stdlib.h>

static size_t namespace_share_of(const struct namespace_share *share, const char *name_space)
{
	const size_t *own = strmap_get(&share->counts, name_space);

	return own ? *own : 0;
}

bool namespace_share_add(struct namespace_share *share, const char *name_space, size_t n,
			 size_t max, size_t max_each)
{
	size_t room = share->n < max ? max - share->n : 0;

	return namespace_share_of(share, name_space) + n <= room &&
	       namespace_share_grow(share, name_space, n, max, max_each);
}

bool namespace_share_grow(struct namespace_share *share, const char *name_space, size_t n,
			  size_t max, size_t max_each)
{
	size_t *own = strmap_get(&share->counts, name_space);

	if (share->n + n > max || namespace_share_of(share, name_space) + n > max_each)
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
