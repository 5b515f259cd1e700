/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of memory budgets as tables: what fits, what the user set, what is too small. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "operator/podspec/notes.h"
#include "operator/raycluster/memory.h"
#include "operator/raycluster/testing.h"

#define MIB ((int64_t)1 << 20)
#define GIB ((int64_t)1 << 30)

static void budgets_fit_the_limit(void **state)
{
	static const struct {
		int64_t limit, ray_memory, object_store; /* the user's own settings */
		int64_t want_memory, want_store, want_excess;
	} rows[] = {
		/* limit        memory      store        = memory       store        excess */
		{ 4 * GIB,      0,          0,           2458 * MIB,    1228 * MIB,  0 },
		{ 1 * GIB,      0,          0,           614 * MIB,     307 * MIB,   0 },
		{ 256 * MIB,    0,          0,           154 * MIB,     76 * MIB,    0 },
		/* Under 250 MiB Ray's minimum for the store takes more than its share. */
		{ 200 * MIB,    0,          0,           105 * MIB,     75 * MIB,    0 },
		{ 64 * MIB,     0,          0,           1 * MIB,       75 * MIB,    19 * MIB - 629146 },
		{ 512 * GIB,    0,          0,           314573 * MIB,  157286 * MIB, 0 },
		/* The user's memory leaves less for the store. */
		{ 4 * GIB,      3 * GIB,    0,           3 * GIB,       614 * MIB,   0 },
		{ 4 * GIB,      4 * GIB,    0,           4 * GIB,       75 * MIB,    75 * MIB + 429496729 },
		/* The user's store leaves less for tasks. */
		{ 4 * GIB,      0,          2 * GIB,     1638 * MIB,    2 * GIB,     0 },
		{ 1 * GIB,      0,          1 * GIB,     1 * MIB,       1 * GIB,     1 * MIB + 107374182 },
		{ 4 * GIB,      3 * GIB,    2 * GIB,     3 * GIB,       2 * GIB,     1 * GIB + 429496729 },
	};
	struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct memory_wish wish = { .limit = rows[i].limit,
					    .ray_memory = rows[i].ray_memory,
					    .object_store = rows[i].object_store };
		struct memory_budget b = memory_divide(&wish, &p);

		if (b.ray_memory != rows[i].want_memory || b.object_store != rows[i].want_store ||
		    b.excess != rows[i].want_excess)
			fail_msg("row %zu: memory %ld MiB, store %ld MiB, excess %ld", i,
				 (long)(b.ray_memory / MIB), (long)(b.object_store / MIB),
				 (long)b.excess);
		assert_true(b.shm_size > b.object_store && b.shm_size % MIB == 0);
	}
	policy_release(&p);
}

static const char group_yaml[] = "{containers: [{name: r, resources: {limits: {memory: 4Gi}}}]}";

static void what_is_not_applied_is_left_as_kuberay_has_it(void **state)
{
	static const struct {
		enum memory_mode mode, budgets;
		const char *memory /* NULL: a part of the limit */, *object_store, *num_cpus;
		int64_t shm;
		bool noted;
	} rows[] = {
		{ MEMORY_MODE_UNSET, MEMORY_MODE_UNSET, NULL, "4000000000", "0", 0, true },
		{ MEMORY_MODE_APPLY, MEMORY_MODE_UNSET, NULL, "4000000000", "0", 0, true },
		{ MEMORY_MODE_WARN, MEMORY_MODE_UNSET, "4294967296", "4000000000", NULL, 4 * GIB, true },
		{ MEMORY_MODE_OFF, MEMORY_MODE_UNSET, "4294967296", "4000000000", NULL, 4 * GIB, false },
		{ MEMORY_MODE_UNSET, MEMORY_MODE_WARN, "4294967296", "4000000000", "0", 4 * GIB, true },
		{ MEMORY_MODE_APPLY, MEMORY_MODE_OFF, "4294967296", "4000000000", "0", 4 * GIB, false },
		{ MEMORY_MODE_WARN, MEMORY_MODE_APPLY, "4294967296", "4000000000", NULL, 4 * GIB, true },
	};
	struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *spec = json_of(group_yaml),
				     *params = json_of("{object-store-memory: '4000000000'}"),
				     *notes = cJSON_CreateArray();
		int64_t shm;

		p.memory.mode = rows[i].mode;
		p.memory.budgets = rows[i].budgets;
		shm = memory_apply_by_mode(spec, params,
					   &(struct memory_request){ .node = RAY_HEAD,
								     .group = "headgroup",
								     .policy = &p },
					   notes);
		if (rows[i].memory) {
			assert_string_equal(json_str(params, "memory"), rows[i].memory);
			assert_int_equal(shm, rows[i].shm);
		}
		assert_int_equal(json_str(params, "num-cpus") != NULL, rows[i].num_cpus != NULL);
		assert_string_equal(json_str(params, "object-store-memory"), rows[i].object_store);
		assert_int_equal(notes_have(notes, NOTE_MEMORY_SAFE), rows[i].noted);
	}
	policy_release(&p);
}

