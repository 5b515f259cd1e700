/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of bundles: each is complete or not visible. */
#include "sidecar/store/bundle.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "lib/digest/sha256.h"
#include "lib/fileio.h"
#include "lib/json.h"

#define PARENT "ml/demo/pod.7a0b1c2d/ray-worker"
#define NAME "20261121T012906.324Z-KernelOOMContainer"

static char store[64];

static int setup(void **state)
{
	(void)state;
	snprintf(store, sizeof(store), "/tmp/bundle_test.XXXXXX");
	return mkdtemp(store) ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	snprintf(command, sizeof(command), "rm -rf %s", store);
	return system(command);
}

/* Counts the entries of PARENT, hidden ones included. */
static unsigned int entries(void)
{
	char path[256];
	unsigned int n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/" PARENT, store);
	dir = opendir(path);
	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n < 2 ? 0 : n - 2;
}

static int open_descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 2048; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static int keep(const void *data, size_t len, char *ret_path, struct err *err)
{
	struct bundle *b;
	int r = bundle_begin(store, PARENT, NAME, &b, err);

	if (r < 0)
		return r;
	snprintf(ret_path, BUNDLE_PATH_MAX, "%s/%s", store, bundle_path(b));
	r = bundle_add(b, "report.txt", data, len, err);
	if (r < 0) {
		bundle_abort(b);
		return r;
	}
	return bundle_commit(b, err);
}

static void a_manifest_tells_size_and_digest_of_every_file(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *manifest = NULL;
	char path[BUNDLE_PATH_MAX + 64], digest[SHA256_TEXT_MAX];
	static char big[3 << 20];
	struct bundle *b;
	struct stat st;
	int before = open_descriptors();
	const cJSON *file;
	int64_t len;
	(void)state;

	memset(big, 'b', sizeof(big));
	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, NULL), 0);
	assert_string_equal(bundle_path(b), PARENT "/" NAME);
	assert_int_equal(bundle_add(b, "report.txt", "hello\n", 6, NULL), 0);
	assert_int_equal(bundle_add(b, "empty", "", 0, NULL), 0);
	assert_int_equal(bundle_add(b, "big", big, sizeof(big), NULL), 0);
	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME, store);
	assert_int_equal(stat(path, &st), -1); /* it is not visible before it is complete */
	assert_int_equal(bundle_commit(b, NULL), 0);
	assert_int_equal(entries(), 1);
	assert_int_equal(open_descriptors(), before);

	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME "/MANIFEST.json", store);
	assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
	assert_int_equal(json_parse(strbuf_str(&text), text.len, &manifest, NULL), 0);
	assert_string_equal(json_str(manifest, "kind"), "Manifest");
	assert_int_equal(cJSON_GetArraySize(json_get(manifest, "files")), 3);
	cJSON_ArrayForEach(file, json_get(manifest, "files")) {
		snprintf(path, sizeof(path), "%s/" PARENT "/" NAME "/%s", store,
			 json_str(file, "name"));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_size, json_int(file, "sizeBytes", -1));
		assert_int_equal(st.st_mode & 07777, 0640);
		_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

		assert_int_equal(sha256_file(fd, 0, INT64_MAX, NULL, NULL, &len, digest, NULL), 0);
		assert_int_equal(len, st.st_size);
		assert_string_equal(digest, json_str(file, "sha256"));
	}
	file = json_find(json_get(manifest, "files"), "name", "report.txt");
	assert_string_equal(json_str(file, "sha256"),
			    "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03");
}

