/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of sizes, quantities and times. */
#include "lib/file_time.h"
#include "lib/units.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <inttypes.h>

static void quantities_are_read_as_kubernetes_reads_them(void **state)
{
	static const struct {
		const char *text;
		int64_t milli;
	} rows[] = {
		{ "0", 0 },
		{ "0.0", 0 },
		{ "0e60", 0 },
		{ "1", 1000 },
		{ "+1", 1000 },
		{ "00001", 1000 },
		{ "1.", 1000 },
		{ ".5", 500 },
		{ "500m", 500 },
		{ "0.1", 100 },
		{ "1500u", 2 },
		{ "1n", 1 },
		{ "0.0001n", 1 },
		{ "1000000n", 1 },
		{ "4Gi", INT64_C(4294967296000) },
		{ "1.5Gi", INT64_C(1610612736000) },
		{ "129M", INT64_C(129000000000) },
		{ "0.133G", INT64_C(133000000000) },
		{ "4e9", INT64_C(4000000000000) },
		{ "4E9", INT64_C(4000000000000) },
		{ "1e+3", 1000000 },
		{ "25e-1", 2500 },
		{ "1e-30", 1 },
		{ "1000000000000000000000000n", INT64_C(1000000000000000000) },
		{ "1.0000000000000000000000000000000001", 1001 },
		{ "9223372036854775.807", INT64_MAX },
		{ "7Pi", INT64_C(7881299347898368000) },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		int64_t milli = -1;

		if (quantity_parse_milli(rows[i].text, &milli, &err) < 0 || milli != rows[i].milli)
			fail_msg("%s: %" PRId64 ", %s", rows[i].text, milli, err_text(&err));
	}
}

static void every_thousandth_is_exact_in_every_notation(void **state)
{
	static const char *const forms[] = { "%d.%03d", "%d%03dm", "%d%03d000u", "%d%03d000000n",
					     "%d%03de-3" };

	(void)state;
	for (int n = 0; n < 20000; n++)
		for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
			char text[32];
			int64_t milli = -1;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
			snprintf(text, sizeof(text), forms[i], n / 1000, n % 1000);
#pragma GCC diagnostic pop
			if (quantity_parse_milli(text, &milli, NULL) < 0 || milli != n)
				fail_msg("%s: %" PRId64, text, milli);
		}
}

static void what_is_no_quantity_is_refused_and_leaves_the_result_alone(void **state)
{
	static const char *const rows[] = {
		"", " ", ".", "-1", "+-1", "++1", "1 ", " 1", "1..2", "1.2.3", "1,5", "0x10", "inf", "nan", "1K", "1kB", "1mi",
		"Gi", "e3", "1e", "1e+", "1e 3", "1e+ 3", "1ee3", "1e3m", "1e3.5", "1e99999999999999999999", "1Gi1", "1\n",
		"\xd9\xa1", "4GiB",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		int64_t value = 77;

		if (quantity_parse_milli(rows[i], &value, &err) != -EINVAL ||
		    quantity_parse(rows[i], &value, &err) != -EINVAL)
			fail_msg("\"%s\" was taken", rows[i]);
		assert_int_equal(value, 77);
		assert_int_equal(err.code, EINVAL);
	}
}

static void what_is_too_large_says_so(void **state)
{
	static const char *const rows[] = {
		"8Ei", "1E", "9223372036854775.808", "1e18", "1e60", "9e16",
		"99999999999999999999999999999999999999999999999999999999999999999999",
		"9999999999999999999999999999999999999999Ei",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = 77;

		if (quantity_parse_milli(rows[i], &value, NULL) != -ERANGE)
			fail_msg("\"%s\" was not out of range", rows[i]);
		assert_int_equal(value, 77);
	}
}

