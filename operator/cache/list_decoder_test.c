/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the list decoder: lists cut anywhere, hostile lists, ceilings. */
#include "operator/cache/list_decoder.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "operator/kube/salvage.h"

static int print_item(void *arg, cJSON *item)
{
	_cleanup_json_ cJSON *owned = item;
	_cleanup_free_ char *text = cJSON_PrintUnformatted(owned);

	strbuf_addf(arg, "%s;", text);
	return 0;
}

static int decode(const char *text, size_t len, size_t piece, struct strbuf *out, char rv[32])
{
	struct list_decoder d;
	int r = 0;

	list_decoder_init(&d);
	for (size_t at = 0; at < len && r == 0; at += piece)
		r = list_decoder_feed(&d, text + at, MIN(piece, len - at), print_item, out, NULL);
	if (r == 0)
		r = list_decoder_finish(&d, NULL);
	snprintf(rv, 32, "%s",
		 json_str(d.metadata, "resourceVersion") ? json_str(d.metadata, "resourceVersion") :
							   "");
	list_decoder_release(&d);
	return r;
}

static void items_come_whole_however_the_bytes_are_cut(void **state)
{
	static const char text[] =
		"{\"kind\":\"PodList\",\"apiVersion\":\"v1\",\r\n \"metadata\" : {\"resourceVersion\":\"12\",\"continue\":\"\"},"
		"\"other\":[\"]\",{\"a\":\"}\"}],\"n\":-1.5e3,\"t\":true , \"items\":[{\"a\":\"x\\\"]},{\\\\\"}, {\"b\":[{},[]]}\n]}\n";
	(void)state;

	for (size_t piece = 1; piece <= sizeof(text); piece++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
		char rv[32];
		assert_int_equal(decode(text, sizeof(text) - 1, piece, &out, rv), 0);
		assert_string_equal(strbuf_str(&out), "{\"a\":\"x\\\"]},{\\\\\"};{\"b\":[{},[]]};");
		assert_string_equal(rv, "12");
	}
}

static void what_is_no_list_fails_and_what_is_one_does_not(void **state)
{
	static const struct {
		const char *text, *items;
		int result;
	} rows[] = {
		{ "{\"items\":null}", "", 0 },
		{ "{\"items\":[]}", "", 0 },
		{ "{\"items\":[],\"metadata\":null}", "", 0 },
		{ "", "", -EPROTO },
		{ "[]", "", -EPROTO },
		{ "{}", "", -EPROTO },
		{ "{\"items\":{}}", "", -EPROTO },
		{ "{\"items\":\"[]\"}", "", -EPROTO },
		{ "{\"items\":[1]}", "", -EPROTO },
		{ "{\"items\":[null]}", "", -EPROTO },
		{ "{\"items\":[{}", "{};", -EPROTO },
		{ "{\"items\":[{}}", "{};", -EPROTO },
		{ "{\"items\":[{]]}", "", -EPROTO },
		{ "{\"items\":[{}],\"items\":[{}]}", "{};", -EPROTO },
		{ "{\"items\":[{}]} x", "{};", -EPROTO },
		{ "{\"items\":[{}]}{}", "{};", -EPROTO },
		{ "{\"metadata\":,\"items\":[]}", "", -EPROTO },
		{ "{\"metadata\":{bad},\"items\":[]}", "", -EPROTO },
		{ "<html>", "", -EPROTO },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
		char rv[32];
		int r = decode(rows[i].text, strlen(rows[i].text), 3, &out, rv);
		if (r != rows[i].result || strcmp(strbuf_str(&out), rows[i].items) != 0)
			fail_msg("%s: %d, %s", rows[i].text, r, strbuf_str(&out));
	}
}

static void a_nul_byte_and_nesting_without_end_are_refused(void **state)
{
	static const char nul[] = "{\"items\":[{\"a\":\"b\0\"}]}",
			  nul_in_name[] = "{\"it\0ems\":[]}";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096), deep = STRBUF_INIT((size_t)1 << 20);
	char rv[32];
	(void)state;

	assert_int_equal(decode(nul, sizeof(nul) - 1, 100, &out, rv), -EPROTO);
	assert_int_equal(decode(nul_in_name, sizeof(nul_in_name) - 1, 100, &out, rv), -EPROTO);
	strbuf_adds(&deep, "{\"items\":[");
	for (int i = 0; i < 100000; i++)
		strbuf_adds(&deep, "{\"a\":");
	assert_int_equal(decode(strbuf_str(&deep), deep.len, 4096, &out, rv), -EPROTO);
	strbuf_reset(&deep);
	strbuf_adds(&deep, "{\"skipped\":");
	for (int i = 0; i < 100000; i++)
		strbuf_adds(&deep, "[");
	assert_int_equal(decode(strbuf_str(&deep), deep.len, 4096, &out, rv), -EPROTO);
}

