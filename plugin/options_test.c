/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the plugin's command line. */
#include "plugin/options.h"

#include <errno.h>
#include <fcntl.h>

#include "lib/fileio.h"
#include "plugin/testing.h"

#define WORDS_MAX 10

static int parse(const char *const *words, struct options *o, struct err *err)
{
	char *argv[WORDS_MAX + 2] = { "kubectl-afterglow" };
	int n = 1;

	for (; *words; words++)
		argv[n++] = (char *)*words;
	return options_parse(argv, o, err);
}

static void options_may_stand_before_and_after_the_command(void **state)
{
	struct options o;
	(void)state;

	assert_int_equal(parse((const char *const[]){ "-n", "ml", "show", "pod-1", "--context=c",
						      "-o", "json", NULL },
			       &o, NULL),
			 0);
	assert_int_equal(o.command, COMMAND_SHOW);
	assert_string_equal(o.argument, "pod-1");
	assert_string_equal(o.namespace, "ml");
	assert_string_equal(o.context, "c");
	assert_string_equal(o.output, "json");
	assert_int_equal(parse((const char *const[]){ "list", "-A", "--since", "2h", "--class",
						      "Segfault", NULL },
			       &o, NULL),
			 0);
	assert_true(o.all_namespaces && o.since_ns == 7200 * NS_PER_SEC);
	assert_int_equal(parse((const char *const[]){ "explain", "-9", NULL }, &o, NULL), 0);
	assert_string_equal(o.argument, "-9");
	assert_int_equal(
		parse((const char *const[]){ "report", "--store", "dir", "-o", "page.html", NULL },
		      &o, NULL),
		0);
	assert_int_equal(
		parse((const char *const[]){ "show", "--store", "dir", "-o", "json", NULL }, &o,
		      NULL),
		0);
}