static void whole_units_are_rounded_up(void **state)
{
	static const struct {
		const char *text;
		int64_t value;
	} rows[] = { { "0", 0 },
		     { "1m", 1 },
		     { "999m", 1 },
		     { "1000m", 1 },
		     { "1001m", 2 },
		     { "0.133G", 133000000 },
		     { "512Mi", 536870912 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t value = -1;

		assert_int_equal(quantity_parse(rows[i].text, &value, NULL), 0);
		assert_int_equal(value, rows[i].value);
	}
}

static void sizes_are_printed_with_one_decimal_and_never_as_1024(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0 B" },
		{ 1023, "1023 B" },
		{ 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" },
		{ 1048524, "1023.9 KiB" },
		{ 1048575, "1.0 MiB" },
		{ 4294967296, "4.0 GiB" },
		{ UINT64_C(1) << 50, "1.0 PiB" },
		{ UINT64_MAX, "16.0 EiB" },
	};
	char buf[SIZE_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(size_format(rows[i].bytes, buf), rows[i].text);
}

static void durations_are_printed_in_their_two_largest_units(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ INT64_MIN, "0 ms" },
		{ -1, "0 ms" },
		{ 0, "0 ms" },
		{ 850 * NS_PER_MS, "850 ms" },
		{ 1500 * NS_PER_MS, "1.5 s" },
		{ 252 * NS_PER_SEC, "4 min 12 s" },
		{ 7380 * NS_PER_SEC, "2 h 3 min" },
		{ 90000 * NS_PER_SEC, "1 d 1 h" },
		{ INT64_MAX, "106751 d 23 h" },
	};
	char buf[DURATION_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(duration_format(rows[i].ns, buf), rows[i].text);
}

static void times_are_printed_in_utc_and_read_back(void **state)
{
	static const struct {
		int64_t ns;
		const char *text;
	} rows[] = {
		{ 0, "1970-01-01T00:00:00.000Z" },
		{ INT64_C(1795224546324000000), "2026-11-21T01:29:06.324Z" },
		{ INT64_C(951782400000000000), "2000-02-29T00:00:00.000Z" },
		{ INT64_C(9223372036854000000), "2262-04-11T23:47:16.854Z" },
	};
	char buf[TIME_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 77;

		assert_string_equal(time_format(rows[i].ns, buf), rows[i].text);
		assert_int_equal(time_parse(rows[i].text, &ns, NULL), 0);
		assert_int_equal(ns, rows[i].ns);
	}
	/* The ends of the range can be formatted, too. */
	time_format(INT64_MIN, buf);
	time_format(INT64_MAX, buf);
}

static void fractions_of_any_length_are_read(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} rows[] = {
		{ "1970-01-01T00:00:01Z", 1000000000 },
		{ "1970-01-01T00:00:01.5Z", 1500000000 },
		{ "1970-01-01T00:00:01.000000001Z", 1000000001 },
		{ "1970-01-01T00:00:01.000000001999999999999999999999Z", 1000000001 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 77;

		assert_int_equal(time_parse(rows[i].text, &ns, NULL), 0);
		assert_int_equal(ns, rows[i].ns);
	}
}

static void what_is_no_time_is_refused(void **state)
{
	static const struct {
		const char *text;
		int code;
	} rows[] = {
		{ "", -EINVAL },
		{ "Z", -EINVAL },
		{ "2026-11-21", -EINVAL },
		{ "2026-11-21T01:29:06", -EINVAL },
		{ "2026-11-21T01:29:06+01:00", -EINVAL },
		{ "2026-11-21T01:29:06.Zx", -EINVAL },
		{ "2026-13-21T01:29:06Z", -EINVAL },
		{ "2026-11-21T25:29:06Z", -EINVAL },
		{ "2026-11-21T01:29:06.3-4Z", -EINVAL },
		{ "9999-12-31T23:59:59Z", -ERANGE },
		{ "2262-04-11T23:47:17Z", -ERANGE },
		/* So the difference of any two times fits into 64 bits. */
		{ "1969-12-31T23:59:59Z", -ERANGE },
		{ "0001-01-01T00:00:00Z", -ERANGE },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t ns = 77;

		if (time_parse(rows[i].text, &ns, NULL) != rows[i].code || ns != 77)
			fail_msg("\"%s\"", rows[i].text);
	}
}

static void both_clocks_go_forward(void **state)
{
	int64_t real = now_realtime_ns(), boot = now_boottime_ns();

	(void)state;
	assert_true(boot > 0 && now_boottime_ns() >= boot);
	assert_true(real > INT64_C(1577836800) * NS_PER_SEC); /* later than 2020 */
}

/* tmpfs accepts such a time: touch -d @9223372036854775807 FILE. */
static void the_time_of_a_file_is_bounded(void **state)
{
	const int64_t now = now_realtime_ns();

	(void)state;
	assert_int_equal(file_time_ns((struct timespec){ 1795237200, 5 }),
			 INT64_C(1795237200000000005));
	assert_true(file_time_ns((struct timespec){ INT64_MAX, 999999999 }) - now > 0);
	assert_true(now - file_time_ns((struct timespec){ INT64_MIN, 0 }) > now);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantities_are_read_as_kubernetes_reads_them),
		cmocka_unit_test(every_thousandth_is_exact_in_every_notation),
		cmocka_unit_test(what_is_no_quantity_is_refused_and_leaves_the_result_alone),
		cmocka_unit_test(what_is_too_large_says_so),
		cmocka_unit_test(whole_units_are_rounded_up),
		cmocka_unit_test(sizes_are_printed_with_one_decimal_and_never_as_1024),
		cmocka_unit_test(durations_are_printed_in_their_two_largest_units),
		cmocka_unit_test(times_are_printed_in_utc_and_read_back),
		cmocka_unit_test(fractions_of_any_length_are_read),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(the_time_of_a_file_is_bounded),
		cmocka_unit_test(both_clocks_go_forward),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