static void a_name_that_is_taken_gets_a_number(void **state)
{
	char path[BUNDLE_PATH_MAX], expected[256];
	struct bundle *open_bundle;
	(void)state;

	assert_int_equal(keep("1", 1, path, NULL), 0);
	assert_int_equal(keep("2", 1, path, NULL), 0);
	snprintf(expected, sizeof(expected), "%s/" PARENT "/" NAME "-2", store);
	assert_string_equal(path, expected);
	/* A bundle that is being written, or was when its sidecar died, is not touched either. */
	assert_int_equal(bundle_begin(store, PARENT, NAME, &open_bundle, NULL), 0);
	assert_string_equal(bundle_path(open_bundle), PARENT "/" NAME "-3");
	assert_int_equal(keep("4", 1, path, NULL), 0);
	snprintf(expected, sizeof(expected), "%s/" PARENT "/" NAME "-4", store);
	assert_string_equal(path, expected);
	bundle_abort(open_bundle);
	assert_int_equal(entries(), 3);
}

static void a_thousandth_of_one_name_is_refused(void **state)
{
	char path[BUNDLE_PATH_MAX + 64];
	struct bundle *b = NULL;
	struct err err = { 0 };
	int before;
	(void)state;

	for (int i = 1; i < 1000; i++) {
		/* Unfinished bundles. The last one must not be taken over. */
		if (i == 1)
			snprintf(path, sizeof(path), "%s/" PARENT "/." NAME ".partial", store);
		else
			snprintf(path, sizeof(path), "%s/" PARENT "/." NAME "-%d.partial", store,
				 i);
		assert_int_equal(dir_make_all(path, 0755, NULL), 0);
	}
	before = open_descriptors();
	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, &err), -EEXIST);
	assert_null(b);
	assert_int_equal(open_descriptors(), before);
	assert_int_equal(entries(), 999);
}

static void files_may_lie_in_a_directory(void **state)
{
	char path[2 * BUNDLE_PATH_MAX];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4096);
	struct bundle *b;
	int fd;
	(void)state;

	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.out", "said", 4, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.err", "", 0, NULL), 0);
	/* The container's files may have names that differ only where ours may not. */
	assert_int_equal(bundle_add(b, "logs/raylet.out", "forged", 6, NULL), -EEXIST);
	fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	assert_int_equal(bundle_copy(b, "collected/zeros", fd, 100000, NULL), 0);
	assert_int_equal(bundle_copy(b, "collected/zeros", fd, 1, NULL), -EEXIST);
	close(fd);
	fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(bundle_copy(b, "logs/directory", fd, 1, NULL), -EISDIR);
	/* A directory whose only file could not be made does not stay. */
	snprintf(path, sizeof(path), "cores/%0*d", NAME_MAX + 1, 0);
	assert_int_equal(bundle_add(b, path, "x", 1, NULL), -ENAMETOOLONG);
	assert_int_equal(bundle_copy(b, path, fd, 1, NULL), -ENAMETOOLONG);
	close(fd);
	assert_int_equal(bundle_commit(b, NULL), 0);
	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME "/cores", store);
	assert_int_equal(access(path, F_OK), -1);
	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME "/logs/raylet.out", store);
	assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
	assert_string_equal(strbuf_str(&text), "said");
	strbuf_reset(&text);
	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME "/MANIFEST.json", store);
	assert_int_equal(file_read(AT_FDCWD, path, &text, NULL), 0);
	assert_non_null(strstr(strbuf_str(&text), "\"logs/raylet.err\""));
	assert_non_null(strstr(strbuf_str(&text), "\"collected/zeros\""));
	/* sha256sum of 100000 zeros */
	assert_non_null(strstr(strbuf_str(&text),
			       "9192c25b734fcbadbe32dadc28089c60db0e39f90cc20ce2e5733f57261acc0c"));
	assert_null(strstr(strbuf_str(&text), "logs/directory"));
}

