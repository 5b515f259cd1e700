/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the container's files that go into its bundle because an option asks for them. */
#include "sidecar/ending/gather.h"

#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"

static char directory[64];
static int root_fd;
static struct bundle *bundle;

static int setup(void **state)
{
	char path[80];
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	snprintf(directory, sizeof(directory), "/tmp/gather_ray_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	root_fd = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(path, sizeof(path), "%s/store", directory);
	if (mkdirat(root_fd, "tmp", 0755) < 0 || mkdirat(root_fd, "tmp/a", 0755) < 0)
		return -1;
	return bundle_begin(path, "local/x", "name", &bundle, NULL);
}

static int teardown(void **state)
{
	(void)state;
	bundle_abort(bundle);
	close(root_fd);
	return tree_remove(AT_FDCWD, directory) ? 0 : -1;
}

static void file(const char *path, const char *text)
{
	assert_int_equal(file_put(root_fd, path, text, strlen(text), 0644, NULL), 0);
}

static void gather(const char *const *patterns, struct report *r)
{
	const struct observer o = { .root_fd = root_fd, .collect = patterns };

	*r = (struct report){ .verdict.exit_code = 137, .started_unix_ns = 2000 * NS_PER_SEC };
	gather_collected(bundle, &o, r);
}

static void list_one(const struct bundle *b, const char *name, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);

	assert_int_equal(bundle_read_head(b, name, &text, NULL), 0);
	strbuf_addf(arg, "%s=%s ", name, strbuf_str(&text));
}

static void bundle_is(const char *expected)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT(4096);

	bundle_each_file(bundle, list_one, &list);
	assert_string_equal(strbuf_str(&list), expected);
}

static void a_file_that_two_patterns_name_is_there_once_and_ends_nothing(void **state)
{
	static const char *const patterns[] = { "/tmp/*.prof", "/tmp/one.prof", "/tmp/*e.*",
						"/tmp/late.bin", NULL };
	struct report r;
	(void)state;

	file("tmp/one.prof", "1");
	file("tmp/late.bin", "2");
	gather(patterns, &r);
	bundle_is("collected/tmp_one.prof=1 collected/tmp_late.bin=2 ");
	assert_int_equal(r.verdict.n_missing, 0);
}

static void paths_that_become_one_name_get_different_names(void **state)
{
	static const char *const patterns[] = { "/tmp/a/x", "/tmp/a_x", NULL };
	struct report r;
	(void)state;

	file("tmp/a/x", "1");
	file("tmp/a_x", "2");
	gather(patterns, &r);
	bundle_is("collected/tmp_a_x=1 collected/2-tmp_a_x=2 ");
	assert_int_equal(r.verdict.n_missing, 0);
}

static void links_out_of_the_container_fifos_and_directories_are_passed_over(void **state)
{
	static const char *const patterns[] = { "/tmp/*", NULL };
	struct report r;
	(void)state;

	assert_int_equal(symlinkat("/etc/hostname", root_fd, "tmp/link"), 0);
	assert_int_equal(mkfifoat(root_fd, "tmp/fifo", 0644), 0);
	file("tmp/one.prof", "1");
	gather(patterns, &r);
	bundle_is("collected/tmp_one.prof=1 ");
}

/* Ray's link is absolute, and leads below the root of the container. */
static void what_memray_wrote_to_the_logs_of_the_last_session_is_found(void **state)
{
	static const char *const patterns[] = { "/tmp/ray/session_latest/logs/*.bin", NULL };
	struct report r;
	(void)state;

	assert_int_equal(mkdirat(root_fd, "tmp/ray", 0755), 0);
	assert_int_equal(mkdirat(root_fd, "tmp/ray/session_1", 0755), 0);
	assert_int_equal(mkdirat(root_fd, "tmp/ray/session_1/logs", 0755), 0);
	assert_int_equal(symlinkat("/tmp/ray/session_1", root_fd, "tmp/ray/session_latest"), 0);
	file("tmp/ray/session_1/logs/task_mem_profile.bin", "1");
	file("tmp/ray/session_1/logs/raylet.out", "2");
	gather(patterns, &r);
	bundle_is("collected/tmp_ray_session_latest_logs_task_mem_profile.bin=1 ");
}

/*
 * As where exec runs a command beside other users of the machine, and fs.protected_symlinks is 0.
 */
