/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which RayFailures are removed, in which order, and which are not written at all. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/policy/retention.h"

#define NOW (1795224546 * NS_PER_SEC)
#define HOUR (3600 * NS_PER_SEC)

static cJSON *failure(const char *namespace, const char *name, int hours_ago)
{
	cJSON *object = cJSON_CreateObject(), *metadata = json_object_at(object, "metadata");
	char text[TIME_TEXT_MAX];

	json_set_str(metadata, "namespace", namespace);
	json_set_str(metadata, "name", name);
	/* It was written late, which does not count. */
	json_set_str(metadata, "creationTimestamp", time_format(NOW, text));
	json_set_str(json_object_at(metadata, "annotations"), FAILURE_ENDED_ANNOTATION,
		     time_format(NOW - hours_ago * HOUR, text));
	return object;
}

static void add(struct kept_set *set, const char *namespace, const char *name, int hours_ago)
{
	_cleanup_json_ cJSON *object = failure(namespace, name, hours_ago);

	assert_int_equal(kept_set_add(set, object), 0);
}

static struct retention same_for_all(void *arg, const char *namespace)
{
	(void)namespace;
	return *(const struct retention *)arg;
}

/*
 * Returns "a b" with the reason: what is removed, in that order, if no deletion has been answered
 * yet.
 */
static const char *all_that_go(const struct retention *r, const struct kept_set *set, char *text,
			       size_t size)
{
	const char *reason;
	struct kept *k;

	text[0] = '\0';
	while ((k = retention_next(same_for_all, (void *)r, set, NOW, &reason))) {
		snprintf(text + strlen(text), size - strlen(text), "%s%s:%s", text[0] ? " " : "",
			 k->name, reason);
		k->leaving = true;
	}
	return text;
}

static void the_oldest_go_first_and_each_namespace_has_its_own_count(void **state)
{
	const struct retention r = { .max_count = 2 };
	struct kept_set set = { 0 };
	char text[256];
	(void)state;

	add(&set, "ml", "c", 3);
	add(&set, "ml", "a", 1);
	add(&set, "ml", "d", 4);
	add(&set, "ml", "b", 2);
	add(&set, "other", "z", 100);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "d:count c:count");
	kept_set_release(&set);
}

static struct retention by_name(void *arg, const char *namespace)
{
	const char *generous = arg;

	return strcmp(namespace, generous) == 0 ?
		       (struct retention){ 0 } :
		       (struct retention){ .max_age_ns = 24 * HOUR, .max_count = 1 };
}

static void each_namespace_has_limits_of_its_own(void **state)
{
	struct kept_set set = { 0 };
	const char *reason;
	struct kept *k;
	(void)state;

	add(&set, "archive", "a", 1000);
	add(&set, "archive", "b", 1);
	add(&set, "ml", "old", 25);
	add(&set, "ml", "c", 2);
	add(&set, "ml", "d", 1);
	k = retention_next(by_name, (void *)"archive", &set, NOW, &reason);
	assert_string_equal(k->name, "old");
	assert_string_equal(reason, "age");
	k->leaving = true;
	k = retention_next(by_name, (void *)"archive", &set, NOW, &reason);
	assert_string_equal(k->name, "c");
	assert_string_equal(reason, "count");
	k->leaving = true;
	assert_null(retention_next(by_name, (void *)"archive", &set, NOW, &reason));
	kept_set_release(&set);
}

static void of_one_moment_the_names_decide(void **state)
{
	const struct retention r = { .max_count = 1 };
	struct kept_set set = { 0 };
	char text[256];
	(void)state;

	add(&set, "ml", "b", 1);
	add(&set, "ml", "a", 1);
	add(&set, "ml", "c", 1);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "a:count b:count");
	kept_set_release(&set);
}

static void what_is_too_old_goes_however_few_there_are(void **state)
{
	const struct retention r = { .max_age_ns = 24 * HOUR, .max_count = 100 };
	struct kept_set set = { 0 };
	char text[256];
	(void)state;

	add(&set, "ml", "old", 25);
	add(&set, "ml", "young", 23);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "old:age");
	kept_set_release(&set);
}

static void a_namespace_where_deletions_are_refused_holds_up_no_other(void **state)
{
	const struct retention r = { .max_age_ns = 5 * HOUR, .max_count = 2 };
	struct kept_set set = { 0 };
	const char *reason;
	(void)state;

	add(&set, "refusing", "old", 9);
	add(&set, "refusing", "second", 3);
	add(&set, "refusing", "third", 2);
	add(&set, "refusing", "fourth", 1);
	kept_set_refused(&set, "refusing", NOW + HOUR);
	kept_set_refused(&set, "unknown", NOW + HOUR);
	assert_null(retention_next(same_for_all, (void *)&r, &set, NOW, &reason));
	add(&set, "other", "aged", 6);
	char text[256];
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "aged:age");
	kept_set_refused(&set, "refusing", NOW);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "old:age second:count");
	kept_set_release(&set);
}

static void without_limits_nothing_goes(void **state)
{
	const struct retention r = { 0 };
	struct kept_set set = { 0 };
	char text[256];
	(void)state;

	for (int i = 0; i < 100; i++) {
		snprintf(text, sizeof(text), "f%d", i);
		add(&set, "ml", text, 1000000 + i);
	}
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "");
	kept_set_release(&set);
}

