/* SPDX-License-Identifier: Apache-2.0 */
/* What is known without a watch. */
#include "operator/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/raycluster/plan.h"

#define KEY_MAX 512
/* Claims of one namespace: who names ever new ones has us ask again. */
#define CLAIMS_MAX 64

struct applied {
	char hash[PLAN_HASH_MAX];
	int64_t until_ns;
};

static void cluster_free(void *value)
{
	struct cluster_facts *cluster = value;

	if (!cluster)
		return;
	strmap_release(&cluster->applied, free);
	free(cluster);
}

static void namespace_free(void *value)
{
	struct namespace_facts *namespace = value;

	if (!namespace)
		return;
	strmap_release(&namespace->launcher_waiters, NULL);
	strmap_release(&namespace->claims, free);
	free(namespace);
}

void facts_release(struct facts *facts)
{
	strmap_release(&facts->namespaces, namespace_free);
	strmap_release(&facts->clusters, cluster_free);
}

static void *get_or_add(struct strmap *map, const char *key, size_t size)
{
	void *value = strmap_get(map, key);

	if (value)
		return value;
	value = calloc(1, size);
	if (value && strmap_put(map, key, value, NULL) < 0)
		free(TAKE_PTR(value));
	return value;
}

struct namespace_facts *facts_of_namespace(struct facts *facts, const char *namespace)
{
	return get_or_add(&facts->namespaces, namespace, sizeof(struct namespace_facts));
}

struct claim_facts *facts_of_claim(struct namespace_facts *namespace, const char *claim)
{
	if (namespace->claims.n >= CLAIMS_MAX && !strmap_get(&namespace->claims, claim))
		strmap_release(&namespace->claims, free);
	return get_or_add(&namespace->claims, claim, sizeof(struct claim_facts));
}

struct cluster_facts *facts_of_cluster(struct facts *facts, const char *key)
{
	return get_or_add(&facts->clusters, key, sizeof(struct cluster_facts));
}

void facts_forget_cluster(struct facts *facts, const char *key)
{
	cluster_free(strmap_remove(&facts->clusters, key));
}

void facts_note_no_cleanup(struct facts *facts, const char *key, const struct err *err)
{
	struct cluster_facts *cluster = facts_of_cluster(facts, key);

	if (cluster)
		snprintf(cluster->cleanup_refused, sizeof(cluster->cleanup_refused), "%s", err_text(err));
}

static void applied_key(const char *kind, const char *name, char buf[static KEY_MAX])
{
	snprintf(buf, KEY_MAX, "%s/%s", kind ? kind : "", name ? name : "");
}

void facts_note_applied(struct cluster_facts *cluster, const cJSON *body, int64_t until_ns)
{
	struct applied *applied;
	char key[KEY_MAX];

	applied_key(json_str(body, "kind"), json_str(body, "metadata.name"), key);
	applied = get_or_add(&cluster->applied, key, sizeof(*applied));
	if (!applied)
		return;
	plan_object_hash(body, applied->hash);
	applied->until_ns = until_ns;
}

bool facts_is_applied(void *arg, const char *kind, const char *name, const char *hash)
{
	const struct cluster_facts *cluster = arg;
	const struct applied *applied;
	char key[KEY_MAX];

	applied_key(kind, name, key);
	applied = strmap_get(&cluster->applied, key);
	return applied && now_boottime_ns() < applied->until_ns && strcmp(applied->hash, hash) == 0;
}
