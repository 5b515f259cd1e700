/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of parsing a message of the node agent. */
#include "sidecar/node/node_message.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ID "46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"

static int parse(const char *text, struct node_message *m)
{
	return node_message_parse(text, strlen(text), m, NULL);
}

static void an_offer_names_a_process_of_a_container(void **state)
{
	struct node_message m;

	(void)state;
	assert_int_equal(parse("offer " ID " 42 11 ray::IDLE", &m), 0);
	assert_int_equal(m.verb, NODE_OFFER);
	assert_string_equal(m.container_id, ID);
	assert_int_equal(m.pid, 42);
	assert_int_equal(m.signal, 11);
	assert_string_equal(m.comm, "ray::IDLE");
	assert_int_equal(parse("offer " ID " 42 11 -", &m), 0);
	assert_string_equal(m.comm, "");
	assert_int_equal(parse("offer " ID " 42 11 a\x01\xff", &m), 0);
	assert_string_equal(m.comm, "a??");
}

static void a_known_verb_with_wrong_arguments_is_an_error(void **state)
{
	static const char *const rows[] = {
		"node 2", "node ", "node 1 x", "offer ", "offer " ID, "offer " ID " 0 11 x", "offer " ID " -4 11 x", "offer " ID " 4 99 x",
		"offer " ID " 4 11 x y", "offer " ID "a 4 11 x", "offer abc 4 11 x", "offer ../../../x 4 11 x", "offer  4 11 x",
	};
	struct node_message m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(parse(rows[i], &m), -EPROTO);
}

static void an_unknown_verb_is_none_of_ours(void **state)
{
	static const char *const rows[] = { "", "nodes 1", "core x", "cores", "take", "offer" };
	struct node_message m;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse(rows[i], &m), 0);
		assert_int_equal(m.verb, NODE_OTHER);
	}
	assert_int_equal(node_message_parse("core\0", 5, &m, NULL), 0);
	assert_int_equal(m.verb, NODE_OTHER);
	assert_int_equal(parse("node 1", &m), 0);
	assert_int_equal(m.verb, NODE_HELLO);
	assert_int_equal(parse("core", &m), 0);
	assert_int_equal(m.verb, NODE_CORE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offer_names_a_process_of_a_container),
		cmocka_unit_test(a_known_verb_with_wrong_arguments_is_an_error),
		cmocka_unit_test(an_unknown_verb_is_none_of_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
