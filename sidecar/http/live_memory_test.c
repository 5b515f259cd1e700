/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of snapshots in the form of /memory. */
#include "sidecar/http/live_memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/units.h"

#define MIB ((int64_t)1 << 20)

/* The caller frees it. */
static struct observer *make_observer(void)
{
	struct observer *o = calloc(1, sizeof(*o));
	struct snapshot *s = &o->last;

	s->at_ns = 10 * NS_PER_SEC;
	s->memory = (struct memory){ .usage = 900 * MIB,
				     .limit = 1024 * MIB,
				     .peak = -1,
				     .anon = 800 * MIB,
				     .file = 10 * MIB,
				     .shmem = 90 * MIB };
	s->n_processes = 5;
	s->n_top = 1;
	s->top[0] = (struct process){ .pid = 113,
				      .rss = 700 * MIB,
				      .shared = 90 * MIB,
				      .growth = 3 * MIB,
				      .name = "ray::train",
				      .command = "secret --token=x" };
	components_add_one(&s->components, COMPONENT_TASK, "train", 610 * MIB, false);
	s->components.rest_count = 2;
	s->components.rest_own = 5 * MIB;
	return o;
}

static void a_container_has_its_memory_its_components_and_its_largest_processes(void **state)
{
	_cleanup_json_ cJSON *containers = cJSON_CreateArray();
	_cleanup_free_ struct observer *o = make_observer();
	_cleanup_free_ char *text = NULL;
	(void)state;

	live_memory_add(containers, "ray-worker", o, 10 * NS_PER_SEC + 250 * NS_PER_MS);
	const cJSON *c = json_find(containers, "container", "ray-worker");
	assert_int_equal(json_int(c, "processCount", 0), 5);
	assert_int_equal(json_int(c, "memory.usageBytes", 0), 900 * MIB);
	assert_int_equal(json_int(c, "memory.limitBytes", 0), 1024 * MIB);
	assert_int_equal(json_int(c, "memory.sampleAgeMs", 0), 250);
	assert_true(cJSON_IsNull(json_get(c, "memory.peakBytes")));
	assert_string_equal(json_str(json_get(c, "components")->child, "kind"), "task");
	assert_string_equal(json_str(json_get(c, "components")->child, "name"), "train");
	assert_int_equal(json_int(json_get(c, "components")->child, "bytes", 0), 610 * MIB);
	assert_int_equal(json_int(c, "otherProcesses.count", 0), 2);
	assert_int_equal(json_int(c, "otherProcesses.bytes", 0), 5 * MIB);
	assert_int_equal(json_int(json_get(c, "processes")->child, "pid", 0), 113);
	assert_int_equal(json_int(json_get(c, "processes")->child, "growthBytesPerSecond", 0),
			 3 * MIB);
	text = cJSON_PrintUnformatted(containers);
	assert_null(strstr(text, "token"));
}

static void what_was_not_sampled_yet_and_what_is_there_already_is_left_out(void **state)
{
	_cleanup_json_ cJSON *containers = cJSON_CreateArray();
	_cleanup_free_ struct observer *o = make_observer(), *unseen = calloc(1, sizeof(*unseen));
	(void)state;

	live_memory_add(containers, "a", unseen, 0);
	assert_int_equal(cJSON_GetArraySize(containers), 0);
	live_memory_add(containers, "a", o, 0);
	live_memory_add(containers, "a", o, 0);
	assert_int_equal(cJSON_GetArraySize(containers), 1);
	/* A sample with a time after the present one counts as present. */
	assert_int_equal(json_int(containers->child, "memory.sampleAgeMs", -1), 0);
}

static void the_longest_answer_stays_below_its_ceiling(void **state)
{
	_cleanup_json_ cJSON *containers = cJSON_CreateArray();
	_cleanup_free_ struct observer *o = make_observer();
	_cleanup_free_ char *text = NULL;
	(void)state;

	for (size_t i = 0; i < REPORT_TOP_MAX; i++) {
		o->last.top[i] = (struct process){
			.pid = INT32_MAX, .rss = INT64_MAX, .shared = INT64_MAX, .growth = INT64_MAX
		};
		/* JSON needs six letters for each of these. */
		memset(o->last.top[i].name, 1, PROCESS_NAME_MAX - 1);
	}
	o->last.n_top = REPORT_TOP_MAX;
	o->last.components.n = COMPONENTS_MAX;
	for (size_t i = 0; i < COMPONENTS_MAX; i++) {
		o->last.components.list[i] = (struct component){ .count = UINT32_MAX,
								 .own = INT64_MAX,
								 .largest = INT64_MAX };
		memset(o->last.components.list[i].name, 1, PROCESS_NAME_MAX - 1);
	}
	for (int i = 0; i < 2 * LIVE_MEMORY_CONTAINERS_MAX; i++) {
		char name[64];

		snprintf(name, sizeof(name), "%063d", i);
		live_memory_add(containers, name, o, INT64_MAX);
	}
	assert_int_equal(cJSON_GetArraySize(containers), LIVE_MEMORY_CONTAINERS_MAX);
	text = cJSON_PrintUnformatted(containers);
	assert_in_range(strlen(text), 100000, LIVE_MEMORY_JSON_MAX - 256);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_container_has_its_memory_its_components_and_its_largest_processes),
		cmocka_unit_test(what_was_not_sampled_yet_and_what_is_there_already_is_left_out),
		cmocka_unit_test(the_longest_answer_stays_below_its_ceiling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
