/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles of a directory are listed as failures are. */
#include "plugin/local.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "plugin/evidence.h"
#include "plugin/failure_list.h"
#include "plugin/testing.h"

#define REPORT(class, ended, container) \
	"{\"class\":\"" class "\",\"sentence\":\"It ended.\",\"confidence\":\"certain\",\"exitCode\":139,\"pod\":null,\"container\":\"" \
	container "\",\"memory\":{\"usageBytes\":1048576},\"endedAt\":\"" ended "\"}"

static char store[64];

static int make_store(void **state)
{
	(void)state;
	snprintf(store, sizeof(store), "/tmp/local_test.XXXXXX");
	return mkdtemp(store) ? 0 : -1;
}

static int remove_store(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", store);
	return system(command);
}

/* Writes a report.json below the store. path has directories that are made. */
static void write_report(const char *path, const char *text)
{
	char whole[256];

	snprintf(whole, sizeof(whole), "%s/%s", store, path);
	for (char *slash = whole + strlen(store) + 1; (slash = strchr(slash, '/'));
	     *slash++ = '/') {
		*slash = '\0';
		mkdir(whole, 0700);
	}
	assert_int_equal(file_put(AT_FDCWD, whole, text, strlen(text), 0600, NULL), 0);
}

static cJSON *read_store(void)
{
	cJSON *list = NULL;

	assert_int_equal(local_failures(store, &list, NULL), 0);
	return list;
}

static void bundles_are_listed_by_command_the_newest_last(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	write_report("local/train/20261122T120000.000Z-Segfault/report.json",
		     REPORT("Segfault", "2026-11-22T12:00:00Z", "train"));
	write_report("local/eval/20261122T110000.000Z-Killed/report.json",
		     REPORT("Killed", "2026-11-22T11:00:00Z", "eval"));

	_cleanup_json_ cJSON *list = read_store();
	assert_int_equal(failure_list(list, &(struct failure_filter){ 0 }, false, NOON_NS, &out),
			 2);
	has(&out, "COMMAND   CLASS");
	has(&out, "train     Segfault   certain      139    1.0 MiB");
	assert_true(strstr(strbuf_str(&out), "eval") < strstr(strbuf_str(&out), "train"));
	assert_string_equal(json_str(local_newest(list), "metadata.name"),
			    "20261122T120000.000Z-Segfault");
	assert_string_equal(json_str(failure_find(list, "eval"), "spec.verdict"), "It ended.");
}

static void memory_of_a_shared_cgroup_is_that_of_the_processes(void **state)
{
	(void)state;
	write_report(
		"local/x/20261122T120000.000Z-Killed/report.json",
		"{\"memory\":{\"usageBytes\":9999999999,\"shared\":true},\"components\":[{\"name\":\"python3\",\"bytes\":1048576},"
		"{\"name\":\"afterglow-launch\",\"bytes\":4096}]}");

	_cleanup_json_ cJSON *list = read_store();
	assert_string_equal(json_str(local_newest(list), "spec.memoryText"), "1.0 MiB");
}

static void numbers_of_a_report_that_lie_do_not_overflow(void **state)
{
	(void)state;
	write_report(
		"local/x/20261122T120000.000Z-Killed/report.json",
		"{\"memory\":{\"usageBytes\":1,\"shared\":true},\"components\":[{\"bytes\":9e18},"
		"{\"bytes\":9e18},{\"bytes\":-9e18}]}");

	_cleanup_json_ cJSON *list = read_store();
	assert_string_equal(json_str(local_newest(list), "spec.memoryText"), "8.0 EiB");
}

static void what_is_no_report_is_left_out(void **state)
{
	char path[128];

	(void)state;
	write_report("local/x/torn/report.json", "{\"class\":");
	write_report("local/x/list/report.json", "[1]");
	write_report("local/x/.new.partial/report.json",
		     REPORT("Killed", "2026-11-22T11:00:00Z", "x"));
	write_report("local/x/other/notes.json", "{}");
	/* Nobody waits for a writer. */
	snprintf(path, sizeof(path), "%s/local/x/fifo", store);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/local/x/fifo/report.json", store);
	assert_int_equal(mkfifo(path, 0600), 0);

	_cleanup_json_ cJSON *list = read_store();
	assert_int_equal(cJSON_GetArraySize(json_get(list, "items")), 0);
	assert_null(local_newest(list));
}

static void a_file_of_a_bundle_that_is_a_link_or_a_fifo_is_not_read(void **state)
{
	_cleanup_json_ cJSON *failure = cJSON_CreateObject();
	char bundle[96], path[128];
	(void)state;

	snprintf(bundle, sizeof(bundle), "%s/x", store);
	json_set_str(json_object_at(failure, "spec"), "bundle", bundle);
	write_report("x/own.txt", "words");
	snprintf(path, sizeof(path), "%s/x/link.txt", store);
	assert_int_equal(symlink("own.txt", path), 0);
	snprintf(path, sizeof(path), "%s/x/fifo.txt", store);
	assert_int_equal(mkfifo(path, 0600), 0);
	alarm(30);
	for (const char *const *name =
		     (const char *const[]){ "own.txt", "link.txt", "fifo.txt", NULL };
	     *name; name++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);
		struct err err = { 0 };
		bool is_read = evidence_file(failure, *name, &text, &err) == 0;

		assert_int_equal(is_read, strcmp(*name, "own.txt") == 0);
		assert_string_equal(strbuf_str(&text), is_read ? "words" : "");
	}
	alarm(0);
}

