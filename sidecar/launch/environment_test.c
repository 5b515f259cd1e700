/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/launch/environment.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

/* The length of an environment that is written as one text. */
/* What differs in any case, as the launcher may see other values of it. */
#define V "_\nSHLVL\n"
#define BLOCK(text) text, sizeof(text)

static void only_what_the_shell_changed_is_written(void **state)
{
	static const struct {
		const char *was;
		size_t len;
		const char *is[4], *text;
	} rows[] = {
		{ BLOCK("A=1\0B=2"), { "B=2", "A=1" }, V },
		{ BLOCK("A=1\0a.b=x y"), { "A=1" }, V "a.b=x%20y\n" },
		{ BLOCK("PWD=/nowhere"), { "PWD=/tmp", "OLD=1" }, V "PWD=/nowhere\nOLD\n" },
		{ BLOCK("_=1\0SHLVL=1"), { "_=1", "SHLVL=1" }, V "_=1\nSHLVL=1\n" },
		{ BLOCK("BASH_FUNC_f%%=() {\n}"), { NULL }, V "BASH_FUNC_f%25%25=()%20{%0a}\n" },
		{ BLOCK("A="), { "A=1" }, V "A=\n" },
		{ BLOCK("AB=1"), { "A=1", "ABC=1" }, V "AB=1\nA\nABC\n" },
		{ BLOCK("no variable\0A=\xc3\xa4\x7f\t"), { "nor this" }, V "A=%c3%a4%7f%09\n" },
		{ "", 0, { "A=1" }, "" }, /* it could not be read */
		{ "A=1", 3, { NULL }, "" }, /* it was cut */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[128];

		environment_difference(rows[i].was, rows[i].len, (char *const *)rows[i].is, text,
				       sizeof(text));
		assert_string_equal(text, rows[i].text);
	}
}

static void a_difference_without_room_is_left_out_as_a_whole(void **state)
{
	static const char was[] = "A=1\0B=%";
	char *const is[] = { NULL };
	char text[32];

	(void)state;
	for (size_t size = 1; size < sizeof(text); size++) {
		memset(text, 'x', sizeof(text));
		if (environment_difference(was, sizeof(was), is, text, size))
			assert_string_equal(text, V "A=1\nB=%25\n");
		else
			assert_string_equal(text, "");
		assert_int_equal(text[size], 'x');
	}
	assert_false(environment_difference(was, sizeof(was), is, text, 16));
	assert_true(environment_difference(was, sizeof(was), is, text, sizeof(text)));
}

/* Each service of a pod's namespace gives it seven variables, and the command waits for us. */
static void many_variables_take_no_time(void **state)
{
	enum { N = 20000, ENTRY_MAX = 40 };
	static char was[N * ENTRY_MAX], text[64], *is[N + 1];
	size_t len = 0;
	clock_t began = clock();

	(void)state;
	for (size_t i = 0; i < N; i++) {
		is[N - 1 - i] = was + len;
		len += (size_t)snprintf(was + len, ENTRY_MAX, "THE_SERVICE_%05zu_PORT=1", i) + 1;
	}
	assert_true(environment_difference(was, len, is, text, sizeof(text)));
	assert_string_equal(text, V);
	/* It takes some 20 ms; to compare each with each takes 10 s and more. */
	assert_true(clock() - began < 3 * CLOCKS_PER_SEC);
}

static void what_is_applied_is_what_was(void **state)
{
	static char text[] = "TEST_a.b=1%0a2%\nTEST_ADDED\nTEST_EMPTY=\nTEST_BROKEN=%zz%4";

	(void)state;
	setenv("TEST_ADDED", "1", 1);
	setenv("TEST_EMPTY", "1", 1);
	setenv("TEST_OTHER", "stays", 1);
	environment_apply(text);
	assert_string_equal(getenv("TEST_a.b"), "1\n2%");
	assert_null(getenv("TEST_ADDED"));
	assert_string_equal(getenv("TEST_EMPTY"), "");
	assert_string_equal(getenv("TEST_BROKEN"), "%zz%4");
	assert_string_equal(getenv("TEST_OTHER"), "stays");
}

static int environ_line_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* This process once more, started by a shell as the launcher is. */
static int second_process(const char *what)
{
	size_t n = 0;

	if (strcmp(what, "print") == 0) {
		environment_print();
		return 0;
	}
	environment_restore((char *[]){ (char *)"second", NULL }, 0);
	while (environ[n])
		n++;
	qsort(environ, n, sizeof(*environ), environ_line_order);
	for (size_t i = 0; i < n; i++)
		printf("[%s]", environ[i]);
	return 0;
}

static const char *self;

static void run_by_shell(const char *const *shell, const char *ret_text[static 1], char *buffer,
			 size_t size)
{
	static const char line[] =
		"start() { " ENVIRONMENT_VARIABLE
		"=$lost exec \"$0\" \"$@\"; }; lost=$(start print); start restore";
	char *const environment[] = { "a.b=1",
				      "BASH_FUNC_f%%=() {  :\n}",
				      "BASH_VERSION=mine",
				      "IFS=x",
				      "LINENO=7",
				      "OLDPWD=/before",
				      "OPTIND=9",
				      "PATH=/usr/bin:/bin",
				      "PS1=$ ",
				      "PWD=/nowhere",
				      "SHLVL=41",
				      "_=under",
				      NULL };
	int ends[2], status;
	size_t len = 0;
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execve(shell[0],
		       (char *const[]){ (char *)shell[0], (char *)shell[1], (char *)"-c",
					(char *)line, (char *)self, NULL },
		       environment);
		_exit(1);
	}
	close(ends[1]);
	while ((n = read(ends[0], buffer + len, size - 1 - len)) > 0)
		len += (size_t)n;
	buffer[len] = '\0';
	*ret_text = buffer;
	close(ends[0]);
	waitpid(pid, &status, 0);
}

static void no_shell_changes_anything(void **state)
{
	static const char *const shells[][2] = {
		{ "/bin/dash", "-e" }, { "/bin/bash", "-e" }, { "/bin/bash", "--posix" }, { "/bin/busybox", "ash" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(shells) / sizeof(shells[0]); i++) {
		char buffer[4096];
		const char *text = NULL;

		run_by_shell(shells[i], &text, buffer, sizeof(buffer));
		assert_string_equal(
			text,
			"[BASH_FUNC_f%%=() {  :\n}][BASH_VERSION=mine][IFS=x][LINENO=7][OLDPWD=/before][OPTIND=9]"
			"[PATH=/usr/bin:/bin][PS1=$ ][PWD=/nowhere][SHLVL=41][_=under][a.b=1]");
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_the_shell_changed_is_written),
		cmocka_unit_test(a_difference_without_room_is_left_out_as_a_whole),
		cmocka_unit_test(many_variables_take_no_time),
		cmocka_unit_test(what_is_applied_is_what_was),
		cmocka_unit_test(no_shell_changes_anything),
	};

	if (argc > 1)
		return second_process(argv[1]);
	self = argv[0];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
