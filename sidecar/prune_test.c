/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of `afterglow-sidecar prune` in a store that others may write to. */
#include "sidecar/prune.h"

#include <errno.h>
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
#include "lib/macros.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/manifest.h"

#define PARENT "ml/demo/pod.7a0b1c2d/ray-worker"
#define HOSTILE PARENT "/20261121T012906.324Z-Segfault"
#define SOUND PARENT "/20261121T012907.000Z-Segfault"
#define CORE_BYTES (1 << 20)

static char root[64];
static int rootfd;

static void make_bundle(const char *name)
{
	static char core[CORE_BYTES];
	struct bundle *b;

	memset(core, 'x', sizeof(core));
	assert_int_equal(bundle_begin(root, PARENT, name, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "report.txt", "it died\n", 8, NULL), 0);
	assert_int_equal(bundle_add(b, "core.python.7.zst", core, sizeof(core), NULL), 0);
	assert_int_equal(bundle_commit(b, NULL), 0);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/prune_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_bundle(strrchr(HOSTILE, '/') + 1);
	make_bundle(strrchr(SOUND, '/') + 1);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	closep(&rootfd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

static bool exists(const char *path)
{
	return faccessat(rootfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Prunes to one core and what lies beside it. */
static void prune(void)
{
	char bytes[24];
	char *argv[] = { "--keep-bytes", bytes, "--below", "ml/demo", root, NULL };

	snprintf(bytes, sizeof(bytes), "%d", CORE_BYTES + CORE_BYTES / 2);
	assert_int_equal(prune_run(argv, NULL), 0);
}

static void put_manifest(const char *text, size_t len)
{
	assert_int_equal(unlinkat(rootfd, HOSTILE "/" MANIFEST_FILE, 0), 0);
	if (text)
		assert_int_equal(file_put(rootfd, HOSTILE "/" MANIFEST_FILE, text, len, 0600, NULL),
				 0);
}

static void cores_go_first(void **state)
{
	(void)state;
	prune();
	assert_false(exists(HOSTILE "/core.python.7.zst"));
	assert_true(exists(HOSTILE "/report.txt"));
	assert_true(exists(SOUND "/core.python.7.zst"));
}

static void a_damaged_manifest_does_not_keep_the_store_large(void **state)
{
	(void)state;
	put_manifest("nonsense", 8);
	prune();
	assert_false(exists(HOSTILE));
	assert_true(exists(SOUND "/core.python.7.zst"));
}

static void an_endless_manifest_does_not_either(void **state)
{
	_cleanup_free_ char *text = malloc(MANIFEST_MAX + 1);
	(void)state;

	assert_non_null(text);
	memset(text, ' ', MANIFEST_MAX + 1);
	put_manifest(text, MANIFEST_MAX + 1);
	prune();
	assert_false(exists(HOSTILE));
}

static void a_manifest_that_is_no_file_does_not_either(void **state)
{
	(void)state;
	put_manifest(NULL, 0);
	assert_return_code(symlinkat("/etc/passwd", rootfd, HOSTILE "/" MANIFEST_FILE), errno);
	prune();
	assert_false(exists(HOSTILE));
	make_bundle(strrchr(HOSTILE, '/') + 1);
	put_manifest(NULL, 0);
	assert_return_code(mkfifoat(rootfd, HOSTILE "/" MANIFEST_FILE, 0600), errno);
	prune();
	assert_false(exists(HOSTILE));
	assert_true(exists(SOUND "/core.python.7.zst"));
}

/* Somebody keeps other things beside the bundles of a cluster. */
static void what_is_no_bundle_stays(void **state)
{
	static const char *const others[] = {
		"ml/demo/dataset/" MANIFEST_FILE, "ml/demo/run/20200121T012906Z-run1/model", "ml/demo/run/20200121T012906.000Z/model",
		"ml/demo/run/.model.partial", "ml/demo/run/.20200121T0129.partial", "ml/demo/run/16780101T000000.000Z-Killed/model",
	};
	char *argv[] = { "--keep-seconds", "1", "--below", "ml/demo", root, NULL };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		char path[256],
			*slash = path + snprintf(path, sizeof(path), "%s/%s", root, others[i]);

		while (*slash != '/')
			slash--;
		*slash = '\0';
		assert_int_equal(dir_make_all(path, 0755, NULL), 0);
		assert_int_equal(file_put(rootfd, others[i], "mine", 4, 0600, NULL), 0);
		assert_int_equal(utimensat(rootfd, others[i],
					   (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 1 } },
					   0),
				 0);
		assert_int_equal(utimensat(AT_FDCWD, path,
					   (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 1 } },
					   0),
				 0);
	}
	assert_int_equal(prune_run(argv, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		if (!exists(others[i]))
			fail_msg("%s", others[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(cores_go_first, setup, teardown),
		cmocka_unit_test_setup_teardown(a_damaged_manifest_does_not_keep_the_store_large,
						setup, teardown),
		cmocka_unit_test_setup_teardown(an_endless_manifest_does_not_either, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_manifest_that_is_no_file_does_not_either, setup,
						teardown),
		cmocka_unit_test_setup_teardown(what_is_no_bundle_stays, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
