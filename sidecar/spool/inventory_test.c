/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of listing the bundles of a directory, and of removing them. */
#include "sidecar/spool/inventory.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"
#include "sidecar/store/manifest.h"

#define POD "ml/demo/pod.7a0b1c2d"
#define FIRST "20261121T012906.324Z-Segfault"
#define SECOND "20261121T012907.000Z-Segfault"

static char root[64];
static int rootfd;
static struct inventory inv;

static void add_core(const char *path)
{
	char core[8192] = "core";
	struct extension *e;
	int fd;

	assert_int_equal(extend_begin(path, "core.python.7.zst", &e, &fd, NULL), 0);
	assert_int_equal(write(fd, core, sizeof(core)), sizeof(core));
	assert_int_equal(extend_commit(e, NULL, NULL), 0);
}

static void make_bundle(const char *parent, const char *name, bool with_core)
{
	char path[BUNDLE_PATH_MAX + 64];
	struct bundle *b;

	assert_int_equal(bundle_begin(root, parent, name, &b, NULL), 0);
	snprintf(path, sizeof(path), "%s/%s", root, bundle_path(b));
	assert_int_equal(bundle_add(b, "report.txt", "it died\n", 8, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.out", "log\n", 4, NULL), 0);
	assert_int_equal(bundle_commit(b, NULL), 0);
	if (with_core)
		add_core(path);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/inventory_test.XXXXXX");
	if (!mkdtemp(root))
		return -1;
	rootfd = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	make_bundle(POD "/ray-worker", SECOND, false);
	make_bundle(POD "/ray-worker", FIRST, true);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	inventory_release(&inv);
	closep(&rootfd);
	return tree_remove(AT_FDCWD, root) ? 0 : -1;
}

static bool exists(const char *path)
{
	return faccessat(rootfd, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Returns how many files the manifest lists. Each must exist. */
static int listed(const char *bundle)
{
	_cleanup_close_ int fd = openat(rootfd, bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_json_ cJSON *manifest = NULL;
	cJSON *files;
	const cJSON *file;

	assert_int_equal(manifest_read(fd, &manifest, &files, NULL), 0);
	cJSON_ArrayForEach(file, files)
		assert_int_equal(faccessat(fd, json_str(file, "name"), F_OK, 0), 0);
	return cJSON_GetArraySize(files);
}

static void bundles_are_found_oldest_first_and_measured_by_kind(void **state)
{
	(void)state;
	assert_int_equal(inventory_read(rootfd, "", 10, &inv, NULL), 0);
	assert_int_equal(inv.n, 2);
	assert_string_equal(inv.stored[0].path, POD "/ray-worker/" FIRST);
	assert_string_equal(inv.stored[1].path, POD "/ray-worker/" SECOND);
	assert_in_range(inv.stored[0].core, 8192, 65536);
	assert_int_equal(inv.stored[1].core, 0);
	assert_in_range(inv.stored[1].files, 4, 65536);
	assert_in_range(inv.stored[1].report, 8, 65536);
	assert_int_equal(inv.stored[1].at_ns - inv.stored[0].at_ns, 676 * NS_PER_MS);
	assert_true(inv.bytes >= inv.stored[0].core + inv.stored[0].files + inv.stored[0].report);
}

static void what_is_no_bundle_is_none(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(rootfd, POD "/ray-worker/.half.partial", 0755), 0);
	assert_int_equal(file_put(rootfd, POD "/ray-worker/.half.partial/MANIFEST.json", "{}", 2,
				  0600, NULL),
			 0);
	assert_int_equal(mkdirat(rootfd, POD "/empty", 0755), 0);
	assert_int_equal(symlinkat("/", rootfd, POD "/ray-worker/root"), 0);
	assert_int_equal(symlinkat(POD, rootfd, "loop"), 0);
	assert_int_equal(inventory_read(rootfd, "", 10, &inv, NULL), 0);
	assert_int_equal(inv.n, 2);
	inventory_release(&inv);
	assert_int_equal(inventory_read(rootfd, "ml/other", 10, &inv, NULL), -ENOENT);
	assert_int_equal(inventory_read(rootfd, "loop", 10, &inv, NULL), -ENOTDIR);
}

/*
 * A second pruner on another machine, where locks of this one hold nothing. It does its whole work
 * just before the first one renames its new manifest.
 */
static bool other_pruner_comes;
int __real_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new);
int __wrap_renameat(int from, const char *old, int to, const char *new)
{
	if (other_pruner_comes && strcmp(new, MANIFEST_FILE) == 0) {
		other_pruner_comes = false;
		assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL),
				 0);
	}
	return __real_renameat(from, old, to, new);
}

static void two_pruners_take_a_core_and_nothing_more(void **state)
{
	(void)state;
	other_pruner_comes = true;
	inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL);
	assert_false(other_pruner_comes);
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 2);
	assert_false(exists(POD "/ray-worker/" FIRST "/core.python.7.zst"));
}

