/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers the latest objects that a watch reported as deleted. */
#include "operator/cache/recent_ends.h"

#include <stdlib.h>

#include "lib/fnv.h"
#include "lib/macros.h"

/* The hash only serves to compare uids. */
static uint64_t recent_ends_hash_of(const char *uid)
{
	return fnv1a(uid ? uid : "", FNV_START);
}

/* So far every API server uses numbers as versions. Any other version counts as 0, "not known". */
static uint64_t recent_ends_number_of(const char *rv)
{
	return rv ? strtoull(rv, NULL, 10) : 0;
}

void recent_ends_add(struct recent_ends *ends, const char *uid, const char *rv)
{
	ends->list[ends->n++ % RECENT_ENDS_MAX] =
		(struct recent_end){ recent_ends_hash_of(uid), recent_ends_number_of(rv) };
}

bool recent_ends_may_have(const struct recent_ends *ends, const char *uid, const char *rv)
{
	uint64_t hash = recent_ends_hash_of(uid), version = recent_ends_number_of(rv);
	const struct recent_end *oldest = &ends->list[ends->n % RECENT_ENDS_MAX];

	if (!uid || version == 0 || (ends->n >= RECENT_ENDS_MAX && version < oldest->rv))
		return true;
	for (size_t i = 0; i < MIN(ends->n, (size_t)RECENT_ENDS_MAX); i++)
		if (ends->list[i].uid_hash == hash)
			return true;
	return false;
}
