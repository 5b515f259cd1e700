/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of which execution may have the next write, with an API server of the test that is slow. */
#include "operator/cluster_controller/write_shares.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "operator/manager/testing.h"

#define PODS_EACH 40
#define POD "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ml\",\"name\":\"p\"}}"

struct fixture {
	struct bed bed;
	struct known_state known;
	struct executor executor;
	struct write_shares shares;
	struct execution executions[3];
	struct write_share places[3];
};

static bool may_write(void *arg, const char *namespace)
{
	(void)arg;
	(void)namespace;
	return true;
}

static void on_answered(void *arg)
{
	(void)arg;
	fail_msg("nothing is answered here: the loop does not turn");
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	bed_init(&f->bed);
	bed_new_watches(&f->bed);
	bed_new_event_recorder(&f->bed);
	f->executor = (struct executor){ .client = f->bed.client,
					 .watches = f->bed.watches,
					 .known = &f->known,
					 .metrics = &f->bed.metrics,
					 .recorder = f->bed.recorder,
					 .may_write = may_write,
					 .arg = &f->bed };
	f->shares.executor = &f->executor;
	*state = f;
	return 0;
}

/* Adds an execution with so many pods to create. The first creation is under way. */
static void join(struct fixture *f, size_t i, size_t n_pods)
{
	struct execution *x = &f->executions[i];

	*x = (struct execution){ .executor = &f->executor, .key = "ml/demo", .namespace = "ml", .answered = on_answered };
	x->plan.ops = calloc(n_pods, sizeof(*x->plan.ops));
	x->plan.templates = cJSON_Parse("[" POD "]");
	for (; x->plan.n_ops < n_pods; x->plan.n_ops++)
		x->plan.ops[x->plan.n_ops] =
			(struct plan_op){ .kind = PLAN_CREATE,
					  .body = cJSON_Parse(POD),
					  .template = x->plan.templates->child };
	assert_int_equal(execution_prepare(x, &(struct err){ 0 }), 0);
	write_shares_join(&f->shares, &f->places[i], x);
	execution_start(x);
	assert_int_equal(x->in_flight, 1);
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	bed_release(&f->bed);
	for (size_t i = 0; i < ARRAY_SIZE(f->executions); i++)
		if (f->executions[i].steps)
			execution_release(&f->executions[i]);
	known_state_release(&f->known);
	free(f);
	return 0;
}

static void a_cluster_that_is_alone_has_all_places(void **state)
{
	struct fixture *f = *state;

	join(f, 0, PODS_EACH);
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[0].in_flight, WRITE_SHARES_MAX);
	assert_int_equal(f->executor.n_writes, WRITE_SHARES_MAX);
}

static void two_that_could_go_on_have_as_many_each(void **state)
{
	struct fixture *f = *state;

	join(f, 0, PODS_EACH);
	join(f, 1, PODS_EACH);
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[0].in_flight, WRITE_SHARES_MAX / 2);
	assert_int_equal(f->executions[1].in_flight, WRITE_SHARES_MAX / 2);
}

static void what_one_does_not_need_the_others_get(void **state)
{
	struct fixture *f = *state;

	join(f, 0, 2);
	join(f, 1, PODS_EACH);
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[0].in_flight, 2);
	assert_int_equal(f->executions[1].in_flight, WRITE_SHARES_MAX - 2);
}

static void a_cluster_that_was_refused_a_pod_has_one_write_at_a_time(void **state)
{
	struct fixture *f = *state;

	join(f, 0, PODS_EACH);
	f->executions[0].cautious = true;
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[0].in_flight, 1);
}

static void a_late_comer_starts_its_first_write_though_all_places_are_taken(void **state)
{
	struct fixture *f = *state;

	join(f, 0, PODS_EACH);
	write_shares_give(&f->shares);
	join(f, 1, PODS_EACH);
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[1].in_flight, 1);
	assert_int_equal(f->executor.n_writes, WRITE_SHARES_MAX + 1);
}

static void who_has_left_gets_nothing(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++)
		join(f, i, PODS_EACH);
	assert_int_equal(f->shares.n, 3);
	write_shares_leave(&f->shares, &f->places[1]);
	write_shares_leave(&f->shares, &f->places[2]);
	write_shares_give(&f->shares);
	assert_int_equal(f->executions[1].in_flight, 1);
	assert_int_equal(f->executions[2].in_flight, 1);
	assert_int_equal(f->executions[0].in_flight, WRITE_SHARES_MAX - 2);
	write_shares_leave(&f->shares, &f->places[0]);
	assert_int_equal(f->shares.n, 0);
	assert_true(LIST_EMPTY(&f->shares.all));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_cluster_that_is_alone_has_all_places, setup, teardown),
		cmocka_unit_test_setup_teardown(two_that_could_go_on_have_as_many_each, setup, teardown),
		cmocka_unit_test_setup_teardown(what_one_does_not_need_the_others_get, setup, teardown),
		cmocka_unit_test_setup_teardown(a_cluster_that_was_refused_a_pod_has_one_write_at_a_time, setup, teardown),
		cmocka_unit_test_setup_teardown(a_late_comer_starts_its_first_write_though_all_places_are_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(who_has_left_gets_nothing, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
