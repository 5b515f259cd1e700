/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of running kubectl, with commands that every system has in place of kubectl. */
#include "plugin/kubectl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "plugin/kubectl_stream.h"

static int add_output(void *arg, const void *data, size_t len, struct err *err)
{
	(void)err;
	strbuf_add(arg, data, len);
	return 0;
}

static int ask(const char *program, const char *arg, cJSON **ret_json)
{
	const struct kubectl kubectl = { .program = program };
	const char *const args[] = { arg, NULL };
	struct err err = { 0 };

	return kubectl_json(&kubectl, args, true, ret_json, &err);
}

static void the_answer_is_what_the_program_prints(void **state)
{
	_cleanup_json_ cJSON *json = NULL;

	(void)state;
	assert_int_equal(ask("echo", "{\"a\": \"b\"}", &json), 0);
	assert_string_equal(json_str(json, "a"), "b");
}

static void a_program_that_fails_or_is_not_there_has_no_answer(void **state)
{
	cJSON *json = NULL;

	(void)state;
	assert_int_equal(ask("false", "x", &json), -EIO);
	assert_int_equal(ask("/nonexistent/kubectl", "x", &json), -ENOENT);
	assert_int_equal(ask("echo", "not JSON", &json), -EPROTO);
	assert_null(json);
}

/* Runs cat between two pipes while the standard descriptor is closed. */
static void pass_through_cat(int closed)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1024);
	const struct stream stream = { .input = "through", .on_data = add_output, .arg = &out };
	const struct kubectl kubectl = { .program = "cat" };
	const char *const args[] = { NULL };
	int saved = dup(closed), r;

	close(closed);
	r = kubectl_stream(&kubectl, args, &stream, NULL);
	dup2(saved, closed);
	close(saved);
	assert_int_equal(r, 0);
	assert_string_equal(strbuf_str(&out), "through");
}

static void input_and_output_pass_also_where_a_standard_descriptor_is_closed(void **state)
{
	(void)state;
	pass_through_cat(STDIN_FILENO);
	pass_through_cat(STDOUT_FILENO);
	pass_through_cat(STDERR_FILENO);
}

/* Checks that what the program prints on stderr arrives on our stderr. */
static void check_errors(const char *script, const char *expected)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(2 * STREAM_ERRORS_MAX);
	const struct kubectl kubectl = { .program = "sh" };
	const char *const args[] = { "-c", script, NULL };
	int saved = dup(STDERR_FILENO), r;
	FILE *ours = tmpfile();

	assert_non_null(ours);
	dup2(fileno(ours), STDERR_FILENO);
	r = kubectl_stream(&kubectl, args, &(struct stream){ 0 }, NULL);
	dup2(saved, STDERR_FILENO);
	close(saved);
	lseek(fileno(ours), 0, SEEK_SET);
	assert_int_equal(fd_read_all(fileno(ours), &out, NULL), 0);
	fclose(ours);
	assert_int_equal(r, 0);
	assert_string_equal(strbuf_str(&out), expected);
}

static void what_a_stream_prints_on_stderr_is_harmless_to_a_terminal(void **state)
{
	(void)state;
	check_errors("echo refused >&2; printf 'a\\033[31mred' >&2", "refused\na?[31mred\n");
	check_errors("printf '\\n' >&2", "\n");
	check_errors("true", "");
}

static void the_ends_of_a_pipe_are_closed_in_programs_and_above_stderr(void **state)
{
	int ends[2], saved = dup(STDIN_FILENO);

	(void)state;
	close(STDIN_FILENO);
	assert_int_equal(pipe_open(ends, NULL), 0);
	dup2(saved, STDIN_FILENO);
	close(saved);
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
		assert_true(ends[i] > STDERR_FILENO);
		assert_int_equal(fcntl(ends[i], F_GETFD), FD_CLOEXEC);
		close(ends[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_answer_is_what_the_program_prints),
		cmocka_unit_test(a_program_that_fails_or_is_not_there_has_no_answer),
		cmocka_unit_test(input_and_output_pass_also_where_a_standard_descriptor_is_closed),
		cmocka_unit_test(what_a_stream_prints_on_stderr_is_harmless_to_a_terminal),
		cmocka_unit_test(the_ends_of_a_pipe_are_closed_in_programs_and_above_stderr),
	};

	return cmocka_run_group_tests_name("kubectl", tests, NULL, NULL);
}
