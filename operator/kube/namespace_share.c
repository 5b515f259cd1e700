/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the items of a bounded queue or copy by namespace. */
#include "operator/kube/namespace_share.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMESPACE_MAX 256

static const char *key_namespace(const char *key, char buf[static NAMESPACE_MAX])
{
	snprintf(buf, NAMESPACE_MAX, "%.*s", (int)strcspn(key, "/ "), key);
	return buf;
}

size_t namespace_share_of(const struct namespace_share *share, const char *key)
{
	char namespace[NAMESPACE_MAX];
	const size_t *own = strmap_get(&share->counts, key_namespace(key, namespace));

	return own ? *own : 0;
}

bool namespace_share_add(struct namespace_share *share, const char *key, size_t n, size_t max,
			 size_t max_each)
{
	size_t room = share->n < max ? max - share->n : 0;

	return namespace_share_of(share, key) + n <= room &&
	       namespace_share_grow(share, key, n, max, max_each);
}

bool namespace_share_grow(struct namespace_share *share, const char *key, size_t n, size_t max,
			  size_t max_each)
{
	char namespace[NAMESPACE_MAX];
	size_t *own = strmap_get(&share->counts, key_namespace(key, namespace));

	if (share->n + n > max || (own ? *own : 0) + n > max_each)
		return false;
	own = strmap_get_or_add(&share->counts, namespace, sizeof(*own));
	if (!own)
		return false;
	*own += n;
	share->n += n;
	return true;
}

void namespace_share_remove(struct namespace_share *share, const char *key, size_t n)
{
	char namespace[NAMESPACE_MAX];
	size_t *own = strmap_get(&share->counts, key_namespace(key, namespace));

	share->n -= n;
	if (own && (*own -= n) == 0)
		free(strmap_remove(&share->counts, namespace));
}

const char *namespace_share_most(const struct namespace_share *share)
{
	const char *name, *found = "";
	size_t most = 0;
	void *n;

	strmap_each(&share->counts, &name, &n)
		if (*(const size_t *)n > most) {
			most = *(const size_t *)n;
			found = name;
		}
	return found;
}

void namespace_share_release(struct namespace_share *share)
{
	strmap_release(&share->counts, free);
	share->n = 0;
}

bool namespace_map_put(struct namespace_map *m, const char *key, void *value, size_t max,
		       void **ret_old)
{
	bool is_new = !strmap_get(&m->map, key);

	if (is_new && !namespace_share_add(&m->share, key, 1, max, max))
		return false;
	if (strmap_put(&m->map, key, value, ret_old) == 0)
		return true;
	if (is_new)
		namespace_share_remove(&m->share, key, 1);
	return false;
}

void *namespace_map_get_or_add(struct namespace_map *m, const char *key, size_t size, size_t max)
{
	void *value = strmap_get(&m->map, key);

	if (value)
		return value;
	value = calloc(1, size);
	if (value && !namespace_map_put(m, key, value, max, NULL))
		free(TAKE_PTR(value));
	return value;
}

void *namespace_map_remove(struct namespace_map *m, const char *key)
{
	if (strmap_get(&m->map, key))
		namespace_share_remove(&m->share, key, 1);
	return strmap_remove(&m->map, key);
}

void namespace_map_release(struct namespace_map *m, void (*free_value)(void *value))
{
	strmap_release(&m->map, free_value);
	namespace_share_release(&m->share);
}
