/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of measuring how fast spilled objects grow, and when their disk will be full. */
#include "sidecar/ray/spill.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

#define GIB (INT64_C(1) << 30)
#define MIB (INT64_C(1) << 20)

/* The format of raylet 2.60. */
static const char state[] =
	"LocalObjectManager:\n- num pinned objects: 3\n- pinned objects size: 314572800\n- num objects pending restore: 0\n"
	"- num objects pending spill: 0\n- num bytes pending spill: 0\n- num bytes currently spilled: 1153433600\n"
	"- cumulative spill requests: 11\n";

static struct spill s;
static struct spill_forecast f;

static int setup(void **unused)
{
	(void)unused;
	s = (struct spill){ .warned = 0 };
	return 0;
}

/* Adds so many readings, 10 s apart, which begin with from_mib MiB and grow by mib_per_s. */
static int64_t grows(int64_t at_s, size_t readings, int64_t from_mib, int64_t mib_per_s)
{
	for (size_t i = 0; i < readings; i++, at_s += 10)
		spill_add(&s, at_s * NS_PER_SEC, (from_mib + (int64_t)i * 10 * mib_per_s) * MIB, 0);
	return at_s;
}

static void raylets_figure_is_found(void **unused)
{
	static const char *const none[] = {
		"", "num bytes currently spilled: ", "num bytes currently spilled: x\n", "num bytes currently spilled: -1\n",
		"num bytes currently spilled: 99999999999999999999\n", "num bytes pending spill: 7\n", "num bytes currently spilled: 12",
	};
	int64_t bytes = 0;
	(void)unused;

	assert_true(spill_state_parse(state, strlen(state), &bytes));
	assert_int_equal(bytes, 1153433600);
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (spill_state_parse(none[i], strlen(none[i]), &bytes))
			fail_msg("%s", none[i]);
}

static void the_filesystem_is_full_when_the_kubelet_evicts(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB, .available = 40 * GIB };
	(void)unused;

	grows(0, 7, 1024, 100);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.bytes, (1024 + 6000) * MIB);
	assert_int_equal(f.rate, 100 * MIB);
	assert_int_equal(f.bound, SPILL_FILESYSTEM);
	assert_int_equal(f.room, 30 * GIB);
	assert_in_range(f.left_ns / NS_PER_SEC, 306, 308);
}

static void the_limit_counts_when_it_is_met_first(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB,
					 .available = 40 * GIB,
					 .limit = 10 * GIB };
	char text[200];
	(void)unused;

	grows(0, 7, 1024, 100);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.bound, SPILL_LIMIT);
	assert_int_equal(f.room, 10 * GIB - 7024 * MIB);
	assert_in_range(f.left_ns / NS_PER_SEC, 31, 33);
	assert_string_equal(
		spill_describe(&f, &disk, "/tmp/ray/s", text, sizeof(text)),
		"6.9 GiB of objects are spilled to /tmp/ray/s, 40.0 GiB of 100.0 GiB available there, ephemeral-storage "
		"limit 10.0 GiB; at +100.0 MiB/s the limit is met in 32.2 s");
}

/* What a worker prints goes to a file that nobody cuts, beside the objects. */
static void logs_fill_the_disk_as_well(void **unused)
{
	const struct spill_disk disk = {
		.total = 100 * GIB, .available = 40 * GIB, .limit = 10 * GIB, .logs = 6000 * MIB
	};
	char text[240];
	(void)unused;

	for (int64_t i = 0; i < 7; i++)
		spill_add(&s, i * 10 * NS_PER_SEC, GIB, i * 1000 * MIB);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.bytes, GIB);
	assert_int_equal(f.room, 10 * GIB - 7024 * MIB);
	assert_in_range(f.left_ns / NS_PER_SEC, 31, 33);
	assert_string_equal(
		spill_describe(&f, &disk, "/tmp/ray/s", text, sizeof(text)),
		"1.0 GiB of objects are spilled to /tmp/ray/s and Ray's logs take up 5.9 GiB, 40.0 GiB of 100.0 GiB available there, "
		"ephemeral-storage limit 10.0 GiB; at +100.0 MiB/s the limit is met in 32.2 s");
	f.bytes = 0;
	assert_string_equal(
		spill_describe(&f, &disk, "/tmp/ray/s", text, sizeof(text)),
		"on the disk of /tmp/ray/s Ray's logs take up 5.9 GiB, 40.0 GiB of 100.0 GiB available there, "
		"ephemeral-storage limit 10.0 GiB; at +100.0 MiB/s the limit is met in 32.2 s");
}