static void other_jobs_and_other_users_files_are_left_alone(void **state)
{
	static const char *const names[] = { "tmp/[!o]*.bin", "tmp/directory/*.bin", "tmp/ours.bin",
					     "tmp/own-link.bin" };
	char texts[ARRAY_SIZE(names)][128], expected[400], flat[64];
	const char *patterns[ARRAY_SIZE(names) + 1] = { NULL };
	int own = root_fd;
	struct report r;
	(void)state;

	if (geteuid() != 0)
		skip();
	assert_int_equal(mkdirat(own, "keys", 0700), 0);
	file("keys/id.bin", "secret");
	file("keys/ours.bin", "2");
	file("tmp/theirs.bin", "theirs");
	file("tmp/ours.bin", "1");
	file("tmp/before.bin", "of an earlier job");
	assert_int_equal(utimensat(own, "tmp/before.bin",
				   (struct timespec[]){ { 1000, 0 }, { 1000, 0 } }, 0),
			 0);
	assert_int_equal(linkat(own, "keys/id.bin", own, "tmp/hard.bin", 0), 0);
	assert_int_equal(symlinkat("../keys/id.bin", own, "tmp/soft.bin"), 0);
	assert_int_equal(symlinkat("../keys", own, "tmp/directory"), 0);
	assert_int_equal(symlinkat("../keys/ours.bin", own, "tmp/own-link.bin"), 0);
	assert_int_equal(fchownat(own, "tmp/theirs.bin", 1, 1, 0), 0);
	assert_int_equal(fchownat(own, "tmp/soft.bin", 1, 1, AT_SYMLINK_NOFOLLOW), 0);
	assert_int_equal(fchownat(own, "tmp/directory", 1, 1, AT_SYMLINK_NOFOLLOW), 0);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		snprintf(texts[i], sizeof(texts[i]), "%s/%s", directory, names[i]);
		patterns[i] = texts[i];
	}
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	gather(patterns, &r);
	close(root_fd);
	root_fd = own;
	snprintf(flat, sizeof(flat), "%s", directory + 1);
	bundle_sanitize(flat);
	snprintf(expected, sizeof(expected),
		 "collected/%s_tmp_ours.bin=1 collected/%s_tmp_own-link.bin=2 ", flat, flat);
	bundle_is(expected);
}

static void the_newest_drivers_logs_are_kept_with_names_that_are_safe(void **state)
{
	static const char *const dirs[] = { "tmp/ray", "tmp/ray/session_1",
					    "tmp/ray/session_1/logs" };
	static const struct {
		const char *name, *text;
		time_t age;
	} logs[] = { { "job-driver-first.log", "1", 1000 },
		     { "job-driver-my job.log", "2", 2000 },
		     { "job-driver-third.log", "3", 3000 } };
	struct report r = { .verdict.exit_code = 1 };
	int fd;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(dirs); i++)
		assert_int_equal(mkdirat(root_fd, dirs[i], 0755), 0);
	assert_int_equal(symlinkat("session_1", root_fd, "tmp/ray/session_latest"), 0);
	for (size_t i = 0; i < ARRAY_SIZE(logs); i++) {
		char path[128];

		snprintf(path, sizeof(path), "tmp/ray/session_1/logs/%s", logs[i].name);
		file(path, logs[i].text);
		assert_int_equal(
			utimensat(root_fd, path,
				  (struct timespec[]){ { logs[i].age, 0 }, { logs[i].age, 0 } }, 0),
			0);
	}
	file("tmp/ray/session_1/logs/raylet.out", "r");
	struct observer o = { .root_fd = root_fd,
			      .node = RAY_NODE_UNKNOWN,
			      .ray = ray_watch_new(root_fd, 0) };
	while (!ray_watch_finish(o.ray, now_boottime_ns(), &fd))
		assert_int_equal(poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 60000), 1);
	gather_ray_logs(bundle, &o, &r);
	bundle_is("logs/job-driver-third.log=3 logs/job-driver-my_job.log=2 logs/raylet.out=r ");
	ray_watch_free(o.ray);
}

/* Somebody may have removed the session's directory, and Ray ends without it. */
static void a_command_that_ran_ray_lacks_its_logs_and_another_one_does_not(void **state)
{
	(void)state;
	for (size_t n = 0; n < 2; n++) {
		struct observer o = { .root_fd = root_fd, .processes.n_ends = n };
		struct report r = { .n_top = 0 };

		gather_ray_logs(bundle, &o, &r);
		assert_int_equal(r.verdict.n_missing, n);
	}
	bundle_is("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_that_two_patterns_name_is_there_once_and_ends_nothing),
		TEST(paths_that_become_one_name_get_different_names),
		TEST(what_memray_wrote_to_the_logs_of_the_last_session_is_found),
		TEST(the_newest_drivers_logs_are_kept_with_names_that_are_safe),
		TEST(other_jobs_and_other_users_files_are_left_alone),
		TEST(links_out_of_the_container_fifos_and_directories_are_passed_over),
		TEST(a_command_that_ran_ray_lacks_its_logs_and_another_one_does_not),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