static void the_policys_numbers_are_used(void **state)
{
	struct memory_wish wish = { .limit = 10 * GIB };
	struct memory_budget b;
	struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p, NULL), 0);
	p.memory.object_store_fraction = 0.5;
	p.memory.headroom_bytes = 1 * GIB;
	b = memory_divide(&wish, &p);
	assert_int_equal(b.ray_memory, 4 * GIB);
	p.memory.ray_memory_fraction = 0.25;
	b = memory_divide(&wish, &p);
	assert_int_equal(b.ray_memory, 2560 * MIB);
	wish.no_shm = true;
	p.memory.ray_memory_fraction = 1;
	b = memory_divide(&wish, &p);
	assert_int_equal(b.ray_memory, 9 * GIB);
	assert_int_equal(b.shm_size, 0);
	policy_release(&p);
}

struct result {
	cJSON *spec, *params, *notes;
	int64_t shm;
};

static struct result apply(const char *spec, const char *params, enum ray_node node,
			   int64_t worker_limit)
{
	struct result r = { .spec = json_of(spec),
			    .params = json_of(params),
			    .notes = cJSON_CreateArray() };
	struct policy p;

	assert_int_equal(policy_init(&p, NULL), 0);
	p.memory.worker_memory_limit = worker_limit;
	r.shm = memory_apply(r.spec, r.params,
			     &(struct memory_request){ .node = node, .group = "g", .policy = &p },
			     r.notes);
	policy_release(&p);
	return r;
}

static void result_release(struct result *r)
{
	cJSON_Delete(r->spec);
	cJSON_Delete(r->params);
	cJSON_Delete(r->notes);
}

static void expect(const struct result *r, const char *path, const char *value)
{
	const char *have = json_str(cJSON_GetArrayItem(json_get(r->spec, "containers"), 0), path);

	if (!have || strcmp(have, value))
		fail_msg("%s is %s, not %s", path, have ? have : "nothing", value);
}

static void expect_note(const struct result *r, const char *part)
{
	_cleanup_free_ char *text = notes_text(r->notes, NOTE_MEMORY_SAFE);

	if (!strstr(text, part))
		fail_msg("\"%s\" does not hold \"%s\"", text, part);
}

static void a_worker_without_a_limit_gets_the_policys(void **state)
{
	_cleanup_(result_release) struct result r =
		apply("containers: [{name: w}]", "{}", RAY_WORKER, 2 * GIB);

	(void)state;
	expect(&r, "resources.limits.memory", "2Gi");
	expect(&r, "resources.requests.memory", "2Gi");
	assert_null(json_get(r.params, "num-cpus"));
	assert_false(notes_have(r.notes, NOTE_MEMORY_SAFE));
}

static void a_request_above_the_policys_limit_lifts_it(void **state)
{
	_cleanup_(result_release) struct result r =
		apply("containers: [{name: w, resources: {requests: {memory: 3Gi}}}]", "{}",
		      RAY_WORKER, 2 * GIB);

	(void)state;
	expect(&r, "resources.limits.memory", "3Gi");
	expect(&r, "resources.requests.memory", "3Gi");
}

static void without_any_limit_nothing_is_set_and_that_is_reported(void **state)
{
	_cleanup_(result_release) struct result r =
		apply("containers: [{name: w}]", "{}", RAY_WORKER, 0);

	(void)state;
	assert_int_equal(r.shm, 0);
	assert_null(json_get(r.params, "memory"));
	expect_note(&r, "group g: the Ray container has no memory limit");
}

static void the_head_gets_no_limit_but_no_cpus_either(void **state)
{
	_cleanup_(result_release) struct result r =
		apply("containers: [{name: h}]", "{}", RAY_HEAD, 2 * GIB);

	(void)state;
	assert_null(json_get(cJSON_GetArrayItem(json_get(r.spec, "containers"), 0),
			     "resources.limits"));
	assert_string_equal(json_str(r.params, "num-cpus"), "0");
}

