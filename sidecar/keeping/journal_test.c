/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the journal: what it keeps after restarts, and how it handles invalid files. */
#include "sidecar/keeping/journal.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/units.h"

static char directory[64];
static int dirfd_;

static int setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/journal_test.XXXXXX");
	if (!mkdtemp(directory))
		return -1;
	dirfd_ = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dirfd_ < 0;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	close(dirfd_);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

static struct failure failure(const char *container, int i)
{
	struct failure f = {
		.ended_unix_ns = 1795224546324 * NS_PER_MS + i * NS_PER_SEC,
		.class = FAILURE_KERNEL_OOM_CONTAINER,
		.confidence = CONFIDENCE_CERTAIN,
		.exit_code = 137,
		.signal = 9,
	};

	snprintf(f.container, sizeof(f.container), "%s", container);
	snprintf(f.sentence, sizeof(f.sentence), "Container %s died, number %d.", container, i);
	snprintf(f.bundle, sizeof(f.bundle), "pvc:x/%d", i);
	return f;
}

static void a_failure_survives_the_sidecar(void **state)
{
	struct journal j, again;
	struct failure f = failure("ray-worker", 1);
	(void)state;

	journal_open(&j, dirfd_);
	assert_null(journal_last_report(&j, "ray-worker"));
	assert_true(journal_add(&j, &f, "the report\n"));
	assert_string_equal(journal_last_report(&j, "ray-worker"), "the report\n");
	journal_open(&again, dirfd_);
	assert_int_equal(again.n, 1);
	assert_memory_equal(&again.failures[0], &f, sizeof(f));
	assert_string_equal(journal_last_report(&again, "ray-worker"), "the report\n");
	assert_null(journal_last_report(&again, "ray-head"));
	journal_close(&again);
	journal_close(&j);
}

static void a_process_s_death_keeps_its_summary_and_a_hold_its_end(void **state)
{
	struct journal j, again;
	struct failure f = failure("ray-worker", 1);
	(void)state;

	f.container_lives = true;
	f.summary = strdup("{\"class\":\"WorkerCrash\",\"processes\":[{\"pid\":7}]}");
	f.held_until_unix_ns = f.ended_unix_ns + 60 * NS_PER_SEC;
	snprintf(f.id, sizeof(f.id), "a-name");
	journal_open(&j, dirfd_);
	assert_true(journal_add(&j, &f, "x"));
	assert_int_equal(j.changes, 1);
	assert_false(journal_add(&j, &f, "x"));
	assert_int_equal(j.changes, 1);
	journal_open(&again, dirfd_);
	assert_int_equal(again.n, 1);
	assert_string_equal(again.failures[0].id, "a-name");
	assert_string_equal(again.failures[0].summary, f.summary);
	assert_int_equal(again.failures[0].held_until_unix_ns, f.held_until_unix_ns);
	failure_release(&f);
	journal_close(&again);
	journal_close(&j);
}

static void every_failure_has_a_name_of_its_own_that_a_later_sidecar_gives_it_too(void **state)
{
	struct report r = {
		.verdict = { .class = FAILURE_WORKER_CRASH, .exit_code = -1 },
		.ended_unix_ns = 1795224546324 * NS_PER_MS,
		.signature = "v1:WorkerCrash:task/boom:SIGSEGV",
		.id.container = "ray-worker",
		.bundle = "pvc:x/ns/c/p.1/ray-worker/20261121T012906.324Z-WorkerCrash-2"
	};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_failure_ struct failure first = { 0 }, later = { 0 };
	(void)state;

	failure_of_report(&r, true, &first);
	assert_string_equal(first.id, "20261121T012906.324Z-WorkerCrash-2");
	assert_true(first.container_lives);
	assert_non_null(strstr(first.summary, "\"final\":true"));
	report_to_json(&r, &text);
	assert_int_equal(json_parse(strbuf_str(&text), text.len, &json, NULL), 0);
	assert_true(failure_of_json(json, &later));
	failure_summarize(&later, json);
	assert_string_equal(later.id, first.id);
	assert_true(later.container_lives);
	assert_non_null(strstr(later.summary, "\"class\":\"WorkerCrash\""));
	assert_non_null(strstr(first.summary, r.signature));
	assert_non_null(strstr(later.summary, r.signature));
	assert_string_equal(first.signature, r.signature);
	assert_string_equal(later.signature, r.signature);
	r.bundle[0] = '\0';
	failure_release(&first);
	failure_of_report(&r, false, &first);
	assert_string_equal(first.id, "2026-11-21T01:29:06.324Z-WorkerCrash");
	assert_null(first.summary);
}

