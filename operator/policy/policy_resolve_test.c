/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which policy applies: precedence, locks, overlap, and invalid policies. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "operator/policy/policy_resolve.h"
#include "operator/raycluster/testing.h"

#define OBJECTS_MAX 8

struct world {
	struct policy base;
	struct policy_object *cluster_items[OBJECTS_MAX], *items[OBJECTS_MAX];
	struct policy_list cluster_policies, policies;
	struct strbuf losers; /* "b memory a; c store p locked" */
	struct policy policy;
	char *origin;
};

static void read_list(const cJSON *objects, const char *kind, struct policy_object **items,
		      struct policy_list *ret_list)
{
	const cJSON *item;

	ret_list->items = items;
	cJSON_ArrayForEach(item, objects) {
		_cleanup_json_ cJSON *object = cJSON_Duplicate(item, true);

		json_set_str(object, "kind", kind);
		assert_true(ret_list->n < OBJECTS_MAX);
		items[ret_list->n] = policy_object_new(object);
		assert_non_null(items[ret_list->n++]);
	}
}

static void note_loser(void *arg, const struct policy_object *loser, enum policy_block block,
		       const struct policy_object *winner, bool locked)
{
	struct world *w = arg;

	strbuf_addf(&w->losers, "%s%s %s %s%s", w->losers.len ? "; " : "", loser->name,
		    policy_block_name(block), winner->name, locked ? " locked" : "");
}

/*
 * world: {cluster: [...], policies: [...], namespaceLabels: {}, labels: {}}. Both lists begin with
 * the oldest.
 */
static void resolve(const char *yaml, struct world *w)
{
	static const char base[] =
		"sidecarImage: r/afterglow:1\nheadNumCPUs: 7\nwarnAt: 0.7\nkernelLog: true\nstoreClaim: base\n";
	_cleanup_json_ cJSON *json = json_of(yaml);
	struct policy_choice choice;
	struct err err = { 0 };

	*w = (struct world){ .losers = STRBUF_INIT(4096) };
	if (policy_parse(base, strlen(base), "base", &w->base, &err) < 0)
		fail_msg("%s", err.text);
	read_list(json_get(json, "cluster"), "ClusterRayPolicy", w->cluster_items,
		  &w->cluster_policies);
	read_list(json_get(json, "policies"), "RayPolicy", w->items, &w->policies);
	policy_choose(&w->cluster_policies, &w->policies, json_get(json, "namespaceLabels"),
		      json_get(json, "labels"), &choice, note_loser, w);
	assert_int_equal(policy_resolve(&w->base, &choice, &w->policy, &w->origin, &err), 0);
}

static void world_release(struct world *w)
{
	for (size_t i = 0; i < OBJECTS_MAX; i++) {
		policy_object_free(w->cluster_items[i]);
		policy_object_free(w->items[i]);
	}
	policy_release(&w->base);
	policy_release(&w->policy);
	strbuf_release(&w->losers);
	free(w->origin);
}

/*
 * The settings by which the test distinguishes the blocks: memory's head CPUs, recording's warnAt,
 * the store.
 */
