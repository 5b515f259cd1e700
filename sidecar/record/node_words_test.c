/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how long the sidecar waits for what the node agent kept. */
#include "sidecar/record/node_words.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/units.h"

static int64_t now_ns = NS_PER_SEC;

int64_t __wrap_now_boottime_ns(void);
int64_t __wrap_now_boottime_ns(void)
{
	return now_ns;
}

static bool settled_after(struct node_words *w, int64_t ns)
{
	cJSON *json;
	bool settled;

	now_ns += ns;
	json = node_words_to_json(w);
	settled = cJSON_IsTrue(json_get(json, "settled"));
	cJSON_Delete(json);
	return settled;
}

static void without_an_agent_nothing_is_awaited(void **state)
{
	struct node_words w;

	(void)state;
	node_words_init(&w, "uid");
	assert_true(settled_after(&w, 0));
	node_words_settle(&w);
	assert_true(settled_after(&w, 0));
	node_words_release(&w);
}

static void an_agent_that_does_not_come_is_awaited_for_eight_seconds(void **state)
{
	struct node_words w;

	(void)state;
	node_words_init(&w, "uid");
	node_words_await(&w);
	assert_false(settled_after(&w, 8 * NS_PER_SEC - 1));
	assert_true(settled_after(&w, 1));
	node_words_release(&w);
}

/*
 * The agent reads tracefs and the kernel log one after the other, and tells of each by a connection
 * of its own.
 */
static void after_a_first_connection_others_have_a_second(void **state)
{
	struct node_words w;

	(void)state;
	node_words_init(&w, "uid");
	node_words_await(&w);
	now_ns += NS_PER_SEC;
	node_words_settle(&w);
	assert_false(settled_after(&w, NS_PER_SEC / 2));
	node_words_settle(&w);
	assert_false(settled_after(&w, NS_PER_SEC / 2 - 1));
	assert_true(settled_after(&w, 1));
	node_words_settle(&w);
	assert_true(settled_after(&w, 0));
	node_words_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_an_agent_nothing_is_awaited),
		cmocka_unit_test(an_agent_that_does_not_come_is_awaited_for_eight_seconds),
		cmocka_unit_test(after_a_first_connection_others_have_a_second),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