static void one_that_nobody_finished_goes_as_a_whole(void **state)
{
	(void)state;
	assert_int_equal(unlinkat(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", 0), 0);
	assert_int_equal(inventory_read(rootfd, "", 10, &inv, NULL), 0);
	assert_int_equal(inv.n, 2);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL), 0);
	assert_false(exists(POD "/ray-worker/" FIRST));
}

static void more_than_the_ceiling_is_counted(void **state)
{
	(void)state;
	assert_int_equal(inventory_read(rootfd, POD, 1, &inv, NULL), 0);
	assert_int_equal(inv.n, 1);
	assert_int_equal(inv.left_out, 1);
}

static void a_core_goes_and_the_manifest_says_so(void **state)
{
	_cleanup_json_ cJSON *manifest = NULL;
	_cleanup_close_ int fd = -1;
	cJSON *files;
	(void)state;

	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL), 0);
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 2);
	assert_false(exists(POD "/ray-worker/" FIRST "/core.python.7.zst"));
	fd = openat(rootfd, POD "/ray-worker/" FIRST, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(manifest_read(fd, &manifest, &files, NULL), 0);
	assert_non_null(json_find(json_get(manifest, "dropped"), "name", "core.python.7.zst"));
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL), 0);
}

static void an_earlier_error_is_not_reported_again(void **state)
{
	struct err err = { 0 };
	(void)state;

	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/absent", DROP_BUNDLE, &err),
			 -ENOENT);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, &err), 0);
}

static void logs_go_and_the_report_stays(void **state)
{
	(void)state;
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 1);
	assert_true(exists(POD "/ray-worker/" FIRST "/report.txt"));
	assert_false(exists(POD "/ray-worker/" FIRST "/logs"));
}

static void a_bundle_goes_as_a_whole_and_its_empty_directories(void **state)
{
	(void)state;
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_BUNDLE, NULL), 0);
	inventory_remove_empty(rootfd, POD "/ray-worker/" FIRST, 0, 0);
	assert_int_equal(listed(POD "/ray-worker/" SECOND), 2);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" SECOND, DROP_BUNDLE, NULL), 0);
	inventory_remove_empty(rootfd, POD "/ray-worker/" SECOND, 2, 3600 * NS_PER_SEC);
	assert_true(exists(POD "/ray-worker"));
	inventory_remove_empty(rootfd, POD "/ray-worker/" SECOND, 2, 0);
	assert_false(exists(POD));
	assert_true(exists("ml/demo"));
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" SECOND, DROP_BUNDLE, NULL),
			 -ENOENT);
}

static void a_removal_that_was_interrupted_is_finished(void **state)
{
	(void)state;
	inventory_finish_drop(rootfd, POD "/ray-worker/" FIRST);
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 3);
	assert_return_code(renameat(rootfd, POD "/ray-worker/" FIRST, rootfd,
				    POD "/ray-worker/." FIRST ".partial"),
			   errno);
	inventory_finish_drop(rootfd, POD "/ray-worker/" FIRST);
	assert_false(exists(POD "/ray-worker/." FIRST ".partial"));
	assert_int_equal(listed(POD "/ray-worker/" SECOND), 2);
	inventory_finish_drop(rootfd, POD "/ray-worker/" FIRST);
	inventory_finish_drop(rootfd, POD "/absent/" FIRST);
}