/* Whoever may write there may wait for the list, and lead to what only its reader may read. */
static void a_bundle_whose_directory_became_a_link_is_not_read(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(64);
	_cleanup_json_ cJSON *list = NULL;
	char path[128], other[128];
	(void)state;

	write_report("a/x/report.json", REPORT("Segfault", "2026-11-21T02:00:00Z", "ray"));
	write_report("a/x/own.txt", "words");
	list = read_store();
	const cJSON *failure = local_newest(list);
	assert_int_equal(evidence_file(failure, "own.txt", &text, NULL), 0);
	strbuf_reset(&text);
	snprintf(path, sizeof(path), "%s/a", store);
	snprintf(other, sizeof(other), "%s/b", store);
	assert_int_equal(rename(path, other), 0);
	assert_int_equal(symlink("b", path), 0);
	assert_true(evidence_file(failure, "own.txt", &text, NULL) < 0);
	assert_string_equal(strbuf_str(&text), "");
}

static void reports_without_end_do_not_fill_the_memory(void **state)
{
	enum { EACH = 4000000, REPORTS = 20 };
	_cleanup_free_ char *text = calloc(1, EACH + 1);
	char path[64];
	(void)state;

	memset(text, ' ', EACH);
	memcpy(text, "{\"class\":\"Killed\"}", 18);
	for (int i = 0; i < REPORTS; i++) {
		snprintf(path, sizeof(path), "x/%d/report.json", i);
		write_report(path, text);
	}

	_cleanup_json_ cJSON *list = read_store();
	assert_int_equal(cJSON_GetArraySize(json_get(list, "items")), LOCAL_REPORTS_MAX / EACH);
}

/* A mistyped name would be good news otherwise. */
static void a_store_that_is_none_is_an_error(void **state)
{
	cJSON *list = NULL;
	struct err err = { 0 };
	char path[128];

	(void)state;
	write_report("local/x/20261122T120000.000Z-Killed/report.json",
		     REPORT("Killed", "2026-11-22T12:00:00Z", "x"));
	assert_int_equal(local_failures("/no/such/store", &list, &err), -ENOENT);
	assert_string_equal(err_text(&err), "--store /no/such/store: No such file or directory");
	snprintf(path, sizeof(path), "%s/local/x/20261122T120000.000Z-Killed/report.json", store);
	assert_int_equal(local_failures(path, &list, &err), -ENOTDIR);
}

static void a_store_may_be_a_link(void **state)
{
	char path[128];
	cJSON *list = NULL;

	(void)state;
	write_report("local/x/20261122T120000.000Z-Killed/report.json",
		     REPORT("Killed", "2026-11-22T12:00:00Z", "x"));
	snprintf(path, sizeof(path), "%s/link", store);
	assert_int_equal(symlink("local", path), 0);
	assert_int_equal(local_failures(path, &list, NULL), 0);
	assert_int_equal(cJSON_GetArraySize(json_get(list, "items")), 1);
	cJSON_Delete(list);
}

#define ON_NODE(class, ended, node, head) \
	"{\"class\":\"" class "\",\"sentence\":\"It ended.\",\"exitCode\":1,\"pod\":null,\"container\":\"ray\",\"node\":\"" node \
	"\",\"containerLives\":false,\"startedAt\":\"2026-11-22T11:00:00Z\",\"endedAt\":\"" ended "\",\"raySession\":\"session_1\"," \
	"\"rayHead\":" head "}"

static void deaths_of_one_cluster_on_several_machines_are_one_incident(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096), told = STRBUF_INIT(4096);

	(void)state;
	write_report("local/ray/20261122T120000.000Z-GCSFailed/report.json",
		     ON_NODE("GCSFailed", "2026-11-22T12:00:00Z", "node1", "true"));
	write_report("local/ray/20261122T120025.000Z-GCSLost/report.json",
		     ON_NODE("GCSLost", "2026-11-22T12:00:25Z", "node2", "false"));

	_cleanup_json_ cJSON *list = read_store();
	assert_int_equal(failure_list(list, &(struct failure_filter){ 0 }, false, NOON_NS, &out),
			 2);
	has(&out, "ray@node1   GCSFailed");
	has(&out, "GCSFailed of the head");
	assert_int_equal(
		failure_list_incidents(list, &(struct failure_filter){ 0 }, NULL, NOON_NS, &told),
		1);
	has(&told, "Incident 20261122T120000.000Z-GCSFailed, 0 ms ago\n");
	has(&told, "GCSLost  ray@node2");
	assert_string_equal(json_str(failure_find(list, "ray@node1"), "spec.node"), "node1");
	assert_string_equal(json_str(failure_find(list, "ray"), "spec.node"), "node2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(bundles_are_listed_by_command_the_newest_last,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(numbers_of_a_report_that_lie_do_not_overflow,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(memory_of_a_shared_cgroup_is_that_of_the_processes,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(what_is_no_report_is_left_out, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(
			a_file_of_a_bundle_that_is_a_link_or_a_fifo_is_not_read, make_store,
			remove_store),
		cmocka_unit_test_setup_teardown(reports_without_end_do_not_fill_the_memory,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(a_store_that_is_none_is_an_error, make_store,
						remove_store),
		cmocka_unit_test_setup_teardown(a_bundle_whose_directory_became_a_link_is_not_read,
						make_store, remove_store),
		cmocka_unit_test_setup_teardown(a_store_may_be_a_link, make_store, remove_store),
		cmocka_unit_test_setup_teardown(
			deaths_of_one_cluster_on_several_machines_are_one_incident, make_store,
			remove_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
