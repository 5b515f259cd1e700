/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the items of a bounded queue by namespace. */
#include "operator/kube/namespace_share.h"

#include <stdlib.h>

bool namespace_share_add(struct namespace_share *share, const char *name_space, size_t max,
			 size_t max_each)
{
	size_t *n = strmap_get(&share->counts, name_space);

	if (share->n >= max || (n && (*n >= max_each || *n >= max - share->n)))
		return false;
	if (!n) {
		n = calloc(1, sizeof(*n));
		if (!n || strmap_put(&share->counts, name_space, n, NULL) < 0) {
			free(n);
			return false;
		}
	}
	++*n;
	share->n++;
	return true;
}

void namespace_share_remove(struct namespace_share *share, const char *name_space)
{
	size_t *n = strmap_get(&share->counts, name_space);

	share->n--;
	if (n && --*n == 0)
		free(strmap_remove(&share->counts, name_space));
}

void namespace_share_release(struct namespace_share *share)
{
	strmap_release(&share->counts, free);
	share->n = 0;
}
