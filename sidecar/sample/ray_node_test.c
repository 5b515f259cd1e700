/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading raylet's command line; the arguments are those of Ray 2.60. */
#include "sidecar/sample/ray_node.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/macros.h"

#define LINE(text) text, sizeof(text) - 1

static const struct {
	const char *what, *line;
	size_t len;
	int64_t object_store, memory, cpus;
	bool head;
} rows[] = {
	{ "a head without CPUs",
	  LINE("/x/raylet\0--raylet_socket_name=/tmp/r\0--static_resource_list=node:10.246.0.60,1.0,node:__internal_head__,1.0,"
	       "memory,1288699904,object_store_memory,643825664\0--object_store_memory=643825664\0--plasma_directory=/dev/shm\0"
	       "--head\0"),
	  643825664, 1288699904, 0, true },
	{ "a worker", LINE("raylet\0--static_resource_list=CPU,2.5,memory,600000000\0--object_store_memory=100000000"), 100000000,
	  600000000, 2500, false },
	{ "a resource whose value is called CPU", LINE("raylet\0--static_resource_list=x,CPU,CPU,3\0"), -1, -1, 3000, false },
	{ "names that only begin alike", LINE("raylet\0--headless\0--static_resource_list=CPUS,3,memoryx,5\0"), -1, -1, 0, false },
	{ "a value that is no number", LINE("raylet\0--object_store_memory=lots\0"), -1, -1, -1, false },
	{ "infinite, negative, too large", LINE("raylet\0--object_store_memory=1e300\0--static_resource_list=CPU,-1,memory,inf\0"), -1,
	  -1, 0, false },
	{ "a list that ends in the middle", LINE("raylet\0--static_resource_list=memory,7,CPU"), -1, 7, 0, false },
	{ "a cut argument", LINE("raylet\0--object_store_mem"), -1, -1, -1, false },
	{ "nothing", LINE(""), -1, -1, -1, false },
};

static void raylet_says_what_its_node_was_given(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		/* On the heap and of exactly this size, so that ASan sees a read beyond its end. */
		_cleanup_free_ char *line = malloc(rows[i].len + !rows[i].len);
		struct ray_node n = RAY_NODE_UNKNOWN;

		memcpy(line, rows[i].line, rows[i].len);
		ray_node_parse(line, rows[i].len, &n);
		if (n.object_store != rows[i].object_store || n.memory != rows[i].memory ||
		    n.cpus != rows[i].cpus || n.head != rows[i].head)
			fail_msg("%s: %lld %lld %lld %d", rows[i].what, (long long)n.object_store,
				 (long long)n.memory, (long long)n.cpus, n.head);
	}
}

