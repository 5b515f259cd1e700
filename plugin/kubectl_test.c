/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of running kubectl, with commands that every system has in place of kubectl. */
#include "plugin/kubectl.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <termios.h>
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
	assert_int_equal(ask("false", "x", &json), -EPROTO);
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

static const struct kubectl shell = { .program = "sh" };

/* Runs a script by kubectl_stream, or kubectl_json, and returns what arrives on our stderr. */
static struct strbuf errors_of(const char *script, bool as_json)
{
	struct strbuf errors = STRBUF_INIT(1 << 20);
	const char *const args[] = { "-c", script, NULL };
	_cleanup_json_ cJSON *json = NULL;
	int saved = dup(STDERR_FILENO), r;
	FILE *ours = tmpfile();

	assert_non_null(ours);
	dup2(fileno(ours), STDERR_FILENO);
	r = as_json ? kubectl_json(&shell, args, false, &json, NULL) :
		      kubectl_stream(&shell, args, &(struct stream){ 0 }, NULL);
	dup2(saved, STDERR_FILENO);
	close(saved);
	lseek(fileno(ours), 0, SEEK_SET);
	assert_int_equal(fd_read_all(fileno(ours), &errors, NULL), 0);
	fclose(ours);
	assert_int_equal(r, 0);
	return errors;
}

static void what_kubectl_prints_on_stderr_is_harmless_to_a_terminal(void **state)
{
	static const struct {
		const char *script, *errors;
	} rows[] = {
		{ "echo refused >&2; printf 'a\\033[31mred' >&2; echo {}", "refused\na?[31mred" },
		{ "printf 'pods \\\\\"\\302\\2332J\\342\\200\\256x\\\\\" not found\\n' >&2; echo {}", "pods \\\"??2J???x\\\" not found\n" },
		{ "echo {}", "" },
	};
	(void)state;

	for (size_t i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf errors = errors_of(rows[i / 2].script, i % 2);

		assert_string_equal(strbuf_str(&errors), rows[i / 2].errors);
	}
}

/*
 * A login that asks for something is seen at once, and a browser that it started does not hold the
 * command.
 */
static void what_an_exec_plugin_leaves_running_is_not_waited_for(void **state)
{
	_cleanup_strbuf_ struct strbuf errors =
		errors_of("echo log in >&2; sleep 100 >/dev/null & echo $! >&2; echo {}", true);
	(void)state;

	assert_memory_equal(strbuf_str(&errors), "log in\n", 7);
	assert_int_equal(kill((pid_t)strtol(strbuf_str(&errors) + 7, NULL, 10), SIGKILL), 0);
}

/* Returns what a terminal, or a file, gets of a kubectl that prints the script's output. */
static struct strbuf printed_by(const char *script, bool to_terminal)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	const char *const args[] = { "-c", script, NULL };
	int saved = dup(STDOUT_FILENO),
	    file = to_terminal ? posix_openpt(O_RDWR | O_NOCTTY) : memfd_create("out", 0), r;
	int slave = to_terminal && grantpt(file) == 0 && unlockpt(file) == 0 ?
			    open(ptsname(file), O_RDWR | O_NOCTTY) :
			    dup(file);
	struct termios raw;
	char text[4096];
	ssize_t n;

	if (to_terminal) {
		assert_int_equal(tcgetattr(slave, &raw), 0);
		cfmakeraw(&raw);
		assert_int_equal(tcsetattr(slave, TCSANOW, &raw), 0);
	}
	dup2(slave, STDOUT_FILENO);
	r = kubectl_print(&shell, args, NULL);
	dup2(saved, STDOUT_FILENO);
	close(saved);
	lseek(file, 0, SEEK_SET);
	assert_int_equal(r, 0);
	assert_int_equal(fcntl(file, F_SETFL, O_NONBLOCK), 0);
	while ((n = read(file, text, sizeof(text))) > 0)
		strbuf_add(&out, text, (size_t)n);
	close(slave);
	close(file);
	return out;
}

static void objects_that_kubectl_prints_are_harmless_to_a_terminal_and_whole_in_a_file(void **state)
{
	static const char script[] =
		"printf '{\"a\": \"\\302\\2332J\\342\\200\\256\\303\\244\"}\\n\\033]0;x\\a'";
	_cleanup_strbuf_ struct strbuf terminal = printed_by(script, true),
				       file = printed_by(script, false);
	_cleanup_json_ cJSON *json = NULL;
	(void)state;

	assert_string_equal(strbuf_str(&terminal), "{\"a\": \"??2J???\303\244\"}\n?]0;x?");
	assert_int_equal(json_parse(strbuf_str(&terminal), strcspn(strbuf_str(&terminal), "\n"),
				    &json, NULL),
			 0);
	assert_string_equal(strbuf_str(&file),
			    "{\"a\": \"\302\2332J\342\200\256\303\244\"}\n\033]0;x\a");
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
		cmocka_unit_test(what_kubectl_prints_on_stderr_is_harmless_to_a_terminal),
		cmocka_unit_test(what_an_exec_plugin_leaves_running_is_not_waited_for),
		cmocka_unit_test(objects_that_kubectl_prints_are_harmless_to_a_terminal_and_whole_in_a_file),
		cmocka_unit_test(the_ends_of_a_pipe_are_closed_in_programs_and_above_stderr),
	};

	return cmocka_run_group_tests_name("kubectl", tests, NULL, NULL);
}