static const struct {
	const char *what, *world, *memory, *recording, *store, *origin, *losers;
} rows[] = {
	{ "without policies the base holds", "{}", "7", "0.7", "base", NULL, "" },
	{ "a RayPolicy replaces the blocks that it gives, as a whole",
	  "{policies: [{metadata: {name: a, generation: 3}, spec: {memory: {headroom: 5%}, recording: {warnAt: 0.5}}}]}",
	  "0", "0.5", "base", "RayPolicy/a generation 3 (memory, recording)", "" },
	{ "a block that is empty is the operator's defaults",
	  "{policies: [{metadata: {name: a, generation: 1}, spec: {recording: {}, store: {}}}]}", "7", "0.8", "",
	  "RayPolicy/a generation 1 (recording, store)", "" },
	{ "a RayPolicy goes before a ClusterRayPolicy, block by block",
	  "{cluster: [{metadata: {name: p, generation: 7}, spec: {memory: {headNumCPUs: 1}, store: {claim: c}}}],"
	  "policies: [{metadata: {name: a, generation: 3}, spec: {memory: {headNumCPUs: 2}}}]}",
	  "2", "0.7", "c", "RayPolicy/a generation 3 (memory); ClusterRayPolicy/p generation 7 (store)", "" },
	{ "a locked block is the ClusterRayPolicy's",
	  "{cluster: [{metadata: {name: p, generation: 7}, spec: {memory: {headNumCPUs: 1}, store: {claim: c}, locked: [store]}}],"
	  "policies: [{metadata: {name: a, generation: 3}, spec: {memory: {headNumCPUs: 2}, store: {claim: mine}}}]}",
	  "2", "0.7", "c", "RayPolicy/a generation 3 (memory); ClusterRayPolicy/p generation 7 (store, locked)", "a store p locked" },
	{ "a lock alone keeps the base's block",
	  "{cluster: [{metadata: {name: p, generation: 7}, spec: {locked: [store, memory]}}],"
	  "policies: [{metadata: {name: a, generation: 3}, spec: {store: {claim: mine}}}]}",
	  "7", "0.7", "base", "ClusterRayPolicy/p generation 7 (locked)", "a store p locked" },
	{ "a lock that nobody runs against is not spoken of",
	  "{cluster: [{metadata: {name: p}, spec: {locked: [store]}}]}", "7", "0.7", "base", NULL, "" },
	{ "a lock of a policy that selects other clusters is none",
	  "{cluster: [{metadata: {name: p}, spec: {selector: {matchLabels: {a: b}}, locked: [store]}}],"
	  "policies: [{metadata: {name: a, generation: 3}, spec: {store: {claim: mine}}}]}",
	  "7", "0.7", "mine", "RayPolicy/a generation 3 (store)", "" },
	{ "a lock of the younger holds too, and the block is the older's",
	  "{cluster: [{metadata: {name: old, generation: 1}, spec: {store: {claim: o}}},"
	  "{metadata: {name: young, generation: 2}, spec: {store: {claim: y}, locked: [store]}}],"
	  "policies: [{metadata: {name: a}, spec: {store: {claim: mine}}}]}",
	  "7", "0.7", "o", "ClusterRayPolicy/old generation 1 (store); ClusterRayPolicy/young generation 2 (locked)",
	  "young store old; a store young locked" },
	{ "of two RayPolicies the older holds, for the blocks that both give",
	  "{policies: [{metadata: {name: z, generation: 1}, spec: {memory: {headNumCPUs: 1}}},"
	  "{metadata: {name: a, generation: 2}, spec: {memory: {headNumCPUs: 2}, recording: {warnAt: 0.5}}}]}",
	  "1", "0.5", "base", "RayPolicy/z generation 1 (memory); RayPolicy/a generation 2 (recording)", "a memory z" },
	{ "what does not select the cluster is in nobody's way",
	  "{labels: {team: a}, policies: [{metadata: {name: b}, spec: {selector: {matchLabels: {team: b}}, memory: {headNumCPUs: 1}}},"
	  "{metadata: {name: a, generation: 2}, spec: {selector: {matchLabels: {team: a}}, memory: {headNumCPUs: 2}}}]}",
	  "2", "0.7", "base", "RayPolicy/a generation 2 (memory)", "" },
	{ "a ClusterRayPolicy selects namespaces by their labels",
	  "{namespaceLabels: {env: prod}, cluster: [{metadata: {name: t}, spec: {namespaceSelector: {matchLabels: {env: test}}, memory: {}}},"
	  "{metadata: {name: p, generation: 1}, spec: {namespaceSelector: {matchExpressions: [{key: env, operator: In, values: [prod]}]}, memory: {headNumCPUs: 1}}}]}",
	  "1", "0.7", "base", "ClusterRayPolicy/p generation 1 (memory)", "" },
	{ "an invalid one has no say and is in nobody's way",
	  "{cluster: [{metadata: {name: p}, spec: {locked: [all]}}], policies: [{metadata: {name: z}, spec: {memory: {headNumCPUs: 1, headroom: a lot}}},"
	  "{metadata: {name: a, generation: 2}, spec: {memory: {headNumCPUs: 2}}}]}",
	  "2", "0.7", "base", "RayPolicy/a generation 2 (memory)", "" },
	{ "a block that is no object is invalid, and its other blocks with it",
	  "{policies: [{metadata: {name: a}, spec: {memory: 1, recording: {warnAt: 0.5}}}]}", "7", "0.7", "base", NULL, "" },
	{ "retention is no matter of pods", "{policies: [{metadata: {name: a}, spec: {retention: {maxAge: 1d}}}]}", "7", "0.7", "base", NULL, "" },
};

