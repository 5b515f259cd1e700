/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of which GPUs a container has, on directory trees like those that the container runtime
 * makes.
 */
#include "sidecar/sample/gpus.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

static char root[64];
static int root_fd;

static void make(const char *path)
{
	char text[128];

	snprintf(text, sizeof(text), "%s/%s", root, path);
	for (char *p = text + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = '\0';
		mkdir(text, 0755);
	}
	assert_true(open(text, O_CREAT | O_WRONLY | O_CLOEXEC, 0644) >= 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/gpus_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root_fd < 0;
}

static int teardown(void **state)
{
	(void)state;
	close(root_fd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

static struct gpus read_all(void)
{
	struct gpus g;

	gpus_read(root_fd, &g);
	return g;
}

static void a_container_without_gpus_has_none(void **state)
{
	struct gpus g;
	(void)state;

	assert_int_equal(read_all().n, 0);
	make("dev/null");
	make("proc/driver/nvidia/gpus/0000:3b:00.0/information");
	assert_int_equal(read_all().n, 0);
	gpus_read(-1, &g);
	assert_int_equal(g.n, 0);
}

static void its_gpus_are_those_whose_places_the_runtime_shows(void **state)
{
	struct gpus g;
	(void)state;

	make("dev/nvidia3");
	make("dev/nvidiactl");
	make("proc/driver/nvidia/gpus/0000:3b:00.0/information");
	g = read_all();
	assert_int_equal(g.n, 1);
	assert_true(g.known);
	assert_string_equal(g.places[0], "0000:3b:00.0");
}

static void which_of_the_nodes_gpus_it_has_may_be_unknown(void **state)
{
	(void)state;
	make("dev/nvidia0");
	make("proc/driver/nvidia/gpus/0000:3b:00.0/information");
	make("proc/driver/nvidia/gpus/0000:86:00.0/information");
	make("proc/driver/nvidia/gpus/..hidden/x");
	assert_int_equal(read_all().n, 1);
	assert_false(read_all().known);
}

static void amds_have_no_places(void **state)
{
	(void)state;
	make("dev/kfd");
	assert_int_equal(read_all().n, 1);
	assert_false(read_all().known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_container_without_gpus_has_none, setup, teardown),
		cmocka_unit_test_setup_teardown(its_gpus_are_those_whose_places_the_runtime_shows, setup, teardown),
		cmocka_unit_test_setup_teardown(which_of_the_nodes_gpus_it_has_may_be_unknown, setup, teardown),
		cmocka_unit_test_setup_teardown(amds_have_no_places, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