static void the_time_before_the_first_spilling_counts_for_the_logs_alone(void **unused)
{
	const struct spill_disk disk = { .total = 1000 * GIB, .available = 200 * GIB, .logs = GIB };
	(void)unused;

	for (int64_t i = 0; i < 18; i++)
		spill_add(&s, i * 10 * NS_PER_SEC, 0, GIB);
	for (int64_t i = 1; i <= 4; i++)
		spill_add(&s, (170 + 10 * i) * NS_PER_SEC, i * 10 * GIB, GIB);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.rate, GIB);
	assert_int_equal(f.left_ns, 100 * NS_PER_SEC);
}

static void nothing_is_foreseen_of_what_does_not_grow(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB, .available = 40 * GIB },
				unknown = { .total = 0 };
	(void)unused;

	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.bytes, -1);
	assert_int_equal(f.left_ns, -1);
	grows(0, 30, 20480, 0);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.left_ns, -1);
	assert_false(spill_warns(&s, &f));
	/* A burst is followed by no growth for the whole window. */
	setup(NULL);
	grows(0, 2, 0, 1000);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.left_ns, -1);
	grows(20, SPILL_POINTS_MAX, 10000, 0);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.rate, 0);
	/* The disk is not known. */
	grows(1000, 10, 10000, 100);
	spill_forecast(&s, &unknown, &f);
	assert_true(f.rate > 0);
	assert_int_equal(f.left_ns, -1);
}

static void a_disk_that_is_full_already_is_reported_as_full(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB, .available = 9 * GIB };
	(void)unused;

	grows(0, 7, 1024, 100);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.left_ns, 0);
	assert_true(spill_warns(&s, &f));
}

static void growth_is_counted_anew_after_a_job_has_freed_its_objects(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB, .available = 40 * GIB };
	int64_t at;
	(void)unused;

	at = grows(0, 10, 0, 100);
	at = grows(at, 3, 100, 0);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.rate, 0);
	grows(at, 6, 200, 50);
	spill_forecast(&s, &disk, &f);
	assert_in_range(f.rate, 30 * MIB, 50 * MIB);
}

static void the_time_before_the_first_object_is_not_counted(void **unused)
{
	const struct spill_disk disk = { .total = 100 * GIB, .available = 40 * GIB };
	int64_t at;
	(void)unused;

	at = grows(0, 15, 0, 0);
	grows(at, 7, 0, 100);
	spill_forecast(&s, &disk, &f);
	assert_int_equal(f.rate, 100 * MIB);
}

static void it_is_warned_of_twice_and_anew_later(void **unused)
{
	static const struct {
		int left_s;
		bool warns;
	} steps[] = { { 3000, false }, { 1000, false }, { 899, true },	 { 880, false },
		      { 1000, false }, { 850, false },	{ 299, true },	 { 100, false },
		      { 0, false },    { 600, false },	{ 1900, false }, { 890, true },
		      { -1, false },   { 200, true } };
	(void)unused;

	for (size_t i = 0; i < ARRAY_SIZE(steps); i++) {
		f = (struct spill_forecast){ .left_ns = steps[i].left_s < 0 ?
								-1 :
								steps[i].left_s * NS_PER_SEC };
		if (spill_warns(&s, &f) != steps[i].warns)
			fail_msg("step %zu: %d s", i, steps[i].left_s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(raylets_figure_is_found, setup),
		cmocka_unit_test_setup(the_filesystem_is_full_when_the_kubelet_evicts, setup),
		cmocka_unit_test_setup(the_limit_counts_when_it_is_met_first, setup),
		cmocka_unit_test_setup(logs_fill_the_disk_as_well, setup),
		cmocka_unit_test_setup(the_time_before_the_first_spilling_counts_for_the_logs_alone, setup),
		cmocka_unit_test_setup(nothing_is_foreseen_of_what_does_not_grow, setup),
		cmocka_unit_test_setup(a_disk_that_is_full_already_is_reported_as_full, setup),
		cmocka_unit_test_setup(growth_is_counted_anew_after_a_job_has_freed_its_objects, setup),
		cmocka_unit_test_setup(the_time_before_the_first_object_is_not_counted, setup),
		cmocka_unit_test_setup(it_is_warned_of_twice_and_anew_later, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