static void raylet_says_which_node_of_ray_it_is(void **state)
{
	static const struct {
		const char *line, *id;
	} ids[] = {
		{ "--node_id=76fd0174d17b9813a8038660878af47ae6fed000ec58d2fc2a5fc1b3",
		  "76fd0174d17b9813a8038660878af47ae6fed000ec58d2fc2a5fc1b3" },
		{ "--node_id=", "" },
		{ "--node_id=76fd xx", "" },
		{ "--node_id=0123456789012345678901234567890123456789012345678901234567890123456789", "" },
		{ "x--node_id=76fd", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct ray_node n = RAY_NODE_UNKNOWN;

		ray_node_parse(ids[i].line, strlen(ids[i].line), &n);
		assert_string_equal(n.id, ids[i].id);
	}
}

static void raylet_says_which_session_it_belongs_to(void **state)
{
	static const struct {
		const char *line, *session;
	} cases[] = {
		{ "--session-name=session_2026-11-27_11-52-09_843279_30", "session_2026-11-27_11-52-09_843279_30" },
		{ "--session-name=", "" },
		{ "--session-name=a/../b", "" },
		{ "--session-name=0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ray_node n = RAY_NODE_UNKNOWN;

		ray_node_parse(cases[i].line, strlen(cases[i].line), &n);
		assert_string_equal(n.session, cases[i].session);
	}
}

static void raylet_says_where_it_spills(void **state)
{
	static const struct {
		const char *line;
		size_t len;
		const char *dir;
	} cases[] = {
		{ LINE("raylet\0--temp_dir=/tmp/ray\0--fallback_directory=/tmp/ray/session_1\0"), "/tmp/ray/session_1" },
		{ LINE("raylet\0--fallback_directory=/data/spill\0--temp_dir=/tmp/ray\0"), "/data/spill" },
		/* Spilling goes to S3 */
		{ LINE("raylet\0--temp_dir=/tmp/ray\0--fallback_directory=/tmp/ray\0"), "" },
		{ LINE("raylet\0--fallback_directory=data\0"), "" },
		{ LINE("raylet\0"), "" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ray_node n = RAY_NODE_UNKNOWN;

		ray_node_parse(cases[i].line, cases[i].len, &n);
		assert_string_equal(n.spill_dir, cases[i].dir);
	}
}

static void shm_is_measured_and_no_raylet_is_no_harm(void **state)
{
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int shm = ray_node_open_shm(root);
	struct ray_node n = RAY_NODE_UNKNOWN;
	(void)state;

	ray_node_read_shm(&n, shm);
	assert_false(ray_node_read_raylet(&n, root, 0));
	/* Some machines have no tmpfs there. */
	assert_true(n.shm_used >= -1 && (n.shm_size == -1 || n.shm_size >= n.shm_used));
	/* The command line of a process that is not raylet gives nothing. */
	assert_true(ray_node_read_raylet(&n, root, getpid()));
	assert_int_equal(n.raylet, getpid());
	assert_int_equal(n.object_store, -1);
	ray_node_read_shm(&n, -1);
	assert_false(ray_node_read_raylet(&n, -1, 1 << 30));
	assert_int_equal(n.raylet, getpid());
}

#define BEGINS_ONE "-c", "sleep 300 & echo $!; wait"

static void a_driver_that_began_ray_is_the_parent_of_its_raylet(void **state)
{
	static const struct {
		char *argv[8];
		bool of_driver;
	} cases[] = {
		{ { "python3", BEGINS_ONE, "train.py", NULL }, true },
		{ { "/venv/bin/python", BEGINS_ONE, "-m", "ipykernel_launcher", NULL }, true },
		{ { "python3", BEGINS_ONE, "restart", "start.py", NULL }, true },
		{ { "python3", BEGINS_ONE, "/venv/bin/ray", "start", "--head", NULL }, false },
		{ { "python3", BEGINS_ONE, "-m", "ray.scripts.scripts", "start", NULL }, false },
		{ { "afterglow-launch", BEGINS_ONE, NULL }, false },
		{ { "sh", BEGINS_ONE, NULL }, false },
	};
	_cleanup_close_ int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ray_node n = RAY_NODE_UNKNOWN;
		char text[16] = "";
		int ends[2];

		assert_int_equal(pipe(ends), 0);
		pid_t parent = fork();
		if (parent == 0) {
			dup2(ends[1], STDOUT_FILENO);
			execv("/bin/sh", cases[i].argv);
			_exit(127);
		}
		assert_true(read(ends[0], text, sizeof(text) - 1) > 1);
		pid_t raylet = (pid_t)strtol(text, NULL, 10);
		bool was_read = false;
		/* Between fork and exec there is a moment without a command line. */
		while (!was_read && kill(raylet, 0) == 0)
			was_read = ray_node_read_raylet(&n, root, raylet);
		kill(parent, SIGKILL);
		kill(raylet, SIGKILL);
		waitpid(parent, NULL, 0);
		close(ends[0]);
		close(ends[1]);
		if (!was_read || n.of_driver != cases[i].of_driver)
			fail_msg("case %zu: read %d, of a driver %d", i, was_read, n.of_driver);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(raylet_says_which_session_it_belongs_to),
		cmocka_unit_test(raylet_says_where_it_spills),
		cmocka_unit_test(a_driver_that_began_ray_is_the_parent_of_its_raylet),
		cmocka_unit_test(raylet_says_which_node_of_ray_it_is),
		cmocka_unit_test(raylet_says_what_its_node_was_given),
		cmocka_unit_test(shm_is_measured_and_no_raylet_is_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
