/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of reading /proc/PID files that their process tries to forge. */
#include "sidecar/sample/proc_parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static void statm_gives_bytes_and_refuses_what_cannot_be(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		int64_t rss, shared;
	} rows[] = {
		{ "5000 1000 200 10 0 900 0\n", true, 1000 * 4096, 200 * 4096 },
		{ "5000 1000 1000 10 0 900 0\n", true, 1000 * 4096, 1000 * 4096 },
		{ "0 0 0 0 0 0 0\n", false, 0, 0 }, /* a zombie, a kernel thread */
		{ "5000 1000\n", false, 0, 0 },
		{ "5000", false, 0, 0 },
		{ "", false, 0, 0 },
		{ "a b c\n", false, 0, 0 },
		{ "5000 200 1000 10\n", false, 0, 0 }, /* more shared than resident */
		{ "1 18446744073709551615 0\n", false, 0, 0 },
		{ "1 99999999999999999999999 0\n", false, 0, 0 },
		{ "1 -5 0\n", false, 0, 0 },
		{ "1 35184372088832 0\n", true, (int64_t)1 << 57, 0 },
		{ "1 35184372088833 0\n", false, 0, 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int64_t rss = -7, shared = -7;

		assert_int_equal(proc_parse_statm(rows[i].text, 4096, &rss, &shared), rows[i].ok);
		assert_int_equal(rss, rows[i].ok ? rows[i].rss : -7);
		assert_int_equal(shared, rows[i].ok ? rows[i].shared : -7);
	}
}

static void a_name_cannot_hide_the_parent(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		pid_t ppid;
		const char *name;
	} rows[] = {
		{ "7 (raylet) S 1 7 7 0 -1\n", true, 1, "raylet" },
		{ "7 (foo) Z ) R 42 7 7 0\n", true, 42, "foo) Z " },
		{ "7 (a (b) c)) S 3 0\n", true, 3, "a (b) c)" },
		{ "7 () S 3 0\n", true, 3, "" },
		{ "7 (x\n1 (y) S 2\n) S 9 0\n", true, 9, "x?1 (y) S 2?" },
		{ "7 (\033[31mred) S 9 0\n", true, 9, "?[31mred" },
		{ "7 (no end S 3 0\n", false, 0, NULL },
		{ "7 no begin) S 3 0\n", false, 0, NULL },
		{ "7 )( S 3 0\n", false, 0, NULL },
		{ "7 (cut)", false, 0, NULL },
		{ "7 (cut) S", false, 0, NULL },
		{ "7 (cut) S x", false, 0, NULL },
		{ "", false, 0, NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = strdup(rows[i].text);
		char name[PROCESS_NAME_MAX] = "untouched";
		pid_t ppid = -7;

		assert_int_equal(proc_parse_stat(text, &ppid, name), rows[i].ok);
		assert_int_equal(ppid, rows[i].ok ? rows[i].ppid : -7);
		assert_string_equal(name, rows[i].ok ? rows[i].name : "untouched");
	}
}

static void the_start_stands_behind_whatever_the_name_is(void **state)
{
	static const struct {
		const char *text;
		bool ok;
		unsigned long long start;
	} rows[] = {
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 163821 99 5", true, 163821 },
		{ "7 (a) S 1 2 3 (b) ) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 5 99 5", true, 5 },
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0", false, 0 },
		{ "7 (raylet) S 1 7 7 0 -1 4194560 9 0 0 0 1 2 0 0 20 0 1 0 -5 9", false, 0 },
		{ "7 raylet", false, 0 },
		{ "", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		unsigned long long start = 0;

		assert_int_equal(proc_parse_start(rows[i].text, &start), rows[i].ok);
		assert_int_equal(start, rows[i].start);
	}
}

/* A command line as an array would be text[] with its NULs; len leaves out the literal's own. */
#define LINE(text) text, sizeof(text) - 1

static const struct {
	const char *data;
	size_t len;
	bool ok;
	const char *name, *command;
} lines[] = {
	{ LINE("ray::leak\0\0\0\0\0\0\0\0"), true, "ray::leak", "ray::leak" },
	{ LINE("ray::Actor.method"), true, "ray::Actor.method", "ray::Actor.method" },
	{ LINE("ray::a/b.c\0"), true, "ray::a/b.c", "ray::a/b.c" },
	{ LINE("ray::\0"), true, "ray::", "ray::" },
	{ LINE("ray:\0"), true, "ray:", "ray:" },
	{ LINE("ra"), true, "ra", "ra" },
	{ LINE("/usr/bin/python3\0leak.py\0--big\0"), true, "python3 leak.py", "/usr/bin/python3 leak.py --big" },
	{ LINE("python3\0-u\0/srv/app/train.py\0"), true, "python3 train.py", "python3 -u /srv/app/train.py" },
	{ LINE("python3\0-m\0x.y\0"), true, "python3 x.y", "python3 -m x.y" },
	{ LINE("python3\0-m\0"), true, "python3", "python3 -m" },
	{ LINE("python3\0-m"), true, "python3", "python3 -m" },
	{ LINE("python3\0-c\0import os\0"), true, "python3", "python3 -c import os" },
	{ LINE("python3\0-c"), true, "python3", "python3 -c" },
	{ LINE("python3\0\0\0x.py\0"), true, "python3 x.py", "python3   x.py" },
	{ LINE("python3\0dir/\0"), true, "python3", "python3 dir/" },
	{ LINE("bash\0-c\0ray start --head\0"), true, "bash", "bash -c ray start --head" },
	{ LINE("/usr/lib/ray/raylet\0--raylet_socket_name=/tmp/x\0"), true, "raylet",
	  "/usr/lib/ray/raylet --raylet_socket_name=/tmp/x" },
	{ LINE("sshd: user@pts/0"), true, "sshd: user@pts/0", "sshd: user@pts/0" },
	{ LINE(""), false, "old", "old" },
	{ LINE("\0\0\0"), false, "old", "old" },
	{ LINE("\0x\0"), true, "old", " x" },
	{ LINE("/\0"), true, "old", "/" },
	{ LINE("a\033]0;title\007b\nc\0"), true, "a?]0;title?b?c", "a?]0;title?b?c" },
	{ LINE("\xc2\x9b" "31m"), true, "??31m", "??31m" }, /* CSI as one C1 control */
	{ LINE("caf\xc3\xa9"), true, "caf\xc3\xa9", "caf\xc3\xa9" },
	{ LINE("\xf0\x9f\x94\xa5"), true, "\xf0\x9f\x94\xa5", "\xf0\x9f\x94\xa5" },
	{ LINE("cut\xf0\x9f\x94"), true, "cut???", "cut???" },
	{ LINE("\x80\x81\xff\xfe"), true, "????", "????" },
	{ LINE("\xc0\xaf\xed\xa0\x80\xf4\x90\x80\x80"), true, "?????????", "?????????" },
	{ LINE("a\xe2\x80\xae" "b"), true, "a???b", "a???b" }, /* right-to-left override */
};

static void a_command_line_becomes_the_name_that_people_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		/* To the byte, without a final NUL: a sanitizer then sees a read past the end. */
		_cleanup_free_ char *data = malloc(lines[i].len ? lines[i].len : 1);
		char name[PROCESS_NAME_MAX] = "old", command[PROCESS_COMMAND_MAX] = "old";

		memcpy(data, lines[i].data, lines[i].len);
		assert_int_equal(proc_parse_cmdline(data, lines[i].len, name, command), lines[i].ok);
		assert_string_equal(name, lines[i].name);
		assert_string_equal(command, lines[i].command);
	}
}

