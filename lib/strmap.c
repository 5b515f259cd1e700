/* SPDX-License-Identifier: Apache-2.0 */
/* A hash map from strings to pointers. */
#include "lib/strmap.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "lib/fnv.h"

struct strmap_node {
	struct strmap_node *next;
	void *value;
	uint64_t hash;
	char key[];
};

uint64_t strmap_hash(const char *text)
{
	static uint64_t seed;

	if (seed == 0 && (getentropy(&seed, sizeof(seed)) < 0 || seed == 0))
		seed = FNV_START;
	uint64_t h = fnv1a(text, seed);

	/*
	 * FNV carries bits only upwards: bit 6 of the last letter does not reach the six lowest
	 * bits of h, which choose one of up to 64 buckets. So this mixes the higher bits into the
	 * lower ones.
	 */
	h = (h ^ h >> 32) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 32;
}

static struct strmap_node **slot_of(const struct strmap *m, const char *key, uint64_t hash)
{
	struct strmap_node **slot = &m->buckets[hash & (m->n_buckets - 1)];

	while (*slot && ((*slot)->hash != hash || strcmp((*slot)->key, key) != 0))
		slot = &(*slot)->next;
	return slot;
}

static int strmap_grow(struct strmap *m)
{
	size_t n_buckets = m->n_buckets ? m->n_buckets * 2 : 16;
	struct strmap_node **buckets = calloc(n_buckets, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	for (size_t i = 0; i < m->n_buckets; i++) {
		struct strmap_node *node = m->buckets[i];
		while (node) {
			struct strmap_node *next = node->next;
			struct strmap_node **slot = &buckets[node->hash & (n_buckets - 1)];
			node->next = *slot;
			*slot = node;
			node = next;
		}
	}
	free(m->buckets);
	m->buckets = buckets;
	m->n_buckets = n_buckets;
	return 0;
}

void strmap_release(struct strmap *m, void (*free_value)(void *value))
{
	for (size_t i = 0; i < m->n_buckets; i++) {
		struct strmap_node *node = m->buckets[i];
		while (node) {
			struct strmap_node *next = node->next;
			if (free_value)
				free_value(node->value);
			free(node);
			node = next;
		}
	}
	free(m->buckets);
	*m = STRMAP_INIT;
}

void *strmap_get(const struct strmap *m, const char *key)
{
	if (m->n == 0)
		return NULL;
	struct strmap_node *node = *slot_of(m, key, strmap_hash(key));
	return node ? node->value : NULL;
}

const char *strmap_key(const struct strmap *m, const char *key)
{
	struct strmap_node **slot = m->n_buckets ? slot_of(m, key, strmap_hash(key)) : NULL;

	return slot && *slot ? (*slot)->key : NULL;
}

int strmap_put(struct strmap *m, const char *key, void *value, void **ret_old)
{
	uint64_t hash = strmap_hash(key);
	size_t len = strlen(key);

	if (m->n >= m->n_buckets && strmap_grow(m) < 0 && m->n_buckets == 0)
		return -ENOMEM;
	struct strmap_node **slot = slot_of(m, key, hash);
	if (*slot) {
		if (ret_old)
			*ret_old = (*slot)->value;
		(*slot)->value = value;
		return 0;
	}
	struct strmap_node *node = malloc(sizeof(*node) + len + 1);
	if (!node)
		return -ENOMEM;
	node->next = NULL;
	node->value = value;
	node->hash = hash;
	memcpy(node->key, key, len + 1);
	*slot = node;
	m->n++;
	if (ret_old)
		*ret_old = NULL;
	return 0;
}

void *strmap_get_or_add(struct strmap *m, const char *key, size_t size)
{
	void *value = strmap_get(m, key);

	if (value)
		return value;
	value = calloc(1, size);
	if (value && strmap_put(m, key, value, NULL) < 0)
		free(TAKE_PTR(value));
	return value;
}

void *strmap_remove(struct strmap *m, const char *key)
{
	if (m->n == 0)
		return NULL;
	struct strmap_node **slot = slot_of(m, key, strmap_hash(key));
	struct strmap_node *node = *slot;
	if (!node)
		return NULL;
	void *value = node->value;
	*slot = node->next;
	free(node);
	m->n--;
	return value;
}

bool strmap_next(const struct strmap *m, struct strmap_pos *pos, const char **ret_key,
		 void **ret_value)
{
	while (!pos->next) {
		if (pos->bucket >= m->n_buckets)
			return false;
		pos->next = m->buckets[pos->bucket++];
	}
	struct strmap_node *node = pos->next;
	pos->next = node->next;
	if (ret_key)
		*ret_key = node->key;
	*ret_value = node->value;
	return true;
}
