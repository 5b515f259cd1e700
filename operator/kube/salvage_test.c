/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading objects that are too deep or too wide: what is kept of them, and the reason that
 * is given.
 */
#include "operator/kube/salvage.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "operator/kube/json_shape.h"

#define TEXT_MAX ((size_t)16 << 20)

static void add_nest(struct strbuf *text, size_t levels)
{
	for (size_t i = 0; i < levels; i++)
		strbuf_adds(text, "{\"a\":");
	strbuf_adds(text, "1");
	for (size_t i = 0; i < levels; i++)
		strbuf_addc(text, '}');
}

static void add_values(struct strbuf *text, size_t n)
{
	strbuf_adds(text, "[0");
	for (size_t i = 1; i < n; i++)
		strbuf_adds(text, ",0");
	strbuf_addc(text, ']');
}

static cJSON *read_text(const struct strbuf *text)
{
	struct err err = { 0 };
	cJSON *object = NULL;

	if (salvage_text(strbuf_str(text), text->len, NULL, &object, &err) < 0)
		fail_msg("%s", err_text(&err));
	return object;
}

static void what_is_in_order_is_read_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	(void)state;

	strbuf_adds(&text, "{\"metadata\":{\"name\":\"a\"},\"spec\":");
	add_nest(&text, 900);
	strbuf_addc(&text, '}');
	_cleanup_json_ cJSON *object = read_text(&text);
	assert_null(salvage_reason(object));
	assert_non_null(json_get(object, "spec.a.a.a"));
}

static void of_a_deep_object_identity_labels_and_status_are_left(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	(void)state;

	strbuf_adds(&text,
		    "{\"kind\":\"RayCluster\",\"metadata\":{\"managedFields\":[{\"fieldsV1\":");
	add_nest(&text, 1200);
	strbuf_adds(
		&text,
		"}],\"name\":\"deep\",\"namespace\":\"ns\",\"uid\":\"u\",\"resourceVersion\":\"7\",\"labels\":{\"a\":\"b\"}},\"spec\":");
	add_nest(&text, 1200);
	strbuf_adds(&text, ",\"status\":{\"state\":\"ready\"}}");
	_cleanup_json_ cJSON *object = read_text(&text);
	assert_string_equal(salvage_reason(object), "spec is nested more than 1000 levels deep");
	assert_string_equal(json_str(object, "metadata.name"), "deep");
	assert_string_equal(json_str(object, "metadata.resourceVersion"), "7");
	assert_string_equal(json_str(object, "metadata.labels.a"), "b");
	assert_string_equal(json_str(object, "status.state"), "ready");
	assert_true(salvage_has_status(object));
	assert_null(json_get(object, "spec"));
	assert_null(json_get(object, "metadata.managedFields"));
}

static void a_status_that_cannot_be_read_is_none_and_one_that_is_not_there_is_empty(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	(void)state;

	strbuf_adds(&text, "{\"metadata\":{\"name\":\"a\"},\"status\":");
	add_nest(&text, 1200);
	strbuf_addc(&text, '}');
	cJSON *object = read_text(&text);
	assert_false(salvage_has_status(object));
	cJSON_Delete(object);
	strbuf_reset(&text);
	strbuf_adds(&text, "{\"metadata\":{\"name\":\"a\"},\"spec\":");
	add_nest(&text, 1200);
	strbuf_addc(&text, '}');
	object = read_text(&text);
	assert_true(salvage_has_status(object));
	assert_null(json_get(object, "status")->child);
	cJSON_Delete(object);
}

static void width_is_bounded_wherever_it_is(void **state)
{
	static const struct {
		const char *before, *after;
		bool has_status;
	} rows[] = {
		{ "{\"metadata\":{\"name\":\"a\"},\"spec\":", "}", true },
		{ "{\"metadata\":{\"name\":\"a\",\"finalizers\":", "}}", true },
		{ "{\"metadata\":{\"name\":\"a\"},\"status\":", "}", false },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);

		strbuf_adds(&text, rows[i].before);
		add_values(&text, JSON_VALUES_MAX);
		strbuf_adds(&text, rows[i].after);
		_cleanup_json_ cJSON *object = read_text(&text);
		assert_non_null(salvage_reason(object));
		assert_non_null(strstr(salvage_reason(object), "more than 100000 values"));
		assert_string_equal(json_str(object, "metadata.name"), "a");
		assert_int_equal(salvage_has_status(object), rows[i].has_status);
		assert_null(json_get(object, "metadata.finalizers"));
	}
}

static void what_is_not_read_may_be_as_deep_and_wide_as_it_likes(void **state)
{
	static const char *const fields[] = { "metadata.name", NULL };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(TEXT_MAX);
	cJSON *object = NULL;
	(void)state;

	strbuf_adds(&text, "{\"spec\":[");
	add_nest(&text, 20000);
	strbuf_addc(&text, ',');
	add_values(&text, JSON_VALUES_MAX);
	strbuf_adds(&text, "],\"metadata\":{\"name\":\"a\"}}");
	assert_int_equal(salvage_text(strbuf_str(&text), text.len, fields, &object, NULL), 0);
	assert_null(salvage_reason(object));
	assert_string_equal(json_str(object, "metadata.name"), "a");
	cJSON_Delete(object);
}

static void what_has_no_name_is_an_error(void **state)
{
	static const char *const rows[] = {
		"",
		"x",
		"{",
		"[]x",
		"{\"metadata\":{\"name\":7},\"spec\":x}",
		"{\"metadata\":{\"name\":\"\"},\"spec\":x}",
		"{\"metadata\":{\"name\":\"a\"},\"spec\":{",
		"{\"metadata\":5,\"x\":tru}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };
		cJSON *object = NULL;

		assert_int_equal(salvage_text(rows[i], strlen(rows[i]), NULL, &object, &err),
				 -EPROTO);
		assert_null(object);
		assert_int_equal(err.code, EPROTO);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_in_order_is_read_whole),
		cmocka_unit_test(of_a_deep_object_identity_labels_and_status_are_left),
		cmocka_unit_test(
			a_status_that_cannot_be_read_is_none_and_one_that_is_not_there_is_empty),
		cmocka_unit_test(width_is_bounded_wherever_it_is),
		cmocka_unit_test(what_is_not_read_may_be_as_deep_and_wide_as_it_likes),
		cmocka_unit_test(what_has_no_name_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
