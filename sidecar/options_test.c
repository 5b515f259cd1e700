/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the command line: which options are accepted, and that an error is one line that names
 * the option.
 */
#include "sidecar/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/digest/report_mac.h"
#include "sidecar/socket/channel.h"

#define ARGS_MAX 8

static int parse(const char *const *args, struct sidecar_options *o, struct err *err)
{
	static char *argv[ARGS_MAX + 2];
	size_t n = 0;

	argv[n++] = "afterglow-sidecar";
	for (; n <= ARGS_MAX && args[n - 1]; n++)
		argv[n] = (char *)args[n - 1];
	argv[n] = NULL;
	return sidecar_options_parse(argv, o, err);
}

static const struct {
	const char *args[ARGS_MAX];
	const char *error; /* a part of the line */
} wrong[] = {
	{ { "--bogus" }, "--bogus" },
	{ { "-x" }, "-x" },
	{ { "--socket" }, "--socket takes a value" },
	{ { "--socket", "" }, "--socket takes a value" },
	{ { "--store", "" }, "--store takes a value" },
	{ { "--store", "ftp://x" }, "--store takes a directory, file:///DIRECTORY, s3://BUCKET/PREFIX" },
	{ { "--store", "s3://" }, "names no bucket" },
	{ { "--store", "/s", "--store-s3-region", "x" }, "--store-s3-region is for a store s3://" },
	{ { "--spool-max", "much" }, "--spool-max" },
	{ { "--spool-bundles", "-1" }, "--spool-bundles takes a whole number from 0 to 1000000, not -1" },
	{ { "--grace", "1.5" }, "--grace takes a whole number from 0 to 3600, not 1.5" },
	{ { "--run-as", "root" }, "--run-as takes a whole number from 1 to 2147483647, not root" },
	{ { "--spool-max", "much" }, "--spool-max takes a size such as 512Mi or 2G, not much" },
	{ { "--memory-max", "1Gi" }, "unknown option --memory-max" },
	{ { "exec", "--grace", "1", "--", "true" }, "unknown option --grace" },
	{ { "--keep-days", "x" }, "--keep-days takes a number from 0 to 36500" },
	{ { "--full-bundles" }, "--full-bundles takes a value" },
	{ { "exec", "--spool-max", "1Gi", "--", "true" }, "unknown option --spool-max" },
	{ { "--spool" }, "--spool takes a value" },
	{ { "stray" }, "stray" },
	{ { "--", "stray" }, "stray" },
	{ { "--warn-at", "0" }, "--warn-at" },
	{ { "--warn-at", "1.01" }, "--warn-at" },
	{ { "--warn-at", "nan" }, "--warn-at" },
	{ { "--warn-at", "0.8x" }, "--warn-at" },
	{ { "--warn-at", "80%" }, "--warn-at" },
	{ { "--cores", "all" }, "--cores takes off, summary or full, not all" },
	{ { "--cores", "" }, "--cores" },
	{ { "--leave-after", "never" }, "--leave-after takes none, success or any, not never" },
	{ { "--grace", "-1" }, "--grace" },
	{ { "--grace", "inf" }, "--grace" },
	{ { "--grace", "soon" }, "--grace" },
	{ { "--kernel-log" }, "--kernel-log takes a value" },
	{ { "--kernel-log", "yes" }, "--kernel-log takes auto or off, not yes" },
	{ { "--run-as", "0" }, "--run-as" },
	{ { "--run-as", "root" }, "--run-as" },
	{ { "exec", "--run-as", "5", "--", "true" }, "--run-as" },
	{ { "--memory-max", "1Gi" }, "--memory-max" }, /* only for exec */
	{ { "--name", "x" }, "--name" },
	{ { "--hook-at-death" }, "--hook-at-death takes a value" },
	{ { "--hook-at-birth", "x" }, "unknown option --hook-at-birth" },
	{ { "--hook-timeout", "0" }, "--hook-timeout takes a whole number from 1 to 600" },
	{ { "--hook-headroom", "much" }, "--hook-headroom" },
	{ { "--hold-on-failure", "86401" }, "--hold-on-failure takes a whole number from 0" },
	{ { "exec" }, "a command is missing" },
	{ { "exec", "--" }, "a command is missing" },
	{ { "exec", "--socket", "/x", "--", "true" }, "--socket" }, /* only for the sidecar */
	{ { "exec", "--grace", "5", "--", "true" }, "--grace" },
	{ { "exec", "--memory-max", "lots", "--", "true" }, "--memory-max" },
	{ { "exec", "--memory-max", "1Mi", "--", "true" }, "--memory-max takes at least 4.0 MiB, not 1Mi" },
	{ { "exec", "--memory-max", "-5Gi", "--", "true" }, "--memory-max" },
	{ { "exec", "--memory-max", "9999999999Gi", "--", "true" }, "--memory-max" },
	{ { "exec", "--memory-max" }, "--memory-max takes a value" },
	{ { "exec", "--name", "a b", "--", "true" }, "--name" },
	{ { "exec", "--name", "../x", "--", "true" }, "--name" },
	{ { "exec", "--name", "", "--", "true" }, "--name" },
};