static void a_summary_that_is_too_long_loses_processes_and_then_itself(void **state)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_failure_ struct failure f = { 0 };
	char text[FAILURE_SUMMARY_MAX];
	(void)state;

	for (int i = 0; i < 500; i++)
		json_append(json_array_at(json, "processes"), cJSON_CreateString("a process"));
	failure_summarize(&f, json);
	assert_non_null(f.summary);
	assert_true(strlen(f.summary) <= FAILURE_SUMMARY_MAX);
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	json_set_str(json, "sentence", text);
	failure_summarize(&f, json);
	assert_null(f.summary);
}

static void the_same_bundle_is_the_same_failure(void **state)
{
	struct journal j;
	struct failure f = failure("ray-worker", 1);
	(void)state;

	journal_open(&j, dirfd_);
	assert_true(journal_add(&j, &f, "x"));
	assert_false(journal_add(&j, &f, "x"));
	f.bundle[0] = '\0';
	assert_true(journal_add(&j, &f, "x"));
	/* Without a bundle there is no sign that it is the same failure. */
	assert_true(journal_add(&j, &f, "x"));
	assert_int_equal(j.n, 3);
	journal_close(&j);
}

static void a_process_s_death_is_not_how_the_container_ended(void **state)
{
	struct journal j;
	struct failure f = failure("ray-worker", 1);
	(void)state;

	journal_open(&j, dirfd_);
	journal_add(&j, &f, "the end\n");
	f = failure("ray-worker", 2);
	f.container_lives = true;
	journal_add(&j, &f, "only a process\n");
	assert_string_equal(journal_last_report(&j, "ray-worker"), "the end\n");
	assert_int_equal(j.n, 2);
	journal_close(&j);
}

static void of_too_many_the_oldest_are_forgotten_and_counted(void **state)
{
	struct journal j, again;
	struct strbuf digest = STRBUF_INIT(1 << 20);
	(void)state;

	journal_open(&j, dirfd_);
	for (int i = 0; i < JOURNAL_MAX + 10; i++) {
		char name[32];
		struct failure f;

		snprintf(name, sizeof(name), "c%d", i);
		f = failure(name, i);
		journal_add(&j, &f, name);
	}
	journal_open(&again, dirfd_);
	assert_int_equal(again.n, JOURNAL_MAX);
	assert_int_equal(again.forgotten, 10);
	assert_string_equal(again.failures[0].container, "c10");
	journal_digest(&again, &digest);
	assert_non_null(strstr(strbuf_str(&digest), "so far: 74\n"));
	assert_non_null(strstr(strbuf_str(&digest), "number 73."));
	assert_non_null(strstr(strbuf_str(&digest), "    bundle pvc:x/73\n"));
	strbuf_release(&digest);
	journal_close(&again);
	journal_close(&j);
}

static void what_is_no_journal_is_an_empty_one(void **state)
{
	static const char *const files[] = {
		"", "{", "[]", "{\"failures\":7}", "{\"failures\":[1,{},{\"container\":\"x\"}]}",
		"{\"failures\":[{\"container\":\"x\",\"sentence\":\"s\",\"class\":\"NoClass\",\"confidence\":\"certain\"}]}",
		"{\"failures\":[{\"container\":7,\"sentence\":\"s\",\"class\":\"Killed\",\"confidence\":\"certain\"}]}",
		"{\"failures\":[{\"container\":\"x\",\"sentence\":\"s\",\"class\":\"Killed\",\"confidence\":\"certain\",\"endedAt\":\"?\"}]}",
	};
	struct journal j;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		assert_int_equal(
			file_write(dirfd_, "failures.json", files[i], strlen(files[i]), 0600, NULL),
			0);
		journal_open(&j, dirfd_);
		assert_int_equal(j.n, 0);
		journal_close(&j);
	}
}

static void without_a_spool_it_remembers_all_the_same(void **state)
{
	struct journal j;
	struct failure f = failure("a", 1);
	(void)state;

	journal_open(&j, -1);
	journal_add(&j, &f, "x");
	assert_string_equal(journal_last_report(&j, "a"), "x");
	journal_close(&j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_failure_survives_the_sidecar, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_s_death_keeps_its_summary_and_a_hold_its_end, setup, teardown),
		cmocka_unit_test(every_failure_has_a_name_of_its_own_that_a_later_sidecar_gives_it_too),
		cmocka_unit_test(a_summary_that_is_too_long_loses_processes_and_then_itself),
		cmocka_unit_test_setup_teardown(the_same_bundle_is_the_same_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(a_process_s_death_is_not_how_the_container_ended, setup, teardown),
		cmocka_unit_test_setup_teardown(of_too_many_the_oldest_are_forgotten_and_counted, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_no_journal_is_an_empty_one, setup, teardown),
		cmocka_unit_test(without_a_spool_it_remembers_all_the_same),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