static void a_manifest_that_leads_elsewhere_removes_nothing_there(void **state)
{
	static const char text[] =
		"{\"files\":[{\"name\":\"../../../../witness\"},{\"name\":\"/tmp\"},{\"name\":\"logs/raylet.out\"},{}]}";
	(void)state;

	assert_int_equal(file_put(rootfd, "witness", "", 0, 0600, NULL), 0);
	assert_int_equal(file_put(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", text,
				  sizeof(text) - 1, 0600, NULL),
			 0);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	assert_true(exists("witness"));
	assert_false(exists(POD "/ray-worker/" FIRST "/logs/raylet.out"));
	assert_int_equal(file_put(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", "nonsense", 8,
				  0600, NULL),
			 0);
	assert_int_not_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_CORE, NULL), 0);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_BUNDLE, NULL), 0);
}

/* The manifest's list of what was dropped before is as hostile as that of its files. */
static void what_was_dropped_before_leads_nowhere_either(void **state)
{
	static const char text[] = "{\"files\":[{\"name\":\"logs/raylet.out\"}],"
				   "\"dropped\":[{},7,{\"name\":\"../../../../witness\"}]}";
	(void)state;

	assert_int_equal(file_put(rootfd, "witness", "", 0, 0600, NULL), 0);
	assert_int_equal(file_put(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", text,
				  sizeof(text) - 1, 0600, NULL),
			 0);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	assert_false(exists(POD "/ray-worker/" FIRST "/logs"));
	assert_true(exists("witness"));
}

static bool is_mine(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);

	return file_read(rootfd, "elsewhere/mine", &text, NULL) == 0 &&
	       strcmp(strbuf_str(&text), "mine") == 0;
}

/* Links to the sidecar's other files, and a bundle in a store where others can write. */
static void links_lead_nowhere(void **state)
{
	static const char text[] =
		"{\"files\":[{\"name\":\"report.txt\"},{\"name\":\"logs/mine\"},{\"name\":\"core.x.1.zst\"}]}";
	(void)state;

	assert_int_equal(mkdirat(rootfd, "elsewhere", 0700), 0);
	assert_int_equal(file_put(rootfd, "elsewhere/mine", "mine", 4, 0600, NULL), 0);
	/* A directory of the bundle */
	assert_int_equal(file_put(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", text,
				  sizeof(text) - 1, 0600, NULL),
			 0);
	assert_int_equal(unlinkat(rootfd, POD "/ray-worker/" FIRST "/logs/raylet.out", 0), 0);
	assert_int_equal(unlinkat(rootfd, POD "/ray-worker/" FIRST "/logs", AT_REMOVEDIR), 0);
	assert_int_equal(
		symlinkat("../../../../../elsewhere", rootfd, POD "/ray-worker/" FIRST "/logs"), 0);
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	assert_true(is_mine());
	/* The manifest itself */
	assert_int_equal(unlinkat(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", 0), 0);
	assert_int_equal(symlinkat("../../../../../elsewhere/mine", rootfd,
				   POD "/ray-worker/" FIRST "/MANIFEST.json"),
			 0);
	assert_int_not_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	assert_int_equal(unlinkat(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", 0), 0);
	assert_int_equal(mkfifoat(rootfd, POD "/ray-worker/" FIRST "/MANIFEST.json", 0600), 0);
	assert_int_not_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	/* The bundle's directory, and one above it, were replaced after they were found */
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_BUNDLE, NULL), 0);
	assert_int_equal(symlinkat("../../../../elsewhere", rootfd, POD "/ray-worker/" FIRST), 0);
	assert_int_not_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_FILES, NULL), 0);
	/* the link itself */
	assert_int_equal(inventory_drop(rootfd, POD "/ray-worker/" FIRST, DROP_BUNDLE, NULL), 0);
	assert_int_equal(symlinkat("../../elsewhere", rootfd, "ml/demo/link"), 0);
	assert_int_not_equal(inventory_drop(rootfd, "ml/demo/link/mine", DROP_BUNDLE, NULL), 0);
	inventory_remove_empty(rootfd, "ml/demo/link/x/y", 0, 0);
	assert_true(is_mine());
}