static void a_wrong_option_is_one_line_that_names_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct sidecar_options o = { .command = 99 };
		struct err err = { 0 };

		if (parse(wrong[i].args, &o, &err) >= 0 || !strstr(err.text, wrong[i].error) ||
		    strchr(err.text, '\n'))
			fail_msg("%s %s: %s", wrong[i].args[0],
				 wrong[i].args[1] ? wrong[i].args[1] : "", err_text(&err));
		assert_int_equal(o.command, 99);
	}
}

static void defaults_are_those_of_the_usage(void **state)
{
	struct sidecar_options o;
	(void)state;

	assert_int_equal(parse((const char *[]){ NULL }, &o, NULL), 0);
	assert_int_equal(o.command, COMMAND_RECORD);
	assert_string_equal(o.exec.record.socket_path, DEFAULT_SOCKET);
	assert_string_equal(o.exec.record.spool, DEFAULT_SPOOL);
	assert_null(o.exec.record.store.url);
	assert_true(o.exec.record.warn_at == DEFAULT_WARN_AT);
	assert_int_equal(o.exec.record.grace_s, DEFAULT_GRACE_S);
	assert_false(o.exec.record.kernel_log.off);
	assert_null(o.exec.record.kernel_log.syslog);
	assert_int_equal(o.run_as, -1);
	assert_false(o.exec.record.oom_group);
}

static void the_kernel_log_is_read_unless_it_is_off(void **state)
{
	struct sidecar_options o;
	(void)state;

	assert_int_equal(parse((const char *[]){ "--kernel-log", "off", "--syslog", "/l",
						 "--run-as", "65532", NULL },
			       &o, NULL),
			 0);
	assert_true(o.exec.record.kernel_log.off);
	assert_string_equal(o.exec.record.kernel_log.syslog, "/l");
	assert_int_equal(o.run_as, 65532);
	assert_int_equal(
		parse((const char *[]){ "--kernel-log", "off", "--kernel-log", "auto", NULL }, &o,
		      NULL),
		0);
	assert_false(o.exec.record.kernel_log.off);
}

static void the_pod_is_taken_from_the_environment(void **state)
{
	struct sidecar_options o;
	(void)state;

	setenv("POD_NAMESPACE", "ml", 1);
	setenv("POD_NAME", "", 1);
	setenv("AFTERGLOW_STORE_NAME", "pvc:failures", 1);
	setenv(REPORT_KEY_VARIABLE, "00112233445566778899aabbccddeeff", 1);
	assert_int_equal(parse((const char *[]){ "--store", "/s", "--warn-at", "0.5", "--grace",
						 "3", "--oom-group", NULL },
			       &o, NULL),
			 0);
	assert_string_equal(o.exec.record.id.namespace, "ml");
	assert_null(o.exec.record.id.pod);
	assert_string_equal(o.exec.record.store_name, "pvc:failures");
	assert_string_equal(o.exec.record.id.report_key, "00112233445566778899aabbccddeeff");
	assert_null(getenv(REPORT_KEY_VARIABLE)); /* no child gets it */
	assert_string_equal(o.exec.record.store.url, "/s");
	assert_true(o.exec.record.warn_at == 0.5);
	assert_int_equal(o.exec.record.grace_s, 3);
	assert_true(o.exec.record.oom_group);
}

