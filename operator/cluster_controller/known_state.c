/* SPDX-License-Identifier: Apache-2.0 */
/* Remembers facts that the operator cannot watch. */
#include "operator/cluster_controller/known_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/raycluster/plan.h"

#define KEY_MAX 512
/*
 * The most claims of one namespace that are remembered. For further ones the operator asks each
 * time.
 */
#define CLAIMS_MAX 64

struct applied {
	char hash[PLAN_HASH_MAX];
	int64_t until_ns;
};

static void known_state_cluster_free(void *value)
{
	struct known_cluster *cluster = value;

	if (!cluster)
		return;
	strmap_release(&cluster->applied, free);
	expectations_release(&cluster->expected);
	free(cluster);
}

static void namespace_free(void *value)
{
	struct known_namespace *space = value;

	if (!space)
		return;
	strmap_release(&space->launcher_waiters, NULL);
	strmap_release(&space->claims, free);
	free(space);
}

void known_state_release(struct known_state *known)
{
	strmap_release(&known->namespaces, namespace_free);
	strmap_release(&known->clusters, known_state_cluster_free);
}

static void forget_if_unused(struct known_state *known, const char *name)
{
	const struct known_namespace *space = strmap_get(&known->namespaces, name);

	if (space && !space->clusters && !space->users && !space->launcher_waiters.n)
		namespace_free(strmap_remove(&known->namespaces, name));
}

/* Writes the namespace of a cluster's key into buf and returns buf. */
static const char *known_state_namespace_of(const char *key, char buf[static KEY_MAX])
{
	snprintf(buf, KEY_MAX, "%.*s", (int)strcspn(key, "/"), key);
	return buf;
}

struct known_namespace *known_state_of_namespace(struct known_state *known, const char *namespace)
{
	return strmap_get_or_add(&known->namespaces, namespace, sizeof(struct known_namespace));
}

struct known_namespace *known_state_use(struct known_state *known, const char *name)
{
	struct known_namespace *space = known_state_of_namespace(known, name);

	if (space)
		space->users++;
	return space;
}

void known_state_unuse(struct known_state *known, const char *name)
{
	struct known_namespace *space = strmap_get(&known->namespaces, name);

	if (space && space->users)
		space->users--;
	forget_if_unused(known, name);
}

struct known_claim *known_state_of_claim(struct known_namespace *space, const char *claim)
{
	if (space->claims.n >= CLAIMS_MAX && !strmap_get(&space->claims, claim))
		strmap_release(&space->claims, free);
	return strmap_get_or_add(&space->claims, claim, sizeof(struct known_claim));
}

struct known_cluster *known_state_of_cluster(struct known_state *known, const char *key)
{
	char name[KEY_MAX];
	struct known_cluster *cluster = strmap_get(&known->clusters, key);

	if (cluster)
		return cluster;
	struct known_namespace *space =
		known_state_of_namespace(known, known_state_namespace_of(key, name));
	cluster = space ? strmap_get_or_add(&known->clusters, key, sizeof(*cluster)) : NULL;
	if (cluster)
		space->clusters++;
	return cluster;
}

void known_state_forget_cluster(struct known_state *known, const char *key)
{
	struct known_cluster *cluster = strmap_remove(&known->clusters, key);
	char name[KEY_MAX];

	if (!cluster)
		return;
	known_state_cluster_free(cluster);
	struct known_namespace *space =
		strmap_get(&known->namespaces, known_state_namespace_of(key, name));
	if (space)
		space->clusters--;
	forget_if_unused(known, name);
}

void known_state_note_no_cleanup(struct known_state *known, const char *key, const struct err *err)
{
	struct known_cluster *cluster = known_state_of_cluster(known, key);

	if (cluster)
		snprintf(cluster->cleanup_refused, sizeof(cluster->cleanup_refused), "%s",
			 err_text(err));
}

static void applied_key(const char *kind, const char *name, char buf[static KEY_MAX])
{
	snprintf(buf, KEY_MAX, "%s/%s", kind ? kind : "", name ? name : "");
}

void known_state_note_applied(struct known_cluster *cluster, const cJSON *body, int64_t until_ns)
{
	struct applied *applied;
	char key[KEY_MAX];

	applied_key(json_str(body, "kind"), json_str(body, "metadata.name"), key);
	applied = strmap_get_or_add(&cluster->applied, key, sizeof(*applied));
	if (!applied)
		return;
	plan_object_hash(body, applied->hash);
	applied->until_ns = until_ns;
}

bool known_state_is_applied(void *arg, const char *kind, const char *name, const char *hash)
{
	const struct known_cluster *cluster = arg;
	char key[KEY_MAX];

	applied_key(kind, name, key);
	const struct applied *applied = strmap_get(&cluster->applied, key);
	return applied && now_boottime_ns() < applied->until_ns && strcmp(applied->hash, hash) == 0;
}
