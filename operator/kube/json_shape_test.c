/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of measuring JSON: the depth and width of text with quotes, escapes and brackets in
 * unexpected places.
 */
#include "operator/kube/json_shape.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"

static void depth_and_values_are_those_of_the_text(void **state)
{
	static const struct {
		const char *text;
		size_t depth, values;
	} rows[] = {
		{ "1", 0, 1 },
		{ "[]", 1, 2 },
		{ "{\"a\":[1,{}]}", 3, 5 },
		{ "{\"[[[\":\"]{{,,\\\"[\\\\\"}", 1, 2 },
		{ "]]]}}}[", 1, 2 },
		{ "{\"a\":\"unended [[[", 1, 2 },
		{ "{\"a\\", 1, 2 },
		{ "", 0, 1 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct json_shape shape;

		json_shape(rows[i].text, strlen(rows[i].text), &shape);
		if (shape.depth != rows[i].depth || shape.values != rows[i].values)
			fail_msg("%s: depth %zu, %zu values", rows[i].text, shape.depth,
				 shape.values);
	}
}

static void nest(struct strbuf *text, const char *before, size_t levels, const char *open)
{
	strbuf_reset(text);
	strbuf_adds(text, before);
	for (size_t i = 0; i < levels; i++)
		strbuf_adds(text, open);
}

static void any_depth_is_measured(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT((size_t)8 << 20);
	struct json_shape shape;
	(void)state;

	nest(&text, "{\"a\":{\"b\":1},\"spec\":{\"groups\":[{},{\"x\":[1]},{\"template\":", 1200,
	     "{\"k\":");
	json_shape(strbuf_str(&text), text.len, &shape);
	assert_int_equal(shape.depth, 1204);
	nest(&text, "", 1000000, "[");
	json_shape(strbuf_str(&text), text.len, &shape);
	assert_int_equal(shape.depth, 1000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(depth_and_values_are_those_of_the_text),
		cmocka_unit_test(any_depth_is_measured),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
