/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what inquiries cache. Which objects they read is tested in
 * e2e/cases/apiserver/test_fate.py.
 */
#include "operator/failure_controller/inquiry.h"

#include "operator/kube/testing.h"

#include <malloc.h>

#include "lib/units.h"
#include "operator/failures/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define DEATHS 24
#define EVENTS 400
#define MESSAGE 3500

static const cJSON *no_cluster(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	return NULL;
}

static bool not_gone(void *arg, const char *key)
{
	(void)arg;
	(void)key;
	return false;
}

static void set_done(void *arg)
{
	*(bool *)arg = true;
}

/* Adds a list of Events such as a tenant may write. */
static void add_events(struct strbuf *list)
{
	static char message[MESSAGE];

	memset(message, 'x', sizeof(message) - 1);
	strbuf_adds(list,
		    "{\"kind\":\"EventList\",\"apiVersion\":\"v1\",\"metadata\":{},\"items\":[");
	for (int i = 0; i < EVENTS; i++)
		strbuf_addf(list, "%s{\"reason\":\"Deleted\",\"message\":\"%s\"}", i ? "," : "",
			    message);
	strbuf_adds(list, "]}");
}

static struct ray_failure *death(int i)
{
	char yaml[512];

	snprintf(
		yaml, sizeof(yaml),
		"metadata: {name: f, namespace: ml, labels: {}}\nspec: {class: PodDeleted, confidence: likely, cluster: c%d, pod: p%d, "
		"podUID: u%d, container: ray, endedAt: '2026-11-21T01:29:06Z', verdict: It ended, endedBy: {kind: Client}}\n",
		i, i, i);
	return failure_of_yaml(yaml);
}

static size_t in_use(void)
{
	return mallinfo2().uordblks + mallinfo2().hblkhd;
}

/* Their Events have 1.4 MB each. A sanitizer has another malloc, so nothing is counted under it. */
static void answers_that_a_tenant_makes_long_do_not_fill_the_memory(void **state)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT((size_t)4 << 20);
	struct exchange script[2 * DEATHS];
	struct fake_server server;
	struct inquiries *inquiries = NULL;
	struct err err = { 0 };

	(void)state;
	add_events(&list);
	for (int i = 0; i < 2 * DEATHS; i += 2) {
		script[i] = (struct exchange){
			"GET", "events involvedObject.uid", 200,
			"{\"kind\":\"EventList\",\"apiVersion\":\"v1\",\"items\":[]}"
		};
		script[i + 1] =
			(struct exchange){ "GET", "events RayCluster", 200, strbuf_str(&list) };
	}
	fake_server_start(&server, script, 2 * DEATHS);
	struct client *client = fake_client(&server, NULL);
	struct inquiries_options options = { .client = client,
					     .find_cluster = no_cluster,
					     .cluster_is_gone = not_gone };
	assert_int_equal(inquiries_new(&options, &inquiries, &err), 0);
	size_t before = in_use();
	for (int i = 0; i < DEATHS; i++) {
		struct ray_failure *failure = death(i);
		bool done = false;

		assert_true(inquiries_start(inquiries, failure, true, set_done, &done));
		turn_until(server.base, &done);
		assert_true(failure->missing.n > 0);
		ray_failure_free(failure);
	}
	assert_int_equal(server.at, 2 * DEATHS);
	assert_in_range(in_use(), 0, before + ((size_t)20 << 20));
	inquiries_free(inquiries);
	client_free(client);
	fake_server_stop(&server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers_that_a_tenant_makes_long_do_not_fill_the_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
