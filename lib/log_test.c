/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the log. */
#include "lib/log.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>

#include "lib/json.h"
#include "lib/units.h"

static int saved_stderr, pipe_end;
static char text[8192];

static int capture(void **state)
{
	int ends[2];

	(void)state;
	if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return -1;
	saved_stderr = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	pipe_end = ends[0];
	return 0;
}

static int give_back(void **state)
{
	(void)state;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(pipe_end);
	log_set_level(LOG_LEVEL_INFO);
	log_set_format(LOG_FORMAT_TEXT);
	return 0;
}

/* Returns what was logged since the last call. */
static const char *logged(void)
{
	ssize_t n = read(pipe_end, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

static void a_line_has_time_level_and_text(void **state)
{
	char when[TIME_TEXT_MAX] = "";
	int64_t ns;

	(void)state;
	log_error("pod %s: %d", "x", 7);
	logged();
	memcpy(when, text, 24);
	assert_int_equal(time_parse(when, &ns, NULL), 0);
	assert_string_equal(text + 24, " error pod x: 7\n");
	log_warning("w");
	assert_string_equal(logged() + 24, " warning w\n");
}

static void lines_above_the_level_are_dropped(void **state)
{
	(void)state;
	log_debug("quiet");
	assert_string_equal(logged(), "");
	log_info("loud");
	assert_string_equal(logged() + 24, " info loud\n");
	log_set_level(LOG_LEVEL_DEBUG);
	log_debug("now");
	assert_string_equal(logged() + 24, " debug now\n");
	log_set_level(LOG_LEVEL_ERROR);
	log_warning("quiet");
	assert_string_equal(logged(), "");
}

static void control_characters_cannot_forge_a_line_or_drive_a_terminal(void **state)
{
	(void)state;
	log_info("%s", "a\n2026-11-21T01:29:06.324Z error forged\r\x1b[31m\x7f\t");
	logged();
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	for (const char *p = text; p[1]; p++)
		assert_true((unsigned char)*p >= 0x20 && *p != 0x7f);
	log_info("%s", "caf\xc3\xa9");
	assert_non_null(strstr(logged(), "caf\xc3\xa9\n"));
}

static void a_long_text_is_cut_and_stays_one_line(void **state)
{
	char longest[4000];

	(void)state;
	memset(longest, 'x', sizeof(longest));
	longest[sizeof(longest) - 1] = '\0';
	for (size_t len = 1900; len < 2100; len++) {
		log_info("%.*s", (int)len, longest);
		logged();
		assert_in_range(strlen(text), 1900, 2048);
		assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	}
}

/* Asserts that the last log line is JSON with this level and this text. */
static void assert_json_line(const char *level, const char *msg)
{
	_cleanup_json_ cJSON *line = NULL;
	struct err err = { 0 };
	int64_t ns;

	logged();
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	if (json_parse(text, strlen(text), &line, &err) < 0)
		fail_msg("%s: %s", err_text(&err), text);
	assert_int_equal(time_parse(json_str(line, "time"), &ns, NULL), 0);
	assert_string_equal(json_str(line, "level"), level);
	assert_string_equal(json_str(line, "msg"), msg);
}

static void a_line_may_be_json(void **state)
{
	(void)state;
	log_set_format(LOG_FORMAT_JSON);
	log_warning("pod %s: %d", "x", 7);
	assert_json_line("warning", "pod x: 7");
	log_info("%s", "");
	assert_json_line("info", "");
	log_info("%s", "caf\xc3\xa9");
	assert_json_line("info", "caf\xc3\xa9");
}

static void nothing_in_a_text_ends_its_json_string_or_is_no_json(void **state)
{
	(void)state;
	log_set_format(LOG_FORMAT_JSON);
	log_info("%s", "a\",\"level\":\"error\n{\\");
	assert_json_line("info", "a\",\"level\":\"error?{\\");
	log_info("%s", "\xff\xc3\x1b[31m\x7f \xed\xa0\x80");
	assert_json_line("info", "???[31m? ???");
	/* U+009B, which a terminal takes for the start of a command */
	log_info("%s", "a\xc2\x9b" "31m");
	assert_json_line("info", "a??31m");
}

static void a_long_text_is_cut_and_stays_json(void **state)
{
	_cleanup_free_ char *quotes = malloc(4001), *wide = malloc(4001);

	(void)state;
	memset(quotes, '"', 4000);
	for (size_t i = 0; i < 4000; i += 2)
		memcpy(wide + i, "\xc3\xa9", 2);
	quotes[4000] = wide[4000] = '\0';
	log_set_format(LOG_FORMAT_JSON);
	log_info("%s", quotes);
	quotes[2047] = '\0';
	assert_json_line("info", quotes);
	log_info("%s", wide); /* the limit falls into the middle of a character */
	memcpy(wide + 2046, "?", 2);
	assert_json_line("info", wide);
}

static void a_stderr_that_takes_nothing_is_no_error(void **state)
{
	char fill[4096];

	(void)state;
	memset(fill, 'f', sizeof(fill));
	while (write(STDERR_FILENO, fill, sizeof(fill)) > 0)
		;
	log_info("lost");
	assert_int_equal(errno, EAGAIN);
	while (logged()[0])
		;
	log_info("heard");
	assert_string_equal(logged() + 24, " info heard\n");
}

#define captured(test) cmocka_unit_test_setup_teardown(test, capture, give_back)

int main(void)
{
	const struct CMUnitTest tests[] = {
		captured(a_line_has_time_level_and_text),
		captured(lines_above_the_level_are_dropped),
		captured(control_characters_cannot_forge_a_line_or_drive_a_terminal),
		captured(a_long_text_is_cut_and_stays_one_line),
		captured(a_line_may_be_json),
		captured(nothing_in_a_text_ends_its_json_string_or_is_no_json),
		captured(a_long_text_is_cut_and_stays_json),
		captured(a_stderr_that_takes_nothing_is_no_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
