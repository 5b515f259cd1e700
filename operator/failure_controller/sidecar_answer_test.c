/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how often the answers of sidecars make the operator look for missed ends. */
#include "operator/failure_controller/sidecar_answer.h"

#include "lib/units.h"
#include "operator/manager/testing.h"

/* An end that the pod's status no longer shows. */
#define ANSWER                                                                                    \
	"{\"podUID\":\"u-w\",\"tag\":\"1-1\",\"failures\":[{\"id\":\"a\",\"container\":\"ray-worker\"," \
	"\"containerLives\":false,\"class\":\"ApplicationError\",\"sentence\":\"It ended.\","          \
	"\"endedAt\":\"2026-01-21T01:10:00.500Z\"}]}"

struct fixture {
	struct bed bed;
	struct answer_sinks sinks;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	bed_init(&f->bed);
	bed_start(&f->bed);
	f->sinks = (struct answer_sinks){
		.failures = watches_informer(f->bed.watches, WATCH_FAILURES),
		.clusters = watches_informer(f->bed.watches, WATCH_CLUSTERS),
		.recorder = f->bed.recorder,
		.writer = f->bed.writer,
		.metrics = &f->bed.metrics,
		.on_growing = bed_on_growing,
		.arg = &f->bed,
	};
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	event_filter_release(&f->sinks.emitted);
	event_filter_release(&f->sinks.looks);
	bed_release(&f->bed);
	free(f);
	return 0;
}

/* Takes the answer of a pod of the namespace. Returns whether it need not come again. */
static bool take(struct fixture *f, const char *namespace)
{
	_cleanup_json_ cJSON *pod = cJSON_Parse(
		"{\"metadata\":{\"name\":\"w\",\"uid\":\"u-w\",\"labels\":{\"ray.io/cluster\":\"demo\","
		"\"ray.io/group\":\"g\"}},\"status\":{\"containerStatuses\":[{\"name\":\"ray-worker\","
		"\"restartCount\":2,\"state\":{\"running\":{\"startedAt\":\"2026-01-21T01:30:00Z\"}}}]}}");
	struct sidecar_memory memory = { 0 };
	struct answer_result result;

	json_set_str(json_get(pod, "metadata"), "namespace", namespace);
	assert_int_equal(sidecar_answer_take(&f->sinks, &memory, "w", pod, ANSWER, strlen(ANSWER),
					     &result, &(struct err){ 0 }),
			 0);
	sidecar_memory_release(&memory);
	return result.tag[0];
}

static void after_a_long_look_answers_with_missed_ends_have_to_come_again(void **state)
{
	struct fixture *f = *state;

	f->sinks.look_at_ns = INT64_MAX;
	for (int i = 0; i < 100; i++)
		assert_false(take(f, "ml"));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 0);
	f->sinks.look_at_ns = 0;
	assert_true(take(f, "ml"));
	assert_int_equal(failure_writer_n_pending(f->bed.writer), 1);
	assert_true(f->sinks.look_at_ns > 0);
}

static void a_namespace_whose_looks_take_long_waits_longer_than_others(void **state)
{
	struct fixture *f = *state;

	assert_true(event_filter_is_time(&f->sinks.looks, "ml", now_boottime_ns(),
					 3600 * NS_PER_SEC));
	assert_false(take(f, "ml"));
	assert_true(take(f, "etl"));
	assert_true(f->sinks.look_at_ns > 0);
	assert_int_equal(f->sinks.looks.until.map.n, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			after_a_long_look_answers_with_missed_ends_have_to_come_again, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_namespace_whose_looks_take_long_waits_longer_than_others, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