static void credentials_on_a_command_line_are_hidden(void **state)
{
	static const struct {
		const char *data;
		size_t len;
		const char *command;
	} rows[] = {
		{ LINE("gcs_server\0--redis_password=ab\0--port=1\0"), "gcs_server --redis_password=** --port=1" },
		{ LINE("x\0--token\0abc\0rest"), "x --token *** rest" },
		{ LINE("x\0--token\0--next\0rest"), "x --token --next rest" },
		{ LINE("x\0-p\0--API-KEY=a b"), "x -p --API-KEY=***" },
		{ LINE("x\0AWS_SECRET_ACCESS_KEY=abc"), "x AWS_SECRET_ACCESS_KEY=***" },
		{ LINE("bash\0-c\0ray start --redis-password=ab --head"), "bash -c ray start --redis-password=*********" },
		{ LINE("x\0--tokenizer=gpt2\0--max-tokens=5"), "x --tokenizer=gpt2 --max-tokens=5" },
		{ LINE("x\0tokenize.py\0password"), "x tokenize.py password" },
		{ LINE("x\0--password="), "x --password=" },
		{ LINE("x\0--password"), "x --password" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];

		assert_true(proc_parse_cmdline(rows[i].data, rows[i].len, name, command));
		assert_string_equal(command, rows[i].command);
	}
}

static void a_long_title_is_cut_between_characters(void **state)
{
	char title[400], name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];
	(void)state;

	for (size_t shift = 0; shift < 4; shift++) {
		memset(title, 'x', sizeof(title));
		for (size_t i = shift; i + 4 <= sizeof(title); i += 4)
			memcpy(title + i, "\xf0\x9f\x94\xa5", 4);
		assert_true(proc_parse_cmdline(title, sizeof(title), name, command));
		assert_int_equal((strlen(name) - shift) % 4, 0);
		assert_true(strlen(name) > PROCESS_NAME_MAX - 6);
		assert_int_equal((strlen(command) - shift) % 4, 0);
		assert_true(strlen(command) > PROCESS_COMMAND_MAX - 6);
		assert_null(strchr(name, '?'));
		assert_null(strchr(command, '?'));
	}
}

static void an_interpreter_with_a_long_name_leaves_no_room_for_a_script(void **state)
{
	char name[PROCESS_NAME_MAX], command[PROCESS_COMMAND_MAX];
	static const char data[] = "python-with-a-name-of-exactly-forty-seven-bytes\0script.py";
	(void)state;

	assert_true(proc_parse_cmdline(data, sizeof(data), name, command));
	assert_string_equal(name, "python-with-a-name-of-exactly-forty-seven-bytes");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(statm_gives_bytes_and_refuses_what_cannot_be),
		cmocka_unit_test(a_name_cannot_hide_the_parent),
		cmocka_unit_test(the_start_stands_behind_whatever_the_name_is),
		cmocka_unit_test(a_command_line_becomes_the_name_that_people_know),
		cmocka_unit_test(credentials_on_a_command_line_are_hidden),
		cmocka_unit_test(a_long_title_is_cut_between_characters),
		cmocka_unit_test(an_interpreter_with_a_long_name_leaves_no_room_for_a_script),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
