/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the paths that are allowed for cores. */
#include "sidecar/ship/cores_prefix.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void a_prefix_for_cores_is_a_path_that_no_namespace_has(void **state)
{
	static const char *const right[] = { "_", "_cores", "_cores/of~ray", "_Cores-1.2/x_y" };
	static const char *const wrong[] = {
		"", "cores", "/_cores", "_cores/", "_cores//x", "_cores/.x", "_cores/..", "_cores/../x", "_a b", "_a%2f", "_a\nb", "_$(HOME)", "_\xc3\xa4",
	};
	char longest[CORES_PREFIX_MAX + 2] = "";
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(right); i++)
		assert_int_equal(cores_prefix_check(right[i], NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct err err = { 0 };

		assert_int_equal(cores_prefix_check(wrong[i], &err), -EINVAL);
		assert_non_null(strstr(err_text(&err), "cores go to a path such as _cores"));
	}
	memset(longest, '_', CORES_PREFIX_MAX);
	assert_int_equal(cores_prefix_check(longest, NULL), 0);
	longest[CORES_PREFIX_MAX] = '_';
	assert_int_equal(cores_prefix_check(longest, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		a_prefix_for_cores_is_a_path_that_no_namespace_has) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
