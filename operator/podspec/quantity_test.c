/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of numbers as Kubernetes quantities. */
#include "operator/podspec/quantity.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "lib/macros.h"

static void bytes_are_written_as_people_write_them(void **state)
{
	static const struct {
		int64_t bytes;
		const char *text;
	} rows[] = {
		{ 0, "0" }, { 1, "1" }, { 1000000001, "1000000001" }, { 1024, "1Ki" }, { 4LL << 30, "4Gi" },
		{ 1500LL << 20, "1500Mi" }, { 120000000000, "120G" }, { 5000000, "5M" }, { 1LL << 50, "1Pi" }, { 1LL << 60, "1024Pi" },
		{ INT64_MAX, "9223372036854775807" }, { -1024, "-1Ki" },
	};
	char buf[QUANTITY_TEXT_MAX];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_string_equal(quantity_format_bytes(rows[i].bytes, buf), rows[i].text);
}

static void thousandths_are_whole_where_they_can_be(void **state)
{
	char buf[QUANTITY_TEXT_MAX];
	(void)state;

	assert_string_equal(quantity_format_milli(2000, buf), "2");
	assert_string_equal(quantity_format_milli(2500, buf), "2500m");
	assert_string_equal(quantity_format_milli(0, buf), "0");
	assert_string_equal(quantity_format_milli(-1, buf), "-1m");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bytes_are_written_as_people_write_them),
		cmocka_unit_test(thousandths_are_whole_where_they_can_be),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
