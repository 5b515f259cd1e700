/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the projection of objects. */
#include "operator/kube/projection.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "operator/cache/pod_fields.h"

static void only_what_is_named_stays(void **state)
{
	static const char *const fields[] = { "a",	  "b.c", "list.name", "notes.ray.io/*",
					      "deep.x.y", NULL };
	static const struct {
		const char *before, *after;
	} rows[] = {
		{ "{\"a\":{\"any\":[1,{\"z\":2}]},\"z\":1}", "{\"a\":{\"any\":[1,{\"z\":2}]}}" },
		{ "{\"b\":{\"c\":1,\"d\":2},\"bc\":3}", "{\"b\":{\"c\":1}}" },
		{ "{\"list\":[{\"name\":\"x\",\"env\":[]},{\"env\":[]},{\"name\":\"y\"}]}",
		  "{\"list\":[{\"name\":\"x\"},{},{\"name\":\"y\"}]}" },
		{ "{\"notes\":{\"ray.io/ft\":\"1\",\"ray.iox\":\"2\",\"cni.io/ray.io/x\":\"3\"}}", "{\"notes\":{\"ray.io/ft\":\"1\"}}" },
		/*
		 * The objects have another structure than the fields assume. Members below them may
		 * stay or go, but nothing may break.
		 */
		{ "{\"b\":5,\"list\":{\"name\":1,\"x\":2},\"deep\":[[{\"x\":{\"y\":1,\"n\":2}}]]}",
		  "{\"b\":5,\"list\":{\"name\":1},\"deep\":[[{\"x\":{\"y\":1}}]]}" },
		{ "{\"\":1,\"a.\":2,\".\":3}", "{}" },
		{ "{}", "{}" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *object = cJSON_Parse(rows[i].before);
		assert_non_null(object);
		project(object, fields);
		_cleanup_free_ char *text = cJSON_PrintUnformatted(object);
		assert_string_equal(text, rows[i].after);
	}
}

/* Checks that reading a text gives the same as projecting its tree. */
static void assert_same(const char *text, const char *const *fields)
{
	_cleanup_json_ cJSON *tree = NULL, *read = NULL;
	struct err err = { 0 };
	int r = json_parse(text, strlen(text), &tree, NULL);

	if (project_text(text, strlen(text), fields, &read, &err) != r)
		fail_msg("%s: %s", text, err.text);
	if (r < 0)
		return;
	project(tree, fields);
	_cleanup_free_ char *expected = cJSON_PrintUnformatted(tree),
			    *actual = cJSON_PrintUnformatted(read);
	assert_string_equal(actual, expected);
}

static void a_text_is_read_as_its_tree_would_be(void **state)
{
	static const char *const fields[] = { "a",	  "b.c", "list.name", "notes.ray.io/*",
					      "deep.x.y", NULL };
	static const char *const texts[] = {
		"{\"a\":{\"any\":[1,{\"z\":2}]},\"z\":[{\"y\":\"]}\"},[]],\"b\":{\"d\":-1.5e3,\"c\":\"\\\"\\u00e9\"}}",
		" { \"z\" : \"\\\\\" , \"list\" : [ { \"name\" : \"x\" , \"q\" : null } , { } ] , \"a\" : true } \n",
		"{\"z\":\"\\\\\\\"}\",\"notes\":{\"ray.io/ft\":\"1\",\"ray\":{\"io/x\":1,\"i\":2}},\"a\":1,\"a\":2}",
		"{\"b\":5,\"list\":{\"name\":1,\"x\":2},\"deep\":[[{\"x\":{\"y\":1,\"n\":2}}],3,null]}",
		"{\"\\u0061\":1,\"z\":2}", /* an escape in a name */
		"[{\"a\":1}]", "5", "\"a\"", "{}", "",
		/* None of these is JSON. */
		"{\"a\":1", "{\"a\":1,}", "{,\"a\":1}", "{\"a\" 1}", "{\"a\":1 \"b\":2}", "{\"a\":1}}", "{\"z\":\"}", "{\"z\":}", "{a:1}",
		"{\"z\":[1}", "{\"list\":[1,]}", "{\"list\":[,1]}", "{\"a\":1} x",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		assert_same(texts[i], fields);
}

static void a_text_cut_anywhere_is_no_object(void **state)
{
	static const char *const fields[] = { "a", "b.c", NULL };
	static const char text[] =
		"{\"z\":[\"\\\"\",{\"y\":1}],\"a\":{\"n\":[1,2]},\"b\":{\"c\":\"s\"}}";
	(void)state;

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		_cleanup_free_ char *part = strndup(text, len);
		cJSON *json = NULL;
		assert_true(project_text(part, len, fields, &json, NULL) < 0);
	}
}

static void arrays_in_arrays_end_somewhere(void **state)
{
	static const char *const fields[] = { "a.b", NULL };
	char text[4096] = "{\"a\":";
	(void)state;

	for (size_t nesting = 10; nesting < 1500; nesting *= 3) {
		memset(text + 5, '[', nesting);
		memset(text + 5 + nesting, ']', nesting);
		memcpy(text + 5 + 2 * nesting, "}", 2);
		assert_same(text, fields);
		text[2] = 'z'; /* this member is skipped */
		assert_same(text, fields);
		text[2] = 'a';
	}
}

static void the_fields_of_a_pod_are_not_too_many(void **state)
{
	size_t n = 0;
	(void)state;

	while (pod_fields[n])
		n++;
	assert_in_range(n, 1, PROJECTION_FIELDS_MAX);
}

static void of_a_pod_stays_what_plans_and_failures_read(void **state)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\","
		"\"resourceVersion\":\"5\",\"generateName\":\"x\",\"creationTimestamp\":\"t\",\"deletionTimestamp\":\"d\","
		"\"labels\":{\"ray.io/group\":\"g\"},\"annotations\":{\"ray.io/ft-enabled\":\"true\",\"cni\":\"long\"},"
		"\"ownerReferences\":[{\"uid\":\"c\"}]},"
		"\"spec\":{\"nodeName\":\"n1\",\"restartPolicy\":\"Never\",\"volumes\":[{\"name\":\"v\",\"configMap\":{\"name\":\"l\",\"items\":[{\"key\":\"k\",\"path\":\"p\"}]}}],\"tolerations\":[{}],"
		"\"containers\":[{\"name\":\"ray-worker\",\"env\":[{}],\"resources\":{\"limits\":{\"memory\":\"1Gi\"}}}]},"
		"\"status\":{\"phase\":\"Failed\",\"podIP\":\"1.2.3.4\",\"podIPs\":[{}],\"reason\":\"Evicted\",\"containerStatuses\":["
		"{\"name\":\"ray-worker\",\"image\":\"i\",\"imageID\":\"sha\",\"restartCount\":2,\"containerID\":\"c1\","
		"\"lastState\":{\"terminated\":{\"exitCode\":137,\"message\":\"m\"}},\"state\":{\"waiting\":{\"reason\":\"w\"}}}]}}");
	static const char *const stays[] = { "apiVersion",
					     "kind",
					     "metadata.uid",
					     "metadata.deletionTimestamp",
					     "metadata.creationTimestamp",
					     "metadata.ownerReferences",
					     "spec.nodeName",
					     "spec.restartPolicy",
					     "status.phase",
					     "status.podIP",
					     "status.reason" };
	(void)state;

	assert_non_null(pod);
	project(pod, pod_fields);
	for (size_t i = 0; i < ARRAY_SIZE(stays); i++)
		if (!json_get(pod, stays[i]))
			fail_msg("%s is gone", stays[i]);
	const cJSON *container = cJSON_GetArrayItem(json_get(pod, "spec.containers"), 0);
	const cJSON *status = cJSON_GetArrayItem(json_get(pod, "status.containerStatuses"), 0);
	assert_string_equal(json_str(container, "resources.limits.memory"), "1Gi");
	assert_null(json_get(container, "env"));
	const cJSON *volume = cJSON_GetArrayItem(json_get(pod, "spec.volumes"), 0);
	assert_null(json_get(volume, "name"));
	assert_string_equal(
		json_str(cJSON_GetArrayItem(json_get(volume, "configMap.items"), 0), "key"), "k");
	assert_null(json_get(pod, "metadata.generateName"));
	assert_int_equal(cJSON_GetArraySize(json_get(pod, "metadata.annotations")), 1);
	assert_null(json_get(status, "imageID"));
	assert_int_equal(json_int(status, "restartCount", 0), 2);
	assert_string_equal(json_str(status, "lastState.terminated.message"), "m");
	assert_string_equal(json_str(status, "state.waiting.reason"), "w");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_named_stays),
		cmocka_unit_test(a_text_is_read_as_its_tree_would_be),
		cmocka_unit_test(a_text_cut_anywhere_is_no_object),
		cmocka_unit_test(arrays_in_arrays_end_somewhere),
		cmocka_unit_test(the_fields_of_a_pod_are_not_too_many),
		cmocka_unit_test(of_a_pod_stays_what_plans_and_failures_read),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
