/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of following a file of systemd's journal, on files that the test makes object by object.
 * Reading what journald itself writes is tested in e2e/kernel.
 */
#include "node/journal_file.h"

#include <errno.h>
#include <sys/mman.h>

#include "lib/macros.h"
#include "node/journal_testing.h"

#define TIME "2026-11-22T23:26:40.000Z"

static char lines[8][JOURNAL_LINE_MAX + 1];
static size_t n_lines;

static struct journal_writer new_file(bool compact)
{
	int fd = memfd_create("journal", MFD_CLOEXEC);

	assert_return_code(fd, errno);
	return journal_begin(fd, compact);
}

/* Reads to the end, or as many objects as a damaged file may lead to. */
static void read_all(struct journal_file *f)
{
	size_t len;

	n_lines = 0;
	assert_true(journal_file_refresh(f));
	for (int i = 0; i < 1000; i++) {
		char line[JOURNAL_LINE_MAX];
		enum journal_step step = journal_file_next(f, line, &len);

		if (step == JOURNAL_END)
			return;
		if (step != JOURNAL_LINE)
			continue;
		assert_in_range(n_lines, 0, ARRAY_SIZE(lines) - 1);
		assert_in_range(len, 1, JOURNAL_LINE_MAX);
		memcpy(lines[n_lines], line, len);
		lines[n_lines++][len] = '\0';
	}
	fail_msg("no end");
}

static struct journal_file open_at_its_beginning(const struct journal_writer *w)
{
	struct journal_file f;

	assert_int_equal(journal_file_open(&f, w->fd, false, NULL), 0);
	return f;
}

static void entries_of_the_kernel_and_of_roots_programs_are_lines(void **state)
{
	(void)state;
	for (int compact = 0; compact < 2; compact++) {
		struct journal_writer w = new_file(compact);
		struct journal_file f;

		JOURNAL_ENTRY(&w, "_TRANSPORT=kernel", "SYSLOG_IDENTIFIER=kernel",
			      "_HOSTNAME=node-1", "MESSAGE=Memory cgroup out of memory");
		w.time_us--;
		JOURNAL_ENTRY(&w, "_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=kubelet", "_PID=812",
			      "_UID=0", "MESSAGE=a: b", "_COMM=kubelet");
		f = open_at_its_beginning(&w);
		read_all(&f);
		assert_int_equal(n_lines, 2);
		assert_string_equal(lines[0], TIME " node-1 kernel: Memory cgroup out of memory");
		assert_string_equal(lines[1], TIME " - kubelet[812]: a: b");
		read_all(&f);
		assert_int_equal(n_lines, 0);
		close(w.fd);
	}
}

static void nobody_else_speaks_as_the_kernel_or_the_kubelet(void **state)
{
	struct journal_writer w = new_file(true);
	struct journal_file f;

	(void)state;
	JOURNAL_ENTRY(&w, "_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=kubelet", "_UID=1000",
		      "MESSAGE=forged");
	JOURNAL_ENTRY(&w, "_TRANSPORT=journal", "SYSLOG_IDENTIFIER=kubelet", "MESSAGE=forged");
	JOURNAL_ENTRY(&w, "_TRANSPORT=syslog", "SYSLOG_IDENTIFIER=kernel", "_UID=0",
		      "MESSAGE=forged");
	JOURNAL_ENTRY(&w, "_TRANSPORT=kernels", "SYSLOG_IDENTIFIER=kernel", "MESSAGE=forged");
	f = open_at_its_beginning(&w);
	read_all(&f);
	assert_int_equal(n_lines, 0);
	close(w.fd);
}

static void what_is_written_later_is_read_later(void **state)
{
	struct journal_writer w = new_file(false);
	struct journal_file f;

	(void)state;
	JOURNAL_ENTRY(&w, "_UID=0", "SYSLOG_IDENTIFIER=kubelet", "MESSAGE=before");
	assert_int_equal(journal_file_open(&f, w.fd, true, NULL), 0);
	read_all(&f);
	assert_int_equal(n_lines, 0);
	JOURNAL_ENTRY(&w, "_UID=0", "SYSLOG_IDENTIFIER=kubelet", "MESSAGE=after");
	read_all(&f);
	assert_int_equal(n_lines, 1);
	assert_non_null(strstr(lines[0], "after"));
	close(w.fd);
}