static int print_name(void *arg, cJSON *item)
{
	_cleanup_json_ cJSON *owned = item;

	strbuf_addf(arg, "%s%s;", json_str(owned, "metadata.name"),
		    salvage_reason(owned) ? " is a remnant" : "");
	return 0;
}

static void an_item_that_is_too_deep_does_not_keep_anybody_from_the_others(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096), text = STRBUF_INIT((size_t)1 << 20);
	struct list_decoder d;
	struct err err = { 0 };
	(void)state;

	strbuf_adds(&text, "{\"items\":[{\"metadata\":{\"name\":\"a\"}},{\"spec\":");
	for (int i = 0; i < 1200; i++)
		strbuf_adds(&text, "{\"a\":");
	strbuf_addc(&text, '1');
	for (int i = 0; i < 1200; i++)
		strbuf_addc(&text, '}');
	strbuf_adds(&text, ",\"metadata\":{\"name\":\"deep\"}},{\"metadata\":{\"name\":\"b\"}}]}");
	list_decoder_init(&d);
	for (size_t at = 0; at < text.len; at += 100)
		assert_int_equal(list_decoder_feed(&d, strbuf_str(&text) + at,
						   MIN(100, text.len - at), print_name, &out, &err),
				 0);
	assert_int_equal(list_decoder_finish(&d, &err), 0);
	assert_string_equal(strbuf_str(&out), "a;deep is a remnant;b;");
	list_decoder_release(&d);
}

static void an_item_of_15_mib_is_read_one_of_17_is_not_and_neither_leaves_a_large_buffer(void **state)
{
	static const struct {
		size_t mib;
		int result;
	} rows[] = { { 15, 0 }, { 17, -EFBIG } };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct list_decoder d;
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT((size_t)32 << 20);
		_cleanup_free_ char *mib = malloc((size_t)1 << 20);
		memset(mib, 'x', (size_t)1 << 20);
		list_decoder_init(&d);
		int r = list_decoder_feed(&d, "{\"items\":[{\"a\":\"", 16, print_item, &out, NULL);
		for (size_t n = 0; n < rows[i].mib && r == 0; n++)
			r = list_decoder_feed(&d, mib, (size_t)1 << 20, print_item, &out, NULL);
		if (r == 0)
			r = list_decoder_feed(&d, "\"},{}]}", 7, print_item, &out, NULL);
		assert_int_equal(r, rows[i].result);
		if (r == 0) {
			assert_int_equal(list_decoder_finish(&d, NULL), 0);
			assert_true(d.text.cap <= (size_t)256 << 10);
		}
		/* The error is permanent. */
		assert_int_equal(list_decoder_feed(&d, "x", 1, print_item, &out, NULL),
				 r ? r : -EPROTO);
		list_decoder_release(&d);
	}
}

static int refuse(void *arg, cJSON *item)
{
	(void)arg;
	cJSON_Delete(item);
	return -ENOMEM;
}

static void who_refuses_an_item_ends_it(void **state)
{
	struct list_decoder d;
	(void)state;

	list_decoder_init(&d);
	assert_int_equal(list_decoder_feed(&d, "{\"items\":[{},{}]}", 17, refuse, NULL, NULL),
			 -ENOMEM);
	assert_int_equal(list_decoder_finish(&d, NULL), -ENOMEM);
	list_decoder_release(&d);
}

static void of_items_only_the_fields_are_read(void **state)
{
	static const char *const fields[] = { "metadata.name", NULL };
	static const char text[] =
		"{\"metadata\":{\"resourceVersion\":\"12\"},\"items\":[{\"metadata\":{\"name\":\"a\",\"uid\":1},"
		"\"spec\":{}},{\"status\":[1]}]}";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	struct list_decoder d;
	(void)state;

	list_decoder_init(&d);
	d.fields = fields;
	assert_int_equal(list_decoder_feed(&d, text, sizeof(text) - 1, print_item, &out, NULL), 0);
	assert_string_equal(strbuf_str(&out), "{\"metadata\":{\"name\":\"a\"}};{};");
	assert_string_equal(json_str(d.metadata, "resourceVersion"), "12");
	list_decoder_release(&d);
	assert_ptr_equal(d.fields, fields);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_come_whole_however_the_bytes_are_cut),
		cmocka_unit_test(what_is_no_list_fails_and_what_is_one_does_not),
		cmocka_unit_test(a_nul_byte_and_nesting_without_end_are_refused),
		cmocka_unit_test(an_item_that_is_too_deep_does_not_keep_anybody_from_the_others),
		cmocka_unit_test(an_item_of_15_mib_is_read_one_of_17_is_not_and_neither_leaves_a_large_buffer),
		cmocka_unit_test(who_refuses_an_item_ends_it),
		cmocka_unit_test(of_items_only_the_fields_are_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
