/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of Events about successful operations: they have KubeRay's texts, and there are few of
 * them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "operator/raycluster/news.h"
#include "operator/raycluster/testing.h"

static const char cluster_text[] = "{metadata: {namespace: ns, name: demo, uid: u}}";

static void add(cJSON *news, enum plan_op_kind kind, const char *body, int status)
{
	struct plan_op op = { .kind = kind, .body = json_of(body) };

	news_add(news, &op, status);
	cJSON_Delete(op.body);
}

static void expect(const cJSON *news, int n, const char *reason, const char *note)
{
	_cleanup_json_ cJSON *cluster = json_of(cluster_text);
	_cleanup_json_ cJSON *event = news_event(cJSON_GetArrayItem(news, n), cluster, 0);

	assert_string_equal(json_str(event, "type"), "Normal");
	assert_string_equal(json_str(event, "reason"), reason);
	assert_string_equal(json_str(event, "note"), note);
	assert_string_equal(json_str(event, "regarding.kind"), "RayCluster");
}

static void one_object_is_reported_in_kuberays_words(void **state)
{
	static const struct {
		enum plan_op_kind kind;
		const char *body, *reason, *note;
		int status;
	} rows[] = {
		{ PLAN_CREATE, "{kind: Pod, metadata: {namespace: ns, name: p, labels: {ray.io/node-type: head, ray.io/group: headgroup}}}",
		  "CreatedHeadPod", "Created head Pod ns/p", 201 },
		{ PLAN_CREATE, "{kind: Pod, metadata: {namespace: ns, name: p, labels: {ray.io/node-type: worker, ray.io/group: g}}}",
		  "CreatedWorkerPod", "Created worker Pod ns/p", 201 },
		{ PLAN_DELETE, "{kind: Pod, metadata: {namespace: ns, name: p, labels: {ray.io/node-type: worker, ray.io/group: g}}}",
		  "DeletedWorkerPod", "Deleted worker Pod ns/p", 200 },
		{ PLAN_APPLY, "{kind: Service, metadata: {namespace: ns, name: demo-head-svc}}", "CreatedService",
		  "Created service ns/demo-head-svc", 201 },
		{ PLAN_CREATE, "{kind: RoleBinding, metadata: {namespace: ns, name: demo}}", "CreatedRoleBinding",
		  "Created role binding ns/demo", 201 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *news = cJSON_CreateArray();

		add(news, rows[i].kind, rows[i].body, rows[i].status);
		expect(news, 0, rows[i].reason, rows[i].note);
	}
}

static void what_was_there_already_and_what_nobody_asks_about_is_no_news(void **state)
{
	_cleanup_json_ cJSON *news = cJSON_CreateArray();

	(void)state;
	add(news, PLAN_CREATE,
	    "{kind: Pod, metadata: {namespace: ns, name: p, labels: {ray.io/node-type: head}}}",
	    409);
	add(news, PLAN_DELETE,
	    "{kind: Pod, metadata: {namespace: ns, name: p, labels: {ray.io/node-type: head}}}",
	    404);
	add(news, PLAN_APPLY, "{kind: Service, metadata: {namespace: ns, name: s}}", 200);
	add(news, PLAN_APPLY, "{kind: ConfigMap, metadata: {namespace: ns, name: c}}", 201);
	add(news, PLAN_STATUS, "{kind: RayCluster, metadata: {namespace: ns, name: demo}}", 200);
	add(news, PLAN_EVENT, "{kind: Event, metadata: {namespace: ns, name: e}}", 201);
	assert_int_equal(cJSON_GetArraySize(news), 0);
}

static void the_pods_of_a_group_are_one_event_with_their_number(void **state)
{
	_cleanup_json_ cJSON *news = cJSON_CreateArray();
	char body[256];

	(void)state;
	for (int i = 0; i < 130; i++) {
		snprintf(
			body, sizeof(body),
			"{kind: Pod, metadata: {namespace: ns, name: p%d, labels: {ray.io/node-type: worker, ray.io/group: %s}}}",
			i, i < 2 ? "few" : "many");
		add(news, PLAN_CREATE, body, 201);
	}
	add(news, PLAN_DELETE, body, 200);
	assert_int_equal(cJSON_GetArraySize(news), 3);
	expect(news, 0, "CreatedWorkerPod", "Created 2 worker Pods of group few: ns/p0, ns/p1");
	expect(news, 1, "CreatedWorkerPod",
	       "Created 128 worker Pods of group many: ns/p2, ns/p3, ns/p4, ns/p5, ns/p6 and 123 more");
	expect(news, 2, "DeletedWorkerPod", "Deleted worker Pod ns/p129");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_object_is_reported_in_kuberays_words),
		cmocka_unit_test(what_was_there_already_and_what_nobody_asks_about_is_no_news),
		cmocka_unit_test(the_pods_of_a_group_are_one_event_with_their_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