static void exec_takes_the_command_as_it_is(void **state)
{
	struct sidecar_options o;
	(void)state;

	assert_int_equal(parse((const char *[]){ "exec", "--memory-max", "512Mi", "--store", "/s",
						 "--", "--help", NULL },
			       &o, NULL),
			 0);
	assert_int_equal(o.command, COMMAND_EXEC);
	assert_int_equal(o.exec.memory_max, 512 << 20);
	assert_string_equal(o.exec.argv[0], "--help");
	assert_null(o.exec.record.id.namespace);
	assert_null(o.exec.record.spool);
	assert_int_equal(parse((const char *[]){ "exec", "/bin/sh", "-c", "x", NULL }, &o, NULL),
			 0);
	assert_string_equal(o.exec.argv[2], "x");
	assert_string_equal(o.exec.name, "sh");
}

static void any_program_has_a_name_that_the_sidecar_takes(void **state)
{
	static const struct {
		const char *program, *name;
	} rows[] = {
		{ "/usr/bin/g++", "g__" },   { "[", "x" },	       { "-sh", "xsh" },	    { "./my prog", "my_prog" },
		{ "caf\xc3\xa9", "caf__" }, { "dir/", "dir_" },       { ".hidden", "xhidden" },    { "/", "x" },
		{ "a_very_long_name_of_a_program_that_goes_on_and_on_until_it_does_not_fit_any_more",
		  "a_very_long_name_of_a_program_that_goes_on_and_on_until_it_does" },
	};
	struct sidecar_options o;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			parse((const char *[]){ "exec", "--", rows[i].program, NULL }, &o, NULL),
			0);
		assert_string_equal(o.exec.name, rows[i].name);
		assert_true(launch_name_valid(o.exec.name));
	}
}

static void a_program_in_python_has_the_name_of_its_script(void **state)
{
	static const struct {
		const char *argv[6], *name;
	} rows[] = {
		{ { "exec", "--", "/usr/bin/python3", "jobs/train.py", "--lr=1" }, "train.py" },
		{ { "exec", "--", "python3.11", "-c", "1/0" }, "python3.11" },
		{ { "exec", "--", "python" }, "python" },
		{ { "exec", "--", "bash", "run.sh" }, "bash" },
	};
	struct sidecar_options o;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(parse((const char **)rows[i].argv, &o, NULL), 0);
		assert_string_equal(o.exec.name, rows[i].name);
	}
}

static void a_relative_store_is_a_plain_path(void **state)
{
	static const char *const rows[][2] = { { "./kept", "/kept" }, { "././kept", "/kept" },
					       { "kept", "/kept" },   { ".", "" },
					       { "./", "" },	      { ".kept", "/.kept" } };
	char cwd[4096], expected[4200];
	struct sidecar_options o;
	(void)state;

	assert_non_null(getcwd(cwd, sizeof(cwd)));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			parse((const char *[]){ "exec", "--store", rows[i][0], "--", "true", NULL },
			      &o, NULL),
			0);
		snprintf(expected, sizeof(expected), "%s%s", cwd, rows[i][1]);
		assert_string_equal(o.exec.record.store.url, expected);
	}
}

static void the_state_directory_is_the_default_store_of_exec(void **state)
{
	struct sidecar_options o;
	(void)state;

	unsetenv("XDG_STATE_HOME");
	setenv("HOME", "/home/x", 1);
	assert_int_equal(parse((const char *[]){ "exec", "true", NULL }, &o, NULL), 0);
	assert_string_equal(o.exec.record.store.url, "/home/x/.local/state/afterglow");
	setenv("XDG_STATE_HOME", "/state", 1);
	assert_int_equal(parse((const char *[]){ "exec", "true", NULL }, &o, NULL), 0);
	assert_string_equal(o.exec.record.store.url, "/state/afterglow");
}

