/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counts what waits in a bounded queue by namespace, so that no namespace fills it: none ever has
 * more in it than there is room left for the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/strmap.h"

struct namespace_share {
	struct strmap counts; /* namespace to size_t; those of which nothing waits are not in it */
	size_t n; /* of all */
};

/*
 * Counts one more item of a namespace ("": no namespace), unless max items already wait or the
 * namespace has its share, which is at most max_each. Returns false also if there is no memory.
 */
bool namespace_share_add(struct namespace_share *share, const char *name_space, size_t max,
			 size_t max_each);
/* Counts one item less. The item must have been added. */
void namespace_share_remove(struct namespace_share *share, const char *name_space);
void namespace_share_release(struct namespace_share *share);