static void only_what_is_stale_is_cleared_away(void **state)
{
	(void)state;
	assert_int_equal(mkdirat(rootfd, POD "/ray-worker/." FIRST ".partial", 0755), 0);
	assert_int_equal(mkdirat(rootfd, POD "/ray-worker/.x.partial", 0755), 0);
	assert_int_equal(
		file_put(rootfd, POD "/ray-worker/" FIRST "/.core.partial", "x", 1, 0600, NULL), 0);
	inventory_remove_stale(rootfd, "", 3600 * NS_PER_SEC, 0);
	assert_true(exists(POD "/ray-worker/." FIRST ".partial"));
	inventory_remove_stale(rootfd, "", 0, 3600 * NS_PER_SEC);
	assert_false(exists(POD "/ray-worker/." FIRST ".partial"));
	assert_true(exists(POD "/ray-worker/.x.partial"));
	assert_false(exists(POD "/ray-worker/" FIRST "/.core.partial"));
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 3);
}

static void what_dead_nfs_clients_left_is_cleared_away(void **state)
{
	static const char *const left = POD "/ray-worker/" FIRST "/.nfs000000000000002a0000001b";
	static const char *const mine[] = { "ml/.nfs", "ml/.nfs000000000000002a",
					    "ml/.nfs000000000000002a0000001bc",
					    "ml/.nfs-000000000000002a000001b",
					    "ml/.nfs000000000000002a0000001b" };
	(void)state;

	assert_int_equal(file_put(rootfd, left, "x", 1, 0600, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		assert_int_equal(file_put(rootfd, mine[i], "x", 1, 0600, NULL), 0);
	/* The file was written long ago, and removed just now. */
	assert_int_equal(
		utimensat(rootfd, left, (struct timespec[]){ { .tv_sec = 1 }, { .tv_sec = 1 } }, 0),
		0);
	inventory_remove_stale(rootfd, "", 0, INVENTORY_STALE_NS);
	assert_true(exists(left));
	inventory_remove_stale(rootfd, "", INVENTORY_STALE_NS, 0);
	assert_false(exists(left));
	for (size_t i = 0; i < ARRAY_SIZE(mine); i++)
		assert_true(exists(mine[i]));
	assert_int_equal(listed(POD "/ray-worker/" FIRST), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bundles_are_found_oldest_first_and_measured_by_kind,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_bundle_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(one_that_nobody_finished_goes_as_a_whole, setup,
						teardown),
		cmocka_unit_test_setup_teardown(two_pruners_take_a_core_and_nothing_more, setup, teardown),
		cmocka_unit_test_setup_teardown(more_than_the_ceiling_is_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(a_core_goes_and_the_manifest_says_so, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_earlier_error_is_not_reported_again, setup,
						teardown),
		cmocka_unit_test_setup_teardown(logs_go_and_the_report_stays, setup, teardown),
		cmocka_unit_test_setup_teardown(a_bundle_goes_as_a_whole_and_its_empty_directories,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_removal_that_was_interrupted_is_finished, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_manifest_that_leads_elsewhere_removes_nothing_there, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_dropped_before_leads_nowhere_either, setup,
						teardown),
		cmocka_unit_test_setup_teardown(links_lead_nowhere, setup, teardown),
		cmocka_unit_test_setup_teardown(what_dead_nfs_clients_left_is_cleared_away, setup, teardown),
		cmocka_unit_test_setup_teardown(only_what_is_stale_is_cleared_away, setup,
						teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