static void what_was_removed_or_made_anew_counts_once(void **state)
{
	const struct retention r = { .max_count = 1 };
	_cleanup_json_ cJSON *gone = failure("ml", "a", 5),
			     *other = failure("ml", "never-there", 5);
	struct kept_set set = { 0 };
	char text[256];
	(void)state;

	add(&set, "ml", "a", 5);
	add(&set, "ml", "a", 5);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "");
	add(&set, "ml", "b", 1);
	kept_set_remove(&set, gone);
	kept_set_remove(&set, gone);
	kept_set_remove(&set, other);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "");
	kept_set_release(&set);
}

static void whichever_is_removed_the_others_of_its_namespace_are_still_known(void **state)
{
	static const char *const rest[] = { "c:count b:count", "d:count b:count",
					    "d:count c:count" };
	const struct retention r = { .max_count = 1 };
	(void)state;

	for (int i = 0; i < 3; i++) {
		struct kept_set set = { 0 };
		char text[256] = { (char)('d' - i) };
		_cleanup_json_ cJSON *gone = failure("ml", text, 1);

		add(&set, "ml", "d", 4);
		add(&set, "other", "z", 100);
		add(&set, "ml", "c", 3);
		add(&set, "ml", "b", 2);
		add(&set, "ml", "a", 1);
		kept_set_remove(&set, gone);
		assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), rest[i]);
		kept_set_release(&set);
	}
}

static void what_would_go_at_once_is_not_written(void **state)
{
	const struct retention r = { .max_age_ns = 24 * HOUR, .max_count = 2 };
	static const struct {
		const char *namespace;
		int hours_ago;
		bool wanted;
	} rows[] = { { "ml", 25, false },
		     { "ml", 6, false },
		     { "ml", 5, true },
		     { "ml", 1, true },
		     { "other", 20, true } };
	struct kept_set set = { 0 };
	(void)state;

	add(&set, "ml", "a", 5);
	add(&set, "ml", "b", 3);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ended_ns = NOW - rows[i].hours_ago * HOUR;

		if (retention_wants(&r, &set, rows[i].namespace, ended_ns, NOW) != rows[i].wanted)
			fail_msg("row %zu", i);
	}
	assert_true(retention_wants(&r, &set, "ml", INT64_MAX, NOW));
	kept_set_release(&set);
}

static void of_unknown_age_it_stays(void **state)
{
	const struct retention r = { .max_age_ns = HOUR };
	_cleanup_json_ cJSON *object = cJSON_CreateObject();
	struct kept_set set = { 0 };
	char text[64];
	(void)state;

	json_set_str(json_object_at(object, "metadata"), "namespace", "ml");
	json_set_str(json_get(object, "metadata"), "name", "x");
	assert_int_equal(kept_set_add(&set, object), 0);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "");
	/* An object without our annotation counts from its creation. */
	json_set_str(json_get(object, "metadata"), "creationTimestamp", "2020-01-01T00:00:00Z");
	assert_int_equal(kept_set_add(&set, object), 0);
	assert_string_equal(all_that_go(&r, &set, text, sizeof(text)), "x:age");
	kept_set_release(&set);
}

static void ages_are_read_and_nonsense_is_refused(void **state)
{
	static const struct {
		const char *text;
		int64_t seconds;
	} rows[] = { { "720h", 720 * 3600 },
		     { "30d", 30 * 86400 },
		     { "90m", 5400 },
		     { "45s", 45 },
		     { "0", 0 },
		     { "", 0 },
		     { "36500d", (int64_t)36500 * 86400 } };
	static const char *const wrong[] = { "h",     "1",    "1w",
					     "-1h",   "1.5h", "1h30m",
					     " 1h",   "0h",   "99999999999999999999d",
					     "36501d" };
	int64_t ns = -1;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(retention_parse_age(rows[i].text, &ns, NULL), 0);
		assert_int_equal(ns, rows[i].seconds * NS_PER_SEC);
	}
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = { 0 };

		if (retention_parse_age(wrong[i], &ns, &err) != -EINVAL ||
		    !strstr(err_text(&err), "720h"))
			fail_msg("\"%s\": %s", wrong[i], err_text(&err));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_oldest_go_first_and_each_namespace_has_its_own_count),
		cmocka_unit_test(each_namespace_has_limits_of_its_own),
		cmocka_unit_test(of_one_moment_the_names_decide),
		cmocka_unit_test(what_is_too_old_goes_however_few_there_are),
		cmocka_unit_test(a_namespace_where_deletions_are_refused_holds_up_no_other),
		cmocka_unit_test(without_limits_nothing_goes),
		cmocka_unit_test(what_was_removed_or_made_anew_counts_once),
		cmocka_unit_test(whichever_is_removed_the_others_of_its_namespace_are_still_known),
		cmocka_unit_test(what_would_go_at_once_is_not_written),
		cmocka_unit_test(of_unknown_age_it_stays),
		cmocka_unit_test(ages_are_read_and_nonsense_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
