/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whether a connection to the node's socket comes from the node. */
#include "sidecar/node/node_peer.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

#include <cmocka.h>

#define WHOLE "         0          0 4294967295\n"
#define USERNS "         0     100000      65536\n"

static void only_root_outside_of_our_pid_namespace_is_the_node(void **state)
{
	static const struct {
		struct ucred peer;
		const char *uid_map;
		bool is_node;
	} rows[] = {
		{ { .pid = 0, .uid = 0 }, WHOLE, true },
		/* Root in a pod that shares its PID namespace, or that uses the node's */
		{ { .pid = 1, .uid = 0 }, WHOLE, false },
		{ { .pid = 0, .uid = 1000 }, WHOLE, false },
		{ { .pid = 0, .uid = 65532 }, WHOLE, false },
		{ { .pid = 0, .uid = 65534 }, WHOLE, false },
		{ { .pid = 42, .uid = 65532 }, WHOLE, false },
		/* a pod with a user namespace: its root is not the node's root */
		{ { .pid = 0, .uid = 0 }, USERNS, false },
		{ { .pid = 0, .uid = 65534 }, USERNS, true },
		{ { .pid = 7, .uid = 65534 }, USERNS, false },
		{ { .pid = 0, .uid = 5 }, "0 100000 5\n5 0 1\n", true },
		{ { .pid = 0, .uid = 0 }, "0 100000 5\n5 0 1\n", false },
		/* files that cannot be parsed */
		{ { .pid = 0, .uid = 0 }, "", false },
		{ { .pid = 0, .uid = 0 }, "garbage\n", false },
		{ { .pid = 0, .uid = 0 }, "0 0 0\n", false },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_int_equal(node_peer_is_root_of_node(&rows[i].peer, rows[i].uid_map, 65534),
				 rows[i].is_node);
}

static void a_process_beside_us_is_not_the_node(void **state)
{
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	assert_false(node_peer_is_node(pair[0]));
	close(pair[0]);
	close(pair[1]);
	assert_false(node_peer_is_node(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_root_outside_of_our_pid_namespace_is_the_node),
		cmocka_unit_test(a_process_beside_us_is_not_the_node),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
