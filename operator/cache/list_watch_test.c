/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the requests for lists and watches, and of what a refusal means. */
#include "operator/cache/list_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "lib/json.h"

static void a_list_is_asked_for_in_pages(void **state)
{
	const struct list_watch lw = { .resource = resource_find("v1", "Pod"),
				       .namespace = "ml",
				       .label_selector = "a=b,c" };
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT(1024), next = STRBUF_INIT(1024),
				       whole = STRBUF_INIT(1024);
	(void)state;

	list_watch_list_path(&lw, "", false, &first);
	assert_string_equal(strbuf_str(&first),
			    "/api/v1/namespaces/ml/pods?limit=500&labelSelector=a%3Db%2Cc");
	list_watch_list_path(&lw, "x/y", false, &next);
	assert_string_equal(
		strbuf_str(&next),
		"/api/v1/namespaces/ml/pods?limit=500&labelSelector=a%3Db%2Cc&continue=x%2Fy");
	list_watch_list_path(&lw, "", true, &whole);
	assert_string_equal(strbuf_str(&whole),
			    "/api/v1/namespaces/ml/pods?limit=0&labelSelector=a%3Db%2Cc");
}

static void a_watch_goes_on_from_a_version_and_a_stream_begins_with_all(void **state)
{
	const struct list_watch lw = { .resource = resource_find("v1", "Namespace") };
	_cleanup_strbuf_ struct strbuf watch = STRBUF_INIT(1024), stream = STRBUF_INIT(1024);
	(void)state;

	list_watch_watch_path(&lw, "17", 300, &watch);
	assert_string_equal(
		strbuf_str(&watch),
		"/api/v1/namespaces?watch=1&allowWatchBookmarks=true&timeoutSeconds=300&resourceVersion=17");
	list_watch_watch_path(&lw, NULL, 300, &stream);
	assert_string_equal(
		strbuf_str(&stream),
		"/api/v1/namespaces?watch=1&allowWatchBookmarks=true&timeoutSeconds=300"
		"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=");
}

static void of_some_kinds_only_the_metadata_is_asked_for(void **state)
{
	const struct list_watch whole = { .metadata_only = false },
				metadata = { .metadata_only = true };
	(void)state;

	assert_null(list_watch_accept(&whole, true));
	assert_non_null(
		strstr(list_watch_accept(&metadata, true), "as=PartialObjectMetadataList;"));
	assert_non_null(strstr(list_watch_accept(&metadata, false), "as=PartialObjectMetadata;"));
}

static void all_that_ends_a_versions_life_is_410(void **state)
{
	static const struct {
		const char *status;
		int code;
	} rows[] = {
		{ "{\"code\":410,\"reason\":\"Expired\"}", 410 },
		{ "{\"code\":500,\"reason\":\"Expired\"}", 410 },
		{ "{\"code\":404,\"reason\":\"Gone\"}", 410 },
		{ "{\"code\":504,\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\"}]}}", 410 },
		{ "{\"code\":403,\"reason\":\"Forbidden\"}", 403 },
		{ "{\"reason\":7}", 42 },
		{ "[]", 42 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *status = cJSON_Parse(rows[i].status);

		assert_int_equal(list_watch_code(status, 42), rows[i].code);
	}
	assert_int_equal(list_watch_code(NULL, 7), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_is_asked_for_in_pages),
		cmocka_unit_test(a_watch_goes_on_from_a_version_and_a_stream_begins_with_all),
		cmocka_unit_test(of_some_kinds_only_the_metadata_is_asked_for),
		cmocka_unit_test(all_that_ends_a_versions_life_is_410),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
