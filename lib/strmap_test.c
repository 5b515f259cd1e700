/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the string map. */
#include "lib/strmap.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void ten_thousand_keys_are_found_and_removed(void **state)
{
	struct strmap m = STRMAP_INIT;
	char key[32];
	(void)state;

	for (intptr_t i = 1; i <= 10000; i++) {
		snprintf(key, sizeof(key), "ns/pod-%d", (int)i);
		assert_int_equal(strmap_put(&m, key, (void *)i, NULL), 0);
	}
	for (intptr_t i = 1; i <= 10000; i += 2) {
		snprintf(key, sizeof(key), "ns/pod-%d", (int)i);
		assert_int_equal((intptr_t)strmap_remove(&m, key), i);
		assert_null(strmap_get(&m, key));
	}
	assert_int_equal(m.n, 5000);
	assert_int_equal((intptr_t)strmap_get(&m, "ns/pod-2"), 2);
	strmap_release(&m, NULL);
}

static void putting_twice_gives_the_old_value_back(void **state)
{
	struct strmap m = STRMAP_INIT;
	void *old = NULL;
	(void)state;

	assert_int_equal(strmap_put(&m, "k", (void *)1, &old), 0);
	assert_null(old);
	assert_int_equal(strmap_put(&m, "k", (void *)2, &old), 0);
	assert_ptr_equal(old, (void *)1);
	assert_int_equal(m.n, 1);
	strmap_release(&m, NULL);
}

static void a_walk_sees_every_key_once_and_may_remove_the_given_one(void **state)
{
	struct strmap m = STRMAP_INIT;
	struct strmap_pos pos = { 0 };
	const char *key;
	void *value;
	intptr_t sum = 0;
	char text[8];
	(void)state;

	for (intptr_t i = 1; i <= 100; i++) {
		snprintf(text, sizeof(text), "%d", (int)i);
		strmap_put(&m, text, (void *)i, NULL);
	}
	while (strmap_next(&m, &pos, &key, &value)) {
		sum += (intptr_t)value;
		strmap_remove(&m, key);
	}
	assert_int_equal(sum, 5050);
	assert_int_equal(m.n, 0);
	strmap_release(&m, NULL);
}

static void a_map_gives_its_own_copy_of_a_key(void **state)
{
	struct strmap m = STRMAP_INIT;
	char key[] = "ns/name";
	int value = 1;
	(void)state;

	assert_null(strmap_key(&m, key));
	assert_int_equal(strmap_put(&m, key, &value, NULL), 0);
	const char *own = strmap_key(&m, key);
	key[0] = 'x';
	assert_string_equal(own, "ns/name");
	assert_null(strmap_key(&m, key));
	/* The value keeps its address while the map grows. */
	for (int i = 0; i < 1000; i++) {
		char other[32];

		snprintf(other, sizeof(other), "k%d", i);
		assert_int_equal(strmap_put(&m, other, &value, NULL), 0);
	}
	assert_ptr_equal(strmap_key(&m, "ns/name"), own);
	strmap_release(&m, NULL);
}

/* FNV-1a keeps the bit in which these two differ out of the bits that choose a bucket. */
static void names_that_differ_in_one_letter_do_not_share_a_bucket_by_design(void **state)
{
	int shared = 0;
	(void)state;

	for (int i = 0; i < 256; i++) {
		char one[32], other[32];

		snprintf(one, sizeof(one), "team-%d-p", i);
		snprintf(other, sizeof(other), "team-%d-0", i);
		shared += strmap_hash(one) % 64 == strmap_hash(other) % 64;
	}
	assert_in_range(shared, 0, 64);
}

static void a_value_is_made_once_and_starts_as_zeros(void **state)
{
	struct strmap m = STRMAP_INIT;
	(void)state;

	int *made = strmap_get_or_add(&m, "a", sizeof(*made));
	assert_int_equal((*made)++, 0);
	assert_ptr_equal(strmap_get_or_add(&m, "a", sizeof(*made)), made);
	assert_int_equal(*(int *)strmap_get(&m, "a"), 1);
	assert_int_equal(*(int *)strmap_get_or_add(&m, "b", sizeof(*made)), 0);
	assert_int_equal(m.n, 2);
	strmap_release(&m, free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_map_gives_its_own_copy_of_a_key),
		cmocka_unit_test(names_that_differ_in_one_letter_do_not_share_a_bucket_by_design),
		cmocka_unit_test(ten_thousand_keys_are_found_and_removed),
		cmocka_unit_test(putting_twice_gives_the_old_value_back),
		cmocka_unit_test(a_walk_sees_every_key_once_and_may_remove_the_given_one),
		cmocka_unit_test(a_value_is_made_once_and_starts_as_zeros),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