static void the_more_specific_holds_the_older_and_the_lock(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *what = rows[i].what;
		struct world w;
		char text[24];

		resolve(rows[i].world, &w);
		if (strcmp(w.policy.memory.head_num_cpus, rows[i].memory))
			fail_msg("%s: memory %s", what, w.policy.memory.head_num_cpus);
		snprintf(text, sizeof(text), "%g", w.policy.recording.warn_at);
		if (strcmp(text, rows[i].recording))
			fail_msg("%s: recording %s", what, text);
		if (strcmp(w.policy.store.claim ? w.policy.store.claim : "", rows[i].store))
			fail_msg("%s: store %s", what, w.policy.store.claim);
		if (!w.origin != !rows[i].origin || (w.origin && strcmp(w.origin, rows[i].origin)))
			fail_msg("%s: origin %s", what, w.origin);
		if (strcmp(strbuf_str(&w.losers), rows[i].losers))
			fail_msg("%s: losers %s", what, strbuf_str(&w.losers));
		assert_string_equal(w.policy.sidecar_image, "r/afterglow:1");
		world_release(&w);
	}
}

static void a_block_without_recording_has_no_sidecar(void **state)
{
	struct world w;

	(void)state;
	resolve("{policies: [{metadata: {name: a}, spec: {recording: {enabled: false}}}]}", &w);
	assert_null(w.policy.sidecar_image);
	assert_non_null(w.base.sidecar_image);
	world_release(&w);
}

static void of_one_age_the_name_decides(void **state)
{
	static const char *const objects[] = {
		"{metadata: {name: b, creationTimestamp: \"2026-11-21T01:00:00Z\"}}",
		"{metadata: {name: c, creationTimestamp: \"2026-11-21T01:00:00Z\"}}",
		"{metadata: {name: a, creationTimestamp: \"2026-11-21T01:00:01Z\"}}",
		"{metadata: {name: \"0\", creationTimestamp: yesterday}}",
	};
	struct policy_object *o[ARRAY_SIZE(objects)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++) {
		_cleanup_json_ cJSON *json = json_of(objects[i]);

		o[i] = policy_object_new(json);
		for (size_t j = 0; j < i; j++)
			assert_true(policy_object_compare(o[j], o[i]) < 0 &&
				    policy_object_compare(o[i], o[j]) > 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(objects); i++)
		policy_object_free(o[i]);
}

static void overlap_is_seen_where_the_words_tell(void **state)
{
	static const struct {
		const char *a, *b;
		bool overlap;
	} pairs[] = {
		{ "{}", "{}", true },
		{ "{}", "{selector: {matchLabels: {a: b}}}", true },
		{ "{selector: {matchLabels: {a: b}}}", "{selector: {matchLabels: {a: b}}}", true },
		{ "{selector: {matchLabels: {a: b}}}", "{selector: {matchLabels: {a: c}}}", false },
		{ "{namespaceSelector: {matchLabels: {a: b}}}", "{selector: {matchLabels: {a: c}}}", true },
		{ "{namespaceSelector: {matchLabels: {a: b}}}", "{namespaceSelector: {matchLabels: {a: c}}}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		_cleanup_json_ cJSON *json =
			json_of("{kind: ClusterRayPolicy, metadata: {name: p}}");
		struct policy_object *a, *b;

		json_set(json, "spec", json_of(pairs[i].a));
		a = policy_object_new(json);
		json_set(json, "spec", json_of(pairs[i].b));
		b = policy_object_new(json);
		assert_true(!a->trouble.code && !b->trouble.code);
		if (policy_objects_overlap(a, b) != pairs[i].overlap ||
		    policy_objects_overlap(b, a) != pairs[i].overlap)
			fail_msg("%s and %s", pairs[i].a, pairs[i].b);
		policy_object_free(a);
		policy_object_free(b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_more_specific_holds_the_older_and_the_lock),
		cmocka_unit_test(a_block_without_recording_has_no_sidecar),
		cmocka_unit_test(of_one_age_the_name_decides),
		cmocka_unit_test(overlap_is_seen_where_the_words_tell),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