static void an_entry_that_is_being_written_is_read_when_it_is_whole(void **state)
{
	struct journal_writer w = new_file(true);
	struct journal_file f = open_at_its_beginning(&w);
	uint64_t items[3] = { journal_data(&w, 0, "_UID=0"),
			      journal_data(&w, 0, "SYSLOG_IDENTIFIER=crio"), 0 };
	uint64_t entry;

	(void)state;
	entry = journal_entry_of(&w, items, 3, 0);
	read_all(&f);
	assert_int_equal(n_lines, 0);
	/* The entry has its time, but not its second item. */
	journal_put64(&w, entry + 24, 1795390000000000);
	read_all(&f);
	assert_int_equal(n_lines, 0);
	items[2] = journal_data(&w, 0, "MESSAGE=whole");
	journal_put64(&w, JOURNAL_TAIL_OBJECT, entry);
	journal_put(&w, entry + 64 + 8, &items[2], 4);
	read_all(&f);
	assert_int_equal(n_lines, 1);
	close(w.fd);
}

static void a_message_that_is_compressed_is_left_out_and_a_long_one_is_cut(void **state)
{
	struct journal_writer w = new_file(false);
	struct journal_file f;
	char text[4096] = "MESSAGE=";
	uint64_t items[3] = { journal_data(&w, 0, "_UID=0"),
			      journal_data(&w, 0, "SYSLOG_IDENTIFIER=crio") };
	int compressed = 0;
	size_t len;

	(void)state;
	items[2] = journal_data(&w, 4, "\x28\xb5\x2f\xfd compressed");
	journal_entry_of(&w, items, 3, 1795390000000000);
	/* Such an entry, of another user's program, concerns nobody. */
	journal_entry_of(&w, items + 1, 2, 1795390000000000);
	f = open_at_its_beginning(&w);
	for (enum journal_step step = JOURNAL_OTHER; step != JOURNAL_END;
	     compressed += step == JOURNAL_COMPRESSED)
		step = journal_file_next(&f, text, &len);
	assert_int_equal(compressed, 1);
	memcpy(text, "MESSAGE=", 9);
	memset(text + 8, 'x', sizeof(text) - 9);
	items[2] = journal_data(&w, 0, text);
	journal_entry_of(&w, items, 3, 1795390000000000);
	f = open_at_its_beginning(&w);
	read_all(&f);
	assert_int_equal(n_lines, 1);
	assert_int_equal(strlen(lines[0]), JOURNAL_LINE_MAX);
	close(w.fd);
}

static void a_damaged_file_ends_the_reading_or_is_passed_over(void **state)
{
	(void)state;
	for (int damage = 0; damage < 5; damage++) {
		struct journal_writer w = new_file(false);
		struct journal_file f;
		uint64_t first =
			JOURNAL_ENTRY(&w, "_UID=0", "SYSLOG_IDENTIFIER=crio", "MESSAGE=first");

		JOURNAL_ENTRY(&w, "_UID=0", "SYSLOG_IDENTIFIER=crio", "MESSAGE=second");
		f = open_at_its_beginning(&w);
		switch (damage) {
		case 0:
			journal_put64(&w, first + 8, 0); /* the object's size */
			break;
		case 1:
			journal_put64(&w, first + 8, UINT64_MAX - 7);
			break;
		case 2:
			journal_put64(&w, first + 64, UINT64_MAX); /* the place of an item */
			break;
		case 3:
			journal_put64(&w, first, 0xff); /* the object's type */
			break;
		default:
			assert_return_code(ftruncate(w.fd, (off_t)first + 20), errno);
		}
		read_all(&f);
		assert_in_range(n_lines, 0, 1);
		close(w.fd);
	}
}

static void what_is_no_journal_or_a_later_one_is_refused(void **state)
{
	struct journal_writer w = new_file(false);
	struct journal_file f;
	struct err err = { 0 };
	const uint32_t later = 64;

	(void)state;
	journal_put(&w, JOURNAL_FLAGS, &later, sizeof(later));
	assert_int_equal(journal_file_open(&f, w.fd, true, &err), -ENOTSUP);
	assert_non_null(strstr(err_text(&err), "0x40"));
	journal_put(&w, 0, "LPKSHHRX", 8);
	assert_int_equal(journal_file_open(&f, w.fd, true, NULL), -EPROTO);
	assert_return_code(ftruncate(w.fd, 10), errno);
	assert_int_equal(journal_file_open(&f, w.fd, true, NULL), -EPROTO);
	close(w.fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_of_the_kernel_and_of_roots_programs_are_lines),
		cmocka_unit_test(nobody_else_speaks_as_the_kernel_or_the_kubelet),
		cmocka_unit_test(what_is_written_later_is_read_later),
		cmocka_unit_test(an_entry_that_is_being_written_is_read_when_it_is_whole),
		cmocka_unit_test(a_message_that_is_compressed_is_left_out_and_a_long_one_is_cut),
		cmocka_unit_test(a_damaged_file_ends_the_reading_or_is_passed_over),
		cmocka_unit_test(what_is_no_journal_or_a_later_one_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
