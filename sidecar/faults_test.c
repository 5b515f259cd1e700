/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth allocation fails, for every N until all succeed. There must be no crash and no leak
 * (under the address sanitizer), and what is written must be right, or an error must be returned.
 * See lib/faults_testing.h.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/faults_testing.h"
#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/ending/postmortem.h"
#include "sidecar/keeping/events.h"
#include "sidecar/report/diagnose.h"
#include "sidecar/report/report_json.h"
#include "sidecar/store/bundle.h"
#include "sidecar/verdict/classify.h"

static char directory[64];
static int root_fd;

static void fill_report(struct report *r)
{
	const struct observation seen = { .container = "c",
					  .cgroup_version = 2,
					  .after_known = true,
					  .oom_age_ns = -1,
					  .last = { .limit = 1 << 30, .usage = 1 << 30 },
					  .after = { .oom_kill = 1, .oom_group_kill = 1 } };

	*r = (struct report){
		.id = { .namespace = "ns", .pod = "p", .pod_uid = "uid", .container = "c" },
		.memory = seen.last,
		.started_unix_ns = NS_PER_SEC,
		.ended_unix_ns = 2 * NS_PER_SEC,
		.n_top = REPORT_TOP_MAX
	};
	for (size_t i = 0; i < r->n_top; i++)
		r->top[i] = (struct process){ .pid = (pid_t)i + 1,
					      .rss = 1 << 20,
					      .name = "ray::leak",
					      .command = "ray::leak" };
	classify(&seen, &r->verdict);
	report_diagnose(r);
}

/* --- Bodies --- */

static void render(void)
{
	struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX), json = STRBUF_INIT(REPORT_JSON_MAX),
		      message = STRBUF_INIT(TERMINATION_MESSAGE_MAX);
	static struct report r;

	fill_report(&r);
	report_to_text(&r, &text);
	report_to_json(&r, &json);
	report_to_termination_message(&r, true, TERMINATION_MESSAGE_MAX, &message);
	if (!failed) {
		assert_false(strbuf_failed(&text) || strbuf_failed(&json) ||
			     strbuf_failed(&message));
		assert_true(text.len > 500 && json.len > 500 && message.len > 500);
	}
	strbuf_release(&text);
	strbuf_release(&json);
	strbuf_release(&message);
}

static void emit(void)
{
	const struct record_options options = { .events = true,
						.report_fd =
							open("/dev/null", O_WRONLY | O_CLOEXEC) };
	static struct report r;

	fill_report(&r);
	event_emit(&options, "threshold", "c", report_json_of_snapshot(&r));
	event_emit(&options, "ended", "c", report_json_of_verdict(&r));
	close(options.report_fd);
}

static void observe(void)
{
	struct observer o;
	struct err err = { 0 };

	if (observer_open(&o, dup(root_fd), getpid(), NULL, &err) < 0)
		assert_true(failed);
	for (int i = 1; i < 5 && o.history; i++)
		observer_sample(&o, i * NS_PER_SEC);
	if (!failed)
		assert_true(o.last.n_top > 0);
	observer_close(&o);
}

static unsigned int count(const char *pattern)
{
	char path[256];
	glob_t found;
	unsigned int n;

	snprintf(path, sizeof(path), "%s/%s", directory, pattern);
	n = glob(path, 0, NULL, &found) == 0 ? (unsigned int)found.gl_pathc : 0;
	globfree(&found);
	return n;
}

static void check_bundle(const char *path)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *manifest = NULL;
	const cJSON *file;
	char name[BUNDLE_PATH_MAX + 32];

	snprintf(name, sizeof(name), "%s/MANIFEST.json", path);
	assert_int_equal(file_read(AT_FDCWD, name, &text, NULL), 0);
	assert_int_equal(json_parse(strbuf_str(&text), text.len, &manifest, NULL), 0);
	assert_int_equal(cJSON_GetArraySize(manifest), 3);
	assert_true(cJSON_GetArraySize(json_get(manifest, "files")) > 0);
	cJSON_ArrayForEach(file, json_get(manifest, "files"))
		assert_int_equal(cJSON_GetArraySize(file), 3);
}

static void bundle_alone(void)
{
	char path[BUNDLE_PATH_MAX];
	struct err err = { 0 };
	struct bundle *b;
	int r = bundle_begin(directory, "alone", "x", &b, &err);

	if (r >= 0) {
		snprintf(path, sizeof(path), "%s/%s", directory, bundle_path(b));
		r = bundle_add(b, "a", "1", 1, &err);
		if (r >= 0)
			r = bundle_add(b, "b", "2", 1, &err);
		if (r < 0)
			bundle_abort(b);
		else
			r = bundle_commit(b, &err);
	}
	until_failure = NEVER;
	assert_true(r >= 0 || (failed && err.code));
	assert_int_equal(count("alone/.*.partial"), 0);
	if (r >= 0)
		check_bundle(path);
}

static struct observer watched;

static void keep(void)
{
	const struct record_options options = { .store.url = directory };
	struct err err = { 0 };
	static struct report r;
	int rc;

	fill_report(&r);
	rc = postmortem_keep(&r, &watched, &options, record_options_bundles(&options), NULL, &err);
	until_failure = NEVER;
	assert_true(rc >= 0 || (failed && err.code));
	assert_true((rc >= 0) == (r.bundle[0] != '\0'));
	if (rc >= 0)
		check_bundle(r.bundle);
	assert_int_equal(count("ns/*/*/*/.*.partial"), 0);
}

/* --- Tests --- */

static void rendering_survives(void **state)
{
	(void)state;
	for_every_allocation(render);
}

static void events_survive(void **state)
{
	(void)state;
	for_every_allocation(emit);
}

static void observing_survives(void **state)
{
	(void)state;
	for_every_allocation(observe);
}

static void a_bundle_is_whole_or_not_there(void **state)
{
	(void)state;
	for_every_allocation(bundle_alone);
}

static void keeping_a_report_survives(void **state)
{
	(void)state;
	assert_int_equal(observer_open(&watched, dup(root_fd), getpid(), NULL, &(struct err){ 0 }),
			 0);
	for (int i = 1; i < 4; i++)
		observer_sample(&watched, i * NS_PER_SEC);
	for_every_allocation(keep);
	observer_close(&watched);
}

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/faults_test.XXXXXX");
	root_fd = open("/", O_PATH | O_CLOEXEC);
	return mkdtemp(directory) && root_fd >= 0 ? 0 : -1;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	close(root_fd);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rendering_survives),
		cmocka_unit_test(events_survive),
		cmocka_unit_test(observing_survives),
		cmocka_unit_test(a_bundle_is_whole_or_not_there),
		cmocka_unit_test(keeping_a_report_survives),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
