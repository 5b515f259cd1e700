/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the state file in a bundle. */
#include "sidecar/ship/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"

static char dir[64];
static int dir_fd;

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/state_test.XXXXXX");
	if (!mkdtemp(dir))
		return -1;
	dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir_fd < 0;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	close(dir_fd);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void what_was_noted_is_there_the_next_time(void **state)
{
	struct state s;
	struct upload upload = { .id = "an/id+=", .part = 5 << 20, .sha256 = true }, read = { 0 };
	(void)state;

	assert_int_equal(state_open(dir_fd, "s3://b/x", &s, NULL), 0);
	assert_false(state_was_sent(&s, "logs/a.b", "11"));
	state_set_sent(&s, "logs/a.b", "11");
	state_set_upload(&s, "core", "22", &upload);
	assert_int_equal(state_save(&s, NULL), 0);
	state_release(&s);

	assert_int_equal(state_open(dir_fd, "s3://b/x", &s, NULL), 0);
	assert_true(state_was_sent(&s, "logs/a.b", "11"));
	assert_false(state_was_sent(&s, "logs/a.b", "12"));
	assert_true(state_upload(&s, "core", "22", &read));
	assert_string_equal(read.id, "an/id+=");
	assert_int_equal(read.part, 5 << 20);
	assert_true(read.sha256);
	/* An upload of other content, or of another file, is not used. */
	assert_false(state_upload(&s, "core", "23", &read));
	assert_false(state_upload(&s, "core2", "22", &read));
	state_clear_upload(&s);
	assert_false(state_upload(&s, "core", "22", &read));
	state_release(&s);
}

static void notes_for_another_store_are_not_believed(void **state)
{
	struct state s;
	(void)state;

	assert_int_equal(state_open(dir_fd, "s3://b/x", &s, NULL), 0);
	state_set_sent(&s, "report.txt", "11");
	assert_int_equal(state_save(&s, NULL), 0);
	state_release(&s);
	assert_int_equal(state_open(dir_fd, "s3://b/y", &s, NULL), 0);
	assert_false(state_was_sent(&s, "report.txt", "11"));
	state_release(&s);
}

static void damaged_notes_are_as_none(void **state)
{
	static const char *const texts[] = {
		"", "{", "7", "[]", "{\"store\":7}", "{\"store\":\"s\",\"sent\":7,\"upload\":8}",
		"{\"store\":\"s\",\"sent\":[\"a\"],\"upload\":{\"file\":\"core\",\"sha256\":\"22\",\"id\":\"\",\"partBytes\":5}}",
		"{\"store\":\"s\",\"upload\":{\"file\":\"core\",\"sha256\":\"22\",\"id\":\"i\",\"partBytes\":-5}}",
		"{\"store\":\"s\",\"upload\":{\"file\":\"core\",\"sha256\":\"22\",\"id\":\"i\",\"partBytes\":\"5\"}}",
	};
	(void)state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct upload upload;
		struct state s;

		assert_int_equal(
			file_write(dir_fd, STATE_FILE, texts[i], strlen(texts[i]), 0600, NULL), 0);
		assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
		assert_false(state_was_sent(&s, "a", "11"));
		assert_false(state_upload(&s, "core", "22", &upload));
		state_set_sent(&s, "a", "11");
		assert_int_equal(state_save(&s, NULL), 0);
		state_release(&s);
	}
}

static void an_upload_id_that_is_too_long_is_refused(void **state)
{
	static char text[4096] =
		"{\"store\":\"s\",\"upload\":{\"file\":\"c\",\"sha256\":\"2\",\"partBytes\":5,\"id\":\"";
	struct upload upload;
	struct state s;
	size_t at = strlen(text);
	(void)state;

	memset(text + at, 'i', UPLOAD_ID_MAX);
	snprintf(text + at + UPLOAD_ID_MAX, 8, "\"}}");
	assert_int_equal(file_write(dir_fd, STATE_FILE, text, strlen(text), 0600, NULL), 0);
	assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
	assert_false(state_upload(&s, "c", "2", &upload));
	state_release(&s);
}

static void damage_is_noted_until_the_next_upload_begins(void **state)
{
	struct upload upload;
	struct state s;
	(void)state;

	assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
	state_set_upload(&s, "core", "22", &(struct upload){ .id = "u", .part = 5 });
	assert_false(state_was_damaged(&s, "core", "22"));
	state_set_damaged(&s, "core", "22");
	assert_int_equal(state_save(&s, NULL), 0);
	state_release(&s);
	assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
	assert_true(state_was_damaged(&s, "core", "22"));
	assert_true(state_has_upload(&s, "core"));
	assert_false(state_upload(&s, "core", "22", &upload));
	assert_false(state_was_damaged(&s, "core", "23"));
	assert_false(state_was_damaged(&s, "other", "22"));
	state_set_upload(&s, "core", "22", &(struct upload){ .part = 5 });
	assert_false(state_was_damaged(&s, "core", "22"));
	state_release(&s);
}

static void a_link_or_a_fifo_is_not_read(void **state)
{
	struct state s;
	(void)state;

	assert_int_equal(symlinkat("/dev/zero", dir_fd, STATE_FILE), 0);
	assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
	state_release(&s);
	assert_int_equal(unlinkat(dir_fd, STATE_FILE, 0), 0);
	assert_int_equal(mkfifoat(dir_fd, STATE_FILE, 0600), 0);
	assert_int_equal(state_open(dir_fd, "s", &s, NULL), 0);
	assert_int_equal(state_save(&s, NULL), 0);
	state_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_noted_is_there_the_next_time, setup, teardown),
		cmocka_unit_test_setup_teardown(notes_for_another_store_are_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(damaged_notes_are_as_none, setup, teardown),
		cmocka_unit_test_setup_teardown(an_upload_id_that_is_too_long_is_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(damage_is_noted_until_the_next_upload_begins, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_or_a_fifo_is_not_read, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