static void help_of_exec_is_for_people_without_kubernetes(void **state)
{
	static const char *const strange[] = { "pod",
					       "container",
					       "kubelet",
					       "node agent",
					       "afterglow-sidecar",
					       "afterglow-ship",
					       "--spool",
					       "--http" };
	char text[16384] = "";
	int out = dup(STDOUT_FILENO), ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	fflush(stdout);
	dup2(ends[1], STDOUT_FILENO);
	assert_int_equal(sidecar_options_print_help(COMMAND_EXEC), 0);
	dup2(out, STDOUT_FILENO);
	assert_true(read(ends[0], text, sizeof(text) - 1) > 0);
	assert_memory_equal(text, "usage: afterglow run ", strlen("usage: afterglow run "));
	assert_non_null(strstr(text, "--memory-max"));
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++)
		if (strstr(text, strange[i]))
			fail_msg("\"%s\" in:\n%s", strange[i], text);
	close(out);
	close(ends[0]);
	close(ends[1]);
}

static void help_and_version_need_no_command(void **state)
{
	struct sidecar_options o;
	(void)state;

	assert_int_equal(parse((const char *[]){ "--help", NULL }, &o, NULL), 0);
	assert_true(o.help);
	assert_int_equal(parse((const char *[]){ "exec", "--version", NULL }, &o, NULL), 0);
	assert_true(o.version);
}

static void hooks_come_in_the_order_in_which_they_are_given(void **state)
{
	struct sidecar_options o;
	const struct hook_options *h = &o.exec.record.hooks;
	(void)state;

	assert_int_equal(parse((const char *[]){ "--hook-at-death", "a", "--hook-at-threshold",
						 "b c", "--hook-at-death", "d", NULL },
			       &o, NULL),
			 0);
	assert_string_equal(h->commands[HOOK_AT_DEATH][0], "a");
	assert_string_equal(h->commands[HOOK_AT_DEATH][1], "d");
	assert_null(h->commands[HOOK_AT_DEATH][2]);
	assert_string_equal(h->commands[HOOK_AT_THRESHOLD][0], "b c");
	assert_int_equal(h->timeout_s, DEFAULT_HOOK_TIMEOUT_S);
	assert_int_equal(h->headroom, DEFAULT_HOOK_HEADROOM);
	assert_int_equal(o.exec.record.hold_s, 0);
	assert_int_equal(parse((const char *[]){ "--hook-timeout", "3", "--hook-headroom", "1Mi",
						 "--hold-on-failure", "60", NULL },
			       &o, NULL),
			 0);
	assert_int_equal(h->timeout_s, 3);
	assert_int_equal(h->headroom, 1 << 20);
	assert_int_equal(o.exec.record.hold_s, 60);
}

static void a_ninth_hook_is_one_too_many(void **state)
{
	char *argv[2 * (HOOK_COMMANDS_MAX + 1) + 2] = { (char *)"afterglow-sidecar" };
	struct sidecar_options o;
	struct err err = { 0 };
	(void)state;

	for (int i = 0; i <= HOOK_COMMANDS_MAX; i++) {
		argv[1 + 2 * i] = (char *)"--hook-at-threshold";
		argv[2 + 2 * i] = (char *)"x";
	}
	assert_int_equal(sidecar_options_parse(argv, &o, &err), -EINVAL);
	assert_non_null(strstr(err.text, "at most 8"));
	argv[1 + 2 * HOOK_COMMANDS_MAX] = NULL;
	assert_int_equal(sidecar_options_parse(argv, &o, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wrong_option_is_one_line_that_names_it),
		cmocka_unit_test(defaults_are_those_of_the_usage),
		cmocka_unit_test(the_kernel_log_is_read_unless_it_is_off),
		cmocka_unit_test(the_pod_is_taken_from_the_environment),
		cmocka_unit_test(exec_takes_the_command_as_it_is),
		cmocka_unit_test(any_program_has_a_name_that_the_sidecar_takes),
		cmocka_unit_test(a_program_in_python_has_the_name_of_its_script),
		cmocka_unit_test(a_relative_store_is_a_plain_path),
		cmocka_unit_test(the_state_directory_is_the_default_store_of_exec),
		cmocka_unit_test(help_of_exec_is_for_people_without_kubernetes),
		cmocka_unit_test(help_and_version_need_no_command),
		cmocka_unit_test(hooks_come_in_the_order_in_which_they_are_given),
		cmocka_unit_test(a_ninth_hook_is_one_too_many),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