static void what_is_wrong_is_named_with_what_would_be_right(void **state)
{
	static const struct {
		const char *words[5], *part;
	} rows[] = {
		{ { NULL }, "a command is missing" },
		{ { "lsit" }, "\"lsit\" is not a command; the commands are list" },
		{ { "list", "--clas", "x" }, "unknown option --clas" },
		{ { "list", "-x" }, "unknown option -x" },
		{ { "list", "--class" }, "--class takes a value" },
		{ { "list", "--class", "OOM" }, "--class \"OOM\" is not a class" },
		{ { "list", "--since", "2" }, "must be a time such as" },
		{ { "list", "--since=-1h" }, "must be a time such as" },
		{ { "list", "--since=99999d" }, "must be a time such as" },
		{ { "list", "--watch=yes" }, "--watch takes no value" },
		{ { "list", "--namespace=" }, "--namespace takes a value" },
		{ { "list", "-A", "-n", "ml" }, "exclude each other" },
		{ { "list", "--owner", "train" }, "must be KIND/NAME" },
		{ { "incidents", "-o", "yaml" },
		  "--output of incidents can only be json, not \"yaml\"" },
		{ { "doctor", "--watch" }, "doctor does not take --watch;" },
		{ { "explain", "137", "--since", "2h" }, "explain does not take --since;" },
		{ { "list", "pod" }, "list takes no argument, not \"pod\"" },
		{ { "show" }, "show needs NAME;" },
		{ { "bundle" }, "bundle needs NAME DIR;" },
		{ { "bundle", "pod" }, "bundle needs NAME DIR;" },
		{ { "bundle", "pod", "dir", "more" }, "\"more\" is one argument too many" },
		{ { "release" }, "release needs POD;" },
		{ { "stack" }, "stack needs WHAT" },
		{ { "stack", "pod", "-o", "yaml" }, "--output of stack can only be json" },
		{ { "stack", "pod", "--container=c" }, "stack does not take --container" },
		{ { "show", "a", "b" }, "\"b\" is one argument too many" },
		{ { "list", "--store", "dir", "--watch" }, "do not go with --store" },
		{ { "list", "--store=dir", "-o", "wide" }, "--output of list can only be json" },
		{ { "show", "--store=dir", "-o", "yaml" }, "--output of show can only be json" },
		{ { "list", "--store", "dir", "--context=c" }, "do not go with --store" },
		{ { "show", "--store", "dir", "--kubeconfig=f" }, "do not go with --store" },
		{ { "report", "--store", "dir", "--image=i" }, "do not go with --store" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct options o = { 0 };
		struct err err = { 0 };

		assert_int_equal(parse(rows[i].words, &o, &err), -EINVAL);
		if (!strstr(err.text, rows[i].part))
			fail_msg("%s: no \"%s\"", err.text, rows[i].part);
	}
}

static void messages_have_the_words_of_who_calls(void **state)
{
	static const struct {
		const char *words[4], *part;
	} rows[] = {
		{ { "explain" }, "explain needs WORD; `afterglow explain --help` says" },
		{ { "show", "--since=1h", "x" }, "show does not take --since; `afterglow show --help` lists" },
		{ { "list", "--store=d", "-A" }, "do not go without Kubernetes" },
		{ { "list", "--store=d", "--output=yaml" }, "without Kubernetes, --output of list can only be json" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const char *const *words = rows[i].words;
		struct options o;
		struct err err = { 0 };

		assert_int_equal(
			options_parse((char *[]){ "afterglow", (char *)words[0], (char *)words[1],
						  (char *)words[2], NULL },
				      &o, &err),
			-EINVAL);
		if (!strstr(err.text, rows[i].part))
			fail_msg("%s: no \"%s\"", err.text, rows[i].part);
		assert_string_equal(o.program, "afterglow");
	}
}

static void help_needs_no_argument(void **state)
{
	struct options o;
	(void)state;

	assert_int_equal(parse((const char *const[]){ "show", "--help", NULL }, &o, NULL), 0);
	assert_true(o.help);
}

static void completion_knows_commands_options_and_classes(void **state)
{
	static const struct {
		char *words[4];
		int n;
		const char *has, *lacks;
	} rows[] = {
		{ { "" }, 1, "doctor\n", "--class" },
		{ { "in" }, 1, "incidents\n:4\n", "list" },
		{ { "list", "--cl" }, 2, "--class\n--cluster\n:4\n", "--owner" },
		{ { "list", "--class", "Kernel" }, 3, "KernelOOMPod\n", "Segfault" },
		{ { "explain", "Seg" }, 2, "Segfault\n:4\n", "Killed" },
		{ { "show", "" }, 2, ":4\n", "list" },
		{ { NULL }, 0, "list\n", "--class" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		options_complete(rows[i].words, rows[i].n, &out);
		has(&out, rows[i].has);
		lacks(&out, rows[i].lacks);
	}
}

/* Each command of the toolset for HolmesGPT: "{{ name }}" is a word that its agent chooses. */
static void the_commands_of_the_toolset_are_the_plugins(void **state)
{
	static const char mark[] = "command: \"kubectl afterglow ";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	unsigned int n = 0;
	(void)state;

	assert_int_equal(file_read(AT_FDCWD, "docs/holmesgpt.yaml", &text, NULL), 0);
	for (char *at = text.data, *line; (line = strstr(at, mark)); n++) {
		const char *words[WORDS_MAX + 1] = { NULL };
		struct options o = { 0 };
		struct err err = { 0 };
		size_t k = 0;

		line += strlen(mark);
		at = strchr(line, '"') + 1;
		at[-1] = '\0';
		for (char *word; (word = strsep(&line, " ")) && k < WORDS_MAX;)
			if (strcmp(word, "{{") != 0 && strcmp(word, "}}") != 0)
				words[k++] = strcmp(word, "owner") == 0 ? "RayJob/train" : word;
		if (parse(words, &o, &err) < 0)
			fail_msg("%s: %s", words[0], err_text(&err));
	}
	assert_true(n > 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_may_stand_before_and_after_the_command),
		cmocka_unit_test(what_is_wrong_is_named_with_what_would_be_right),
		cmocka_unit_test(messages_have_the_words_of_who_calls),
		cmocka_unit_test(help_needs_no_argument),
		cmocka_unit_test(completion_knows_commands_options_and_classes),
		cmocka_unit_test(the_commands_of_the_toolset_are_the_plugins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
