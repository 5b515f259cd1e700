/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of additions to a committed bundle: its manifest is right at any moment. */
#include "sidecar/store/extend.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/manifest_testing.h"

#define PARENT "ml/demo/pod.7a0b1c2d/ray-worker"

static char store[64], path[BUNDLE_PATH_MAX + 64];

static int setup(void **state)
{
	struct bundle *b;
	(void)state;

	snprintf(store, sizeof(store), "/tmp/extend_test.XXXXXX");
	if (!mkdtemp(store) || bundle_begin(store, PARENT, "x", &b, NULL) < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%s", store, bundle_path(b));
	return bundle_add(b, "report.txt", "it died\n", 8, NULL) < 0 || bundle_commit(b, NULL) < 0 ?
		       -1 :
		       0;
}

static int teardown(void **state)
{
	(void)state;
	return tree_remove(AT_FDCWD, store) ? 0 : -1;
}

/* Checks the files that the manifest lists, and returns how many there are. */
static int true_files(void)
{
	cJSON *files;
	_cleanup_json_ cJSON *manifest = read_true_manifest(path, &files);

	return cJSON_GetArraySize(files);
}

static bool pending(void)
{
	_cleanup_close_ int dirfd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return extend_pending(dirfd);
}

static void an_addition_is_in_the_manifest_once_it_is_committed(void **state)
{
	struct extension *e;
	int fd;
	(void)state;

	assert_int_equal(extend_begin(path, "core.x.1.zst", &e, &fd, NULL), 0);
	assert_int_equal(write(fd, "core", 4), 4);
	assert_int_equal(true_files(), 1);
	assert_true(pending());
	assert_int_equal(extend_commit(e, NULL, NULL), 0);
	assert_int_equal(true_files(), 2);
	assert_false(pending());
}

static void a_digest_that_the_writer_knows_is_taken(void **state)
{
	const char *sha256 =
		"88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589"; /* of "abcd" */
	struct extension *e;
	int fd;
	(void)state;

	assert_int_equal(extend_begin(path, "core", &e, &fd, NULL), 0);
	assert_int_equal(write(fd, "abcd", 4), 4);
	assert_int_equal(extend_commit(e, sha256, NULL), 0);
	assert_int_equal(true_files(), 2);
}

static void an_aborted_addition_leaves_the_bundle_as_it_was(void **state)
{
	struct extension *e;
	int fd;
	(void)state;

	extend_abort(NULL);
	assert_int_equal(extend_begin(path, "core", &e, &fd, NULL), 0);
	extend_abort(e);
	assert_int_equal(true_files(), 1);
	assert_false(pending());
}

static void what_the_manifest_lists_is_not_replaced(void **state)
{
	struct err err = { 0 };
	struct extension *e;
	int fd;
	(void)state;

	assert_int_equal(extend_begin(path, "report.txt", &e, &fd, &err), 0);
	assert_int_equal(write(fd, "forged", 6), 6);
	assert_int_equal(extend_commit(e, NULL, &err), -EEXIST);
	assert_int_equal(true_files(), 1);
	assert_false(pending());
}

static void names_that_lead_elsewhere_are_refused(void **state)
{
	const char *const names[] = { "", ".", "..", ".hidden", "a/b", "/etc/passwd", "../x" };
	struct extension *e;
	int fd;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_int_equal(extend_begin(path, names[i], &e, &fd, NULL), -EINVAL);
	assert_int_equal(extend_begin("/nowhere/at/all", "core", &e, &fd, NULL), -ENOENT);
}

static void what_a_killed_writer_left_is_discarded(void **state)
{
	struct extension *e;
	char new_manifest[sizeof(path) + 32];
	int fd;
	(void)state;

	assert_int_equal(extend_begin(path, "core", &e, &fd, NULL), 0);
	snprintf(new_manifest, sizeof(new_manifest), "%s/.MANIFEST.json.partial", path);
	fd = open(new_manifest, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_return_code(fd, errno);
	close(fd);
	extend_discard(path, "core");
	assert_false(pending());
	assert_int_equal(true_files(), 1);
	extend_discard(path, "core");
	extend_discard("/absent", "core");
	extend_abort(e);
}

static void an_addition_to_a_bundle_that_is_gone_is_an_error(void **state)
{
	struct extension *e;
	struct err err = { 0 };
	int fd;
	(void)state;

	assert_int_equal(extend_begin(path, "core", &e, &fd, NULL), 0);
	assert_true(tree_remove(AT_FDCWD, path));
	assert_int_equal(extend_commit(e, NULL, &err), -ENOENT);
}

/* Simulates kill -9 at the steps of this module. The loop in e2e/kernel hits any moment. */
static void a_writer_that_dies_leaves_a_true_manifest(void **state)
{
	struct extension *e;
	int fd, status;
	pid_t child = fork();
	(void)state;

	if (child == 0) {
		extend_begin(path, "core", &e, &fd, NULL);
		_exit(write(fd, "half", 4) != 4);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(true_files(), 1);
	assert_true(pending());
	extend_discard(path, "core");
	assert_false(pending());
	assert_int_equal(true_files(), 1);
	/* The next process can try again. */
	assert_int_equal(extend_begin(path, "core", &e, &fd, NULL), 0);
	assert_int_equal(extend_commit(e, NULL, NULL), 0);
	assert_int_equal(true_files(), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_addition_is_in_the_manifest_once_it_is_committed, setup, teardown),
		cmocka_unit_test_setup_teardown(a_digest_that_the_writer_knows_is_taken, setup, teardown),
		cmocka_unit_test_setup_teardown(an_aborted_addition_leaves_the_bundle_as_it_was, setup, teardown),
		cmocka_unit_test_setup_teardown(what_the_manifest_lists_is_not_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(names_that_lead_elsewhere_are_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_killed_writer_left_is_discarded, setup, teardown),
		cmocka_unit_test_setup_teardown(an_addition_to_a_bundle_that_is_gone_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(a_writer_that_dies_leaves_a_true_manifest, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