static void an_aborted_bundle_leaves_nothing(void **state)
{
	struct bundle *b;
	int before = open_descriptors();
	(void)state;

	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "report.txt", "x", 1, NULL), 0);
	assert_int_equal(bundle_add(b, "report.json", "x", 1, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.out", "x", 1, NULL), 0);
	assert_int_equal(bundle_add(b, "hooks/py-spy.txt", "x", 1, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/raylet.err", "x", 1, NULL), 0);
	assert_true(bundle_add(b, "core/too/deep", "x", 1, NULL) < 0);
	assert_int_equal(entries(), 1);
	bundle_abort(b);
	assert_int_equal(entries(), 0);
	assert_int_equal(open_descriptors(), before);
	bundle_abort(NULL);
}

static void a_failed_commit_leaves_nothing(void **state)
{
	char path[BUNDLE_PATH_MAX];
	struct bundle *b;
	struct err err = { 0 };
	(void)state;

	/* Meanwhile the name is taken by something that a rename does not replace. */
	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "report.txt", "x", 1, NULL), 0);
	snprintf(path, sizeof(path), "%s/" PARENT "/" NAME, store);
	assert_int_equal(file_write(AT_FDCWD, path, "", 0, 0644, NULL), 0);
	assert_true(bundle_commit(b, &err) < 0);
	assert_non_null(strstr(err.text, PARENT "/" NAME));
	assert_int_equal(entries(), 1);
}

static void a_file_that_does_not_fit_leaves_nothing(void **state)
{
	char path[BUNDLE_PATH_MAX];
	static char big[1 << 20];
	struct err err = { 0 };
	struct rlimit unlimited, small = { 4096, RLIM_INFINITY };
	(void)state;

	/* A limit on the file's size cuts a write short as a full disk does. */
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &unlimited), 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(keep(big, sizeof(big), path, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &unlimited);
	assert_int_equal(entries(), 0);
}

/*
 * Runs fn in a mount namespace with a 64 KiB tmpfs as the store. Returns false if that is not
 * permitted here.
 */
static bool on_tiny_tmpfs(void (*fn)(void))
{
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (unshare(CLONE_NEWNS) < 0 ||
		    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
		    mount("tiny", store, "tmpfs", 0, "size=64k") < 0)
			_exit(77);
		fn();
		exit(0); /* runs the leak check of sanitizers */
	}
	waitpid(child, &status, 0);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		return false;
	assert_int_equal(status, 0);
	return true;
}