static void a_sum_over_the_limit_is_reported_with_its_numbers(void **state)
{
	_cleanup_(result_release) struct result r = apply(
		"containers: [{name: w, resources: {limits: {memory: 4Gi}}}]",
		"{memory: \"4294967296\", object-store-memory: \"1073741824\"}", RAY_WORKER, 0);

	(void)state;
	expect_note(
		&r,
		"memory 4.0 GiB (yours) + object store 1.0 GiB (yours) + headroom 409.6 MiB is 1.4 GiB over the "
		"container's limit of 4.0 GiB");
	assert_string_equal(json_str(r.params, "memory"), "4294967296");
}

static void an_object_store_that_ray_refuses_is_reported(void **state)
{
	_cleanup_(result_release) struct result small =
		apply("containers: [{name: w, resources: {limits: {memory: 4Gi}}}]",
		      "{object-store-memory: \"1000000\"}", RAY_WORKER, 0);
	static const char spec[] =
		"containers: [{name: w, resources: {limits: {memory: 4Gi}}, env: [{name: X, value: y}],"
		" volumeMounts: [{name: m, mountPath: /dev/shm}]}]\n"
		"volumes: [{name: m, emptyDir: {medium: Memory, sizeLimit: 100Mi}}]";
	_cleanup_(result_release) struct result big =
		apply(spec, "{object-store-memory: \"200000000\"}", RAY_WORKER, 0);
	_cleanup_(result_release) struct result fits = apply(spec, "{}", RAY_WORKER, 0);

	(void)state;
	expect_note(&small, "Ray refuses less than 75 MiB");
	expect_note(&big, "does not fit your /dev/shm of 100.0 MiB");
	assert_string_equal(json_str(fits.params, "object-store-memory"), "104857600");
}

static void what_the_author_sizes_himself_is_as_kuberay_has_it(void **state)
{
	struct memory_request req = {
		.node = RAY_HEAD, .group = "g", .keeps_cpus = true, .keeps_memory = true
	};
	_cleanup_json_ cJSON *spec = json_of(group_yaml), *params = json_of("{}"),
			     *notes = cJSON_CreateArray();
	struct policy p;

	(void)state;
	assert_int_equal(policy_init(&p, NULL), 0);
	req.policy = &p;
	assert_int_equal(memory_apply(spec, params, &req, notes), 4 * GIB);
	assert_string_equal(json_str(params, "memory"), "4294967296");
	assert_null(json_get(params, "object-store-memory"));
	assert_null(json_get(params, "num-cpus"));
	policy_release(&p);
}

static void values_that_only_the_shell_knows_are_left_alone(void **state)
{
	_cleanup_(result_release) struct result r =
		apply("containers: [{name: w, resources: {limits: {memory: 4294967296}}}]",
		      "{memory: $((2**30))}", RAY_WORKER, 0);

	(void)state;
	assert_string_equal(json_str(r.params, "memory"), "$((2**30))");
	assert_false(notes_have(r.notes, NOTE_MEMORY_SAFE));
}

/* If such a sum overflowed, the sanitizer would report it. */
static void numbers_at_the_end_of_their_range_are_cut(void **state)
{
	_cleanup_(result_release) struct result r = apply(
		"containers: [{name: w, resources: {limits: {memory: 9223372036854775807}}}]",
		"{memory: \"9223372036854775807\", object-store-memory: \"9223372036854775807\"}",
		RAY_WORKER, 0);
	_cleanup_(result_release) struct result negative = apply(
		"containers: [{name: w, resources: {limits: {memory: -9223372036854775807}}}]",
		"{}", RAY_WORKER, 0);

	(void)state;
	expect_note(&r,
		    "memory 8.0 PiB (yours) + object store 8.0 PiB (yours) + headroom 819.2 TiB");
	expect_note(&negative, "no memory limit");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budgets_fit_the_limit),
		cmocka_unit_test(what_is_not_applied_is_left_as_kuberay_has_it),
		cmocka_unit_test(the_policys_numbers_are_used),
		cmocka_unit_test(a_worker_without_a_limit_gets_the_policys),
		cmocka_unit_test(a_request_above_the_policys_limit_lifts_it),
		cmocka_unit_test(without_any_limit_nothing_is_set_and_that_is_reported),
		cmocka_unit_test(the_head_gets_no_limit_but_no_cpus_either),
		cmocka_unit_test(a_sum_over_the_limit_is_reported_with_its_numbers),
		cmocka_unit_test(an_object_store_that_ray_refuses_is_reported),
		cmocka_unit_test(what_the_author_sizes_himself_is_as_kuberay_has_it),
		cmocka_unit_test(values_that_only_the_shell_knows_are_left_alone),
		cmocka_unit_test(numbers_at_the_end_of_their_range_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
