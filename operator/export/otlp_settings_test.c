/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the options for the export. */
#include "operator/export/otlp_settings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void an_endpoint_is_a_url_without_credentials_query_and_blanks(void **state)
{
	static const struct {
		const char *url;
		int r;
	} rows[] = {
		{ "http://collector.monitoring:4318", 0 },
		{ "https://otlp.example/otlp/", 0 },
		{ "http://[fd00::1]:4318", 0 },
		{ "collector:4318", -EINVAL },
		{ "grpc://collector:4317", -EINVAL },
		{ "http://", -EINVAL },
		{ "http:///v1", -EINVAL },
		{ "http://user:secret@collector", -EINVAL },
		{ "http://collector/?token=secret", -EINVAL },
		{ "http://collector/#a", -EINVAL },
		{ "http://collector/a b", -EINVAL },
		{ "http://collector/\r\nX: y", -EINVAL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct otlp_settings settings = { 0 };
		struct err err = { 0 };

		if (otlp_settings_set_endpoint(&settings, rows[i].url, &err) != rows[i].r)
			fail_msg("%s", rows[i].url);
		assert_true((settings.endpoint != NULL) == (rows[i].r == 0));
		assert_null(strstr(err_text(&err), "secret"));
	}
}

static void an_empty_endpoint_switches_the_export_off(void **state)
{
	struct otlp_settings settings = { 0 };
	(void)state;

	assert_int_equal(otlp_settings_set_endpoint(&settings, "http://a", NULL), 0);
	assert_int_equal(otlp_settings_set_endpoint(&settings, "", NULL), 0);
	assert_null(settings.endpoint);
}

static void of_an_attribute_that_comes_twice_the_last_value_counts(void **state)
{
	struct otlp_settings settings = { 0 };
	(void)state;

	assert_int_equal(otlp_settings_add_attribute(&settings, "a=1", NULL), 0);
	assert_int_equal(otlp_settings_add_attribute(&settings, "ab=2", NULL), 0);
	assert_int_equal(otlp_settings_add_attribute(&settings, "a=x=y", NULL), 0);
	assert_int_equal(settings.n_attributes, 2);
	assert_string_equal(settings.attributes[0], "a=x=y");
	assert_true(otlp_settings_has(&settings, "ab"));
	assert_false(otlp_settings_has(&settings, "b"));
}

static void attributes_are_bounded(void **state)
{
	static char many[OTLP_ATTRIBUTES_MAX + 1][16], large[OTLP_ATTRIBUTE_MAX + 2] = "a=";
	struct otlp_settings settings = { 0 };
	(void)state;

	memset(large + 2, 'x', sizeof(large) - 3);
	assert_int_equal(otlp_settings_add_attribute(&settings, large, NULL), -EINVAL);
	assert_int_equal(otlp_settings_add_attribute(&settings, "novalue", NULL), -EINVAL);
	assert_int_equal(otlp_settings_add_attribute(&settings, "=x", NULL), -EINVAL);
	for (size_t i = 0; i < OTLP_ATTRIBUTES_MAX + 1; i++) {
		snprintf(many[i], sizeof(many[i]), "a%zu=x", i);
		assert_int_equal(otlp_settings_add_attribute(&settings, many[i], NULL),
				 i < OTLP_ATTRIBUTES_MAX ? 0 : -ENOSPC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_endpoint_is_a_url_without_credentials_query_and_blanks),
		cmocka_unit_test(an_empty_endpoint_switches_the_export_off),
		cmocka_unit_test(of_an_attribute_that_comes_twice_the_last_value_counts),
		cmocka_unit_test(attributes_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
