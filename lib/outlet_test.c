/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of a stderr that nobody reads. A pipe takes its place. */
#include "lib/outlet.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/strbuf.h"

#define MUCH 4000 /* lines: more than pipe and outlet can hold together */
#define LINE 100 /* bytes of each */

static int reading, saved;

static int setup(void **state)
{
	int ends[2];
	(void)state;

	saved = dup(STDERR_FILENO);
	if (pipe2(ends, O_CLOEXEC) < 0 || dup2(ends[1], STDERR_FILENO) < 0)
		return -1;
	close(ends[1]);
	reading = ends[0];
	fcntl(reading, F_SETFL, O_NONBLOCK);
	outlet_guard(STDERR_FILENO);
	return 0;
}

/* cmocka prints its result to the real stderr, so it is put back. */
static int teardown(void **state)
{
	(void)state;
	return dup2(saved, STDERR_FILENO) < 0;
}

static void write_line(int i)
{
	char line[LINE + 1];

	snprintf(line, sizeof(line), "%0*d\n", LINE - 1, i);
	outlet_write(STDERR_FILENO, line, LINE);
}

static void take(struct strbuf *text)
{
	char part[4096];
	ssize_t n;

	while ((n = read(reading, part, sizeof(part))) > 0)
		strbuf_add(text, part, (size_t)n);
}

/* Reads all the text, as a reader that has returned does. */
static void take_all(struct strbuf *text)
{
	for (size_t before = (size_t)-1; text->len != before;) {
		before = text->len;
		take(text);
		outlet_flush();
		take(text);
	}
}

static void what_somebody_reads_comes_at_once(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	(void)state;

	outlet_write(STDERR_FILENO, "one\n", 4);
	outlet_write(STDERR_FILENO, "two\n", 4);
	take(&text);
	assert_string_equal(strbuf_str(&text), "one\ntwo\n");
}

static void what_nobody_reads_is_kept_and_in_order(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	int n = 1000; /* lines: more than the pipe holds, less than pipe and outlet together */
	(void)state;

	for (int i = 0; i < n; i++)
		write_line(i);
	take_all(&text);
	assert_int_equal(text.len, (size_t)n * LINE);
	for (int i = 0; i < n; i++) {
		int got;

		assert_int_equal(sscanf(strbuf_str(&text) + (size_t)i * LINE, "%d", &got), 1);
		assert_int_equal(got, i);
	}
	assert_int_equal(outlet_dropped(), 0);
}

static void texts_over_the_bound_are_dropped_whole_and_reported(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	char last[120];
	const char *notice;
	(void)state;

	for (int i = 0; i < MUCH; i++)
		write_line(i);
	assert_true(outlet_dropped() > 0);
	take_all(&text);
	notice = strstr(strbuf_str(&text), "[afterglow]");
	assert_non_null(notice);
	assert_int_equal((notice - strbuf_str(&text)) % LINE, 0);
	assert_int_equal((size_t)(notice - strbuf_str(&text)) / LINE, MUCH - outlet_dropped());
	snprintf(last, sizeof(last),
		 "[afterglow] %d messages were dropped because nothing read this output\n",
		 (int)outlet_dropped());
	assert_string_equal(notice, last);
}

static void a_child_does_not_write_what_its_parent_keeps(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	(void)state;

	for (int i = 0; i < 1000; i++)
		write_line(i);
	outlet_forget();
	take_all(&text);
	assert_true(text.len < 1000 * LINE);
}

static void a_reader_that_is_gone_is_no_obstacle(void **state)
{
	(void)state;
	close(reading);
	for (int i = 0; i < MUCH; i++)
		write_line(i);
	outlet_finish(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_somebody_reads_comes_at_once),
		cmocka_unit_test(what_nobody_reads_is_kept_and_in_order),
		cmocka_unit_test(texts_over_the_bound_are_dropped_whole_and_reported),
		cmocka_unit_test(a_child_does_not_write_what_its_parent_keeps),
		cmocka_unit_test(a_reader_that_is_gone_is_no_obstacle),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, setup, teardown);
}