#define EXPECT(what) \
	do { \
		if (!(what)) { \
			print_error("line %d: %s\n", __LINE__, #what); \
			_exit(1); \
		} \
	} while (0)

static void fill_the_tmpfs(void)
{
	char path[BUNDLE_PATH_MAX];
	static char half[40 << 10];
	struct err err = { 0 };

	EXPECT(keep(half, sizeof(half), path, &err) == 0);
	EXPECT(keep(half, sizeof(half), path, &err) == -ENOSPC);
	EXPECT(strstr(err.text, "No space left"));
	EXPECT(entries() == 1);
	EXPECT(keep(half, 4096, path, &err) == 0);
	EXPECT(entries() == 2);
	/* There is room for the file, but none for the manifest. */
	for (size_t len = 1; len < sizeof(half); len += 1024)
		if (keep(half, len, path, &err) < 0)
			break;
	EXPECT(err.code == ENOSPC);
	EXPECT(access(path, F_OK) < 0);
}

static void make_it_read_only(void)
{
	char path[BUNDLE_PATH_MAX];
	struct err err = { 0 };

	EXPECT(mount("none", store, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	EXPECT(keep("x", 1, path, &err) == -EROFS);
	EXPECT(strstr(err.text, "Read-only"));
	EXPECT(mount("none", store, NULL, MS_REMOUNT, NULL) == 0);
	EXPECT(keep("x", 1, path, &err) == 0);
	EXPECT(mount("none", store, NULL, MS_REMOUNT | MS_RDONLY, NULL) == 0);
	EXPECT(keep("x", 1, path, &err) == -EROFS);
	EXPECT(entries() == 1);
}

static void a_full_store_is_an_error_and_keeps_what_is_complete(void **state)
{
	(void)state;
	if (!on_tiny_tmpfs(fill_the_tmpfs))
		skip();
}

static void a_read_only_store_is_an_error(void **state)
{
	(void)state;
	if (!on_tiny_tmpfs(make_it_read_only))
		skip();
}

static void a_store_that_is_a_file_or_absent_is_an_error(void **state)
{
	char path[BUNDLE_PATH_MAX];
	struct bundle *b;
	struct err err = { 0 };
	(void)state;

	assert_int_equal(bundle_begin("/dev/null", PARENT, NAME, &b, &err), -ENOTDIR);
	assert_true(bundle_begin("/proc/nowhere", PARENT, NAME, &b, &err) < 0);
	memset(path, 'p', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(bundle_begin(store, path, NAME, &b, &err), -ENAMETOOLONG);
	assert_int_equal(bundle_begin(path, PARENT, NAME, &b, &err), -ENAMETOOLONG);
}

static void remember_name(const struct bundle *b, const char *file, void *arg)
{
	(void)b;
	strbuf_addf(arg, "%s;", file);
}

static void what_was_added_can_be_listed_and_read_again(void **state)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT(100), all = STRBUF_INIT(100),
				       tail = STRBUF_INIT(4), head = STRBUF_INIT(4),
				       none = STRBUF_INIT(4);
	struct bundle *b;
	(void)state;

	assert_int_equal(bundle_begin(store, PARENT, NAME, &b, NULL), 0);
	assert_int_equal(bundle_add(b, "logs/a.out", "0123456789", 10, NULL), 0);
	assert_int_equal(bundle_add(b, "empty", "", 0, NULL), 0);
	bundle_each_file(b, remember_name, &names);
	assert_string_equal(strbuf_str(&names), "logs/a.out;empty;");
	assert_int_equal(bundle_read_tail(b, "logs/a.out", &all, NULL), 0);
	assert_string_equal(strbuf_str(&all), "0123456789");
	assert_int_equal(bundle_read_tail(b, "logs/a.out", &tail, NULL), 0);
	assert_string_equal(strbuf_str(&tail), "6789");
	assert_int_equal(bundle_read_head(b, "logs/a.out", &head, NULL), 0);
	assert_string_equal(strbuf_str(&head), "0123");
	assert_int_equal(bundle_read_tail(b, "empty", &none, NULL), 0);
	assert_int_equal(none.len, 0);
	assert_int_equal(bundle_read_tail(b, "other", &none, NULL), -ENOENT);
	bundle_abort(b);
}

static void any_text_becomes_one_component_of_a_path(void **state)
{
	static const struct {
		const char *from, *to;
	} rows[] = {
		{ "ray-worker", "ray-worker" }, { "a.b_C-9", "a.b_C-9" }, { "", "_" },		   { ".", "_" },
		{ "..", "_." },			{ ".hidden", "_hidden" }, { "../../etc", "_._.._etc" }, { "/", "_" },
		{ "a b\n\033", "a_b__" },	{ "caf\xc3\xa9", "caf__" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char text[32];

		snprintf(text, sizeof(text), "%s", rows[i].from);
		bundle_sanitize(text);
		assert_string_equal(text, rows[i].to);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_manifest_tells_size_and_digest_of_every_file, setup, teardown),
		cmocka_unit_test_setup_teardown(a_name_that_is_taken_gets_a_number, setup, teardown),
		cmocka_unit_test_setup_teardown(a_thousandth_of_one_name_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(files_may_lie_in_a_directory, setup, teardown),
		cmocka_unit_test_setup_teardown(what_was_added_can_be_listed_and_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(an_aborted_bundle_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_failed_commit_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_that_does_not_fit_leaves_nothing, setup, teardown),
		cmocka_unit_test_setup_teardown(a_full_store_is_an_error_and_keeps_what_is_complete, setup, teardown),
		cmocka_unit_test_setup_teardown(a_read_only_store_is_an_error, setup, teardown),
		cmocka_unit_test_setup_teardown(a_store_that_is_a_file_or_absent_is_an_error, setup, teardown),
		cmocka_unit_test(any_text_becomes_one_component_of_a_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
