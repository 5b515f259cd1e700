/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of following a node's journal: which file is read, and what happens when journald rotates
 * it.
 */
#include "node/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/strbuf.h"
#include "node/journal_testing.h"

#define PERSISTENT "var/log/journal/0123456789abcdef0123456789abcdef"
#define VOLATILE "run/log/journal/0123456789abcdef0123456789abcdef"

static char root[64];
static struct strbuf seen;

static void take(const char *line, size_t len)
{
	strbuf_add(&seen, line, len);
	strbuf_addc(&seen, '\n');
}

/* Runs a shell command in the test's root. */
static void run(const char *command)
{
	char text[1024];

	snprintf(text, sizeof(text), "cd %s && %s", root, command);
	assert_int_equal(system(text), 0);
}

static struct journal_writer make_file(const char *directory, int64_t time_us)
{
	char path[512];
	struct journal_writer w;
	int fd;

	snprintf(path, sizeof(path), "mkdir -p %s", directory);
	run(path);
	snprintf(path, sizeof(path), "%s/%s/system.journal", root, directory);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_return_code(fd, errno);
	w = journal_begin(fd, true);
	w.time_us = time_us;
	return w;
}

static void say(struct journal_writer *w, const char *message)
{
	char field[128];

	snprintf(field, sizeof(field), "MESSAGE=%s", message);
	JOURNAL_ENTRY(w, "_UID=0", "SYSLOG_IDENTIFIER=kubelet", field);
}

static int setup(void **state)
{
	(void)state;
	snprintf(root, sizeof(root), "/tmp/journal_test.XXXXXX");
	seen = STRBUF_INIT(1 << 16);
	return mkdtemp(root) ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	strbuf_release(&seen);
	run("rm -r \"$PWD\"");
	return 0;
}

static bool has(const char *text)
{
	return strstr(strbuf_str(&seen), text);
}

static void lines_from_the_start_on_are_read_across_a_rotation(void **state)
{
	struct journal_writer w = make_file(PERSISTENT, 5000);
	struct journal j;

	(void)state;
	say(&w, "old");
	assert_int_equal(journal_open(&j, root, NULL), 0);
	say(&w, "first");
	journal_read(&j, take);
	assert_true(has("first") && !has("old"));
	say(&w, "last of the file");
	run("mv " PERSISTENT "/system.journal " PERSISTENT "/system@1.journal");
	close(w.fd);
	w = make_file(PERSISTENT, 100); /* the clock was set back: that changes nothing */
	say(&w, "first of the next");
	journal_read(&j, take);
	assert_true(has("last of the file") && has("first of the next"));
	journal_close(&j);
	close(w.fd);
}

static void the_journal_of_this_machine_is_the_one_that_was_written_last(void **state)
{
	struct journal_writer other = make_file("var/log/journal/of-the-image", 1000),
			      w = make_file(VOLATILE, 2000);
	struct journal j;

	(void)state;
	say(&other, "other");
	say(&w, "ours");
	assert_int_equal(journal_open(&j, root, NULL), 0);
	say(&other, "other");
	say(&w, "ours");
	journal_read(&j, take);
	assert_true(has("ours") && !has("other"));
	/* journald moves to /var as soon as it is mounted. */
	close(w.fd);
	run("rm " VOLATILE "/system.journal");
	journal_read(&j, take);
	assert_false(has("other"));
	w = make_file(PERSISTENT, 3000);
	say(&w, "moved");
	journal_read(&j, take);
	assert_true(has("moved") && !has("other"));
	journal_close(&j);
	close(w.fd);
	close(other.fd);
}

static void what_was_read_before_journald_moved_is_not_read_again(void **state)
{
	struct journal_writer w = make_file(VOLATILE, 2000);
	struct journal j;

	(void)state;
	say(&w, "old");
	assert_int_equal(journal_open(&j, root, NULL), 0);
	say(&w, "read");
	journal_read(&j, take);
	assert_true(has("read"));
	strbuf_reset(&seen);
	close(w.fd);
	run("rm " VOLATILE "/system.journal");
	w = make_file(PERSISTENT, 1990);
	say(&w, "of an earlier boot");
	w.time_us = 2000;
	say(&w, "old");
	say(&w, "read");
	say(&w, "new");
	journal_read(&j, take);
	assert_true(has("new") && !has("read") && !has("old") && !has("earlier"));
	journal_close(&j);
	close(w.fd);
}

static void the_journal_of_a_namespace_is_not_the_nodes(void **state)
{
	struct journal_writer other = make_file(PERSISTENT ".chatty", 9000),
			      w = make_file(PERSISTENT, 1000);
	struct journal j;

	(void)state;
	assert_int_equal(journal_open(&j, root, NULL), 0);
	say(&other, "other");
	say(&w, "ours");
	journal_read(&j, take);
	assert_true(has("ours") && !has("other"));
	journal_close(&j);
	close(w.fd);
	close(other.fd);
}

static void a_journal_that_comes_later_is_read_from_its_beginning(void **state)
{
	struct journal_writer w;
	struct journal j;

	(void)state;
	assert_int_equal(journal_open(&j, root, NULL), -ENOENT);
	journal_read(&j, take);
	w = make_file(VOLATILE, 1000);
	say(&w, "first");
	journal_read(&j, take);
	assert_true(has("first"));
	journal_close(&j);
	close(w.fd);
}

static void a_link_or_a_directory_is_no_journal(void **state)
{
	struct journal_writer w = make_file("elsewhere", 1000);
	struct journal j;

	(void)state;
	run("mkdir -p var/log/journal/directory/system.journal var/log/journal/linked");
	run("ln -s \"$PWD/elsewhere/system.journal\" var/log/journal/linked/system.journal");
	assert_int_equal(journal_open(&j, root, NULL), -ELOOP);
	close(w.fd);
}

static void of_a_flood_the_middle_is_left_out(void **state)
{
	struct journal_writer w = make_file(PERSISTENT, 1000);
	struct journal j;

	(void)state;
	assert_int_equal(journal_open(&j, root, NULL), 0);
	for (int i = 0; i < 20000; i++)
		journal_data(&w, 0, "FLOOD=1");
	say(&w, "in the middle");
	journal_read(&j, take);
	say(&w, "after it");
	journal_read(&j, take);
	assert_true(has("after it") && !has("in the middle"));
	journal_close(&j);
	close(w.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lines_from_the_start_on_are_read_across_a_rotation,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_journal_of_this_machine_is_the_one_that_was_written_last, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			what_was_read_before_journald_moved_is_not_read_again, setup, teardown),
		cmocka_unit_test_setup_teardown(the_journal_of_a_namespace_is_not_the_nodes, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_journal_that_comes_later_is_read_from_its_beginning, setup, teardown),
		cmocka_unit_test_setup_teardown(a_link_or_a_directory_is_no_journal, setup,
						teardown),
		cmocka_unit_test_setup_teardown(of_a_flood_the_middle_is_left_out, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
