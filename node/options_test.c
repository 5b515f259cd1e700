/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the command line of afterglow-node. */
#include "node/options.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 8

static int parse(char *const *args, struct node_options *o, struct err *err)
{
	static char *argv[ARGS_MAX + 2];
	size_t n = 0;

	argv[n++] = "afterglow-node";
	for (; n <= ARGS_MAX && args[n - 1]; n++)
		argv[n] = args[n - 1];
	argv[n] = NULL;
	return node_options_parse(argv, o, err);
}

static void without_options_it_runs_at_the_usual_places(void **state)
{
	struct node_options o;

	(void)state;
	assert_int_equal(parse((char *[]){ NULL }, &o, NULL), 0);
	assert_int_equal(o.command, NODE_RUN);
	assert_string_equal(o.root, "");
	assert_string_equal(o.directory, "/var/lib/afterglow");
	assert_string_equal(o.kubelet, "/var/lib/kubelet");
	assert_true(o.cores);
}

static void options_are_taken(void **state)
{
	struct node_options o;

	(void)state;
	assert_int_equal(parse((char *[]){ "restore", "--root", "/host", "--kubelet", "/k",
					   "--cores", "off", NULL },
			       &o, NULL),
			 0);
	assert_int_equal(o.command, NODE_RESTORE);
	assert_null(o.output);
	assert_string_equal(o.root, "/host");
	assert_string_equal(o.kubelet, "/k");
	assert_false(o.cores);
	assert_int_equal(
		parse((char *[]){ "facts", "--output", "/dev/termination-log", NULL }, &o, NULL),
		0);
	assert_int_equal(o.command, NODE_FACTS);
	assert_string_equal(o.output, "/dev/termination-log");
}

static void a_wrong_option_is_named(void **state)
{
	static const struct {
		char *args[4];
		const char *error;
	} rows[] = {
		{ { "--bogus" }, "unknown option --bogus" },
		{ { "stray" }, "unknown command stray" },
		{ { "--root" }, "--root takes a value" },
		{ { "--kubelet", "relative" }, "--kubelet takes an absolute path, not relative" },
		{ { "--directory", "" }, "--directory takes a value" },
		{ { "--cores", "yes" }, "--cores takes off or on, not yes" },
	};
	struct node_options o;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct err err = { 0 };

		assert_int_equal(parse(rows[i].args, &o, &err), -EINVAL);
		assert_non_null(strstr(err_text(&err), rows[i].error));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_options_it_runs_at_the_usual_places),
		cmocka_unit_test(options_are_taken),
		cmocka_unit_test(a_wrong_option_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
