/* SPDX-License-Identifier: Apache-2.0 */
/* Whether memory is all zeros. */
#include "lib/zeros.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void one_byte_makes_the_difference_wherever_it_is(void **state)
{
	static char data[300];

	(void)state;
	for (size_t from = 0; from < 9; from++)
		for (size_t len = 0; from + len <= sizeof(data); len += len < 130 ? 1 : 7) {
			assert_true(is_zero(data + from, len));
			for (size_t at = 0; at < len; at++) {
				data[from + at] = 1;
				assert_false(is_zero(data + from, len));
				data[from + at] = 0;
			}
		}
}

static void bytes_beside_it_do_not_count(void **state)
{
	char data[66] = { 1 };

	(void)state;
	data[65] = 1;
	assert_true(is_zero(data + 1, 64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_byte_makes_the_difference_wherever_it_is),
		cmocka_unit_test(bytes_beside_it_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
