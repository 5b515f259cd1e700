/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of `stack` with a script in place of kubectl, which answers for the pods of a RayCluster
 * "demo".
 */
#include "plugin/stack.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "plugin/testing.h"

/*
 * worker-0 to 2 answer, worker-3 is older than Afterglow, worker-4 is gone when it is asked, "lone"
 * is no pod of a cluster.
 */
static const char script[] =
	"#!/bin/sh\n"
	"pod() {\n"
	"	echo \"{\\\"metadata\\\": {\\\"name\\\": \\\"$1\\\", \\\"namespace\\\": \\\"ml\\\"}, \\\"status\\\": {\\\"phase\\\": \\\"${3:-Running}\\\"},\n"
	"		\\\"spec\\\": {\\\"nodeName\\\": \\\"node-$1\\\", \\\"containers\\\": [{\\\"name\\\": \\\"$2\\\"}]}}\"\n"
	"}\n"
	"case \"$*\" in\n"
	"'get pod --output=json -- lone') pod lone ray-worker ;;\n"
	"'get pod --output=json -- asleep') pod asleep afterglow Pending ;;\n"
	"'get pod --output=json -- worker-1') pod worker-1 afterglow ;;\n"
	"'get pods --selector ray.io/is-ray-node=yes,ray.io/cluster=demo --output=json')\n"
	"	echo '{\"items\": ['\n"
	"	for i in 0 1 2; do pod worker-$i afterglow; echo ,; done\n"
	"	pod worker-3 ray-worker; echo ,; pod worker-4 afterglow; echo ']}' ;;\n"
	"'get pod --output=json -- endless') pod endless afterglow ;;\n"
	"'exec endless '*) printf 'target 7 x\\nprocess 7 stopped for 900 us, threads: 1\\n'; exec yes '  more' ;;\n"
	"'get pods '*) echo '{\"items\": []}' ;;\n"
	"'get pod --output=json -- held') pod held afterglow ;;\n"
	"'exec held '*) echo end ;;\n"
	"'exec worker-'[012]' --namespace ml --container afterglow -- /usr/bin/afterglow-sidecar stack --raw'*)\n"
	"	[ \"${11}\" != absent ] || { echo end; exit 0; }\n"
	"	printf 'target 7 ray::train\\nprocess 7 stopped for 900 us, threads: 1\\nthread 7 S still python3\\n  Python, innermost first:\\n'\n"
	"	case $2 in worker-1) echo '     data.py:40 in next' ;; *) echo '     train.py:88 in all_reduce' ;; esac\n"
	"	echo end ;;\n"
	"*) exit 1 ;;\n"
	"esac\n";

static char path[] = "/tmp/stack_test.XXXXXX";

static int ask(const char *what, const char *name, const char *output, struct strbuf *out,
	       struct err *err)
{
	const struct options o = {
		.command = COMMAND_STACK, .argument = what, .second = name, .output = output
	};

	*out = STRBUF_INIT(1 << 16);
	return stack_command(&o, out, err);
}

static void stacks_of_a_cluster_are_one_picture_with_the_pod_that_differs_first(void **state)
{
	_cleanup_strbuf_ struct strbuf out;
	(void)state;

	assert_int_equal(ask("demo", NULL, NULL, &out, NULL), 0);
	assert_string_equal(
		strbuf_str(&out),
		"worker-3 on node-worker-3: it has no container afterglow, which would have to be asked. Ray pods that are made while "
		"Afterglow runs have one; `kubectl afterglow doctor` says what keeps it out\n"
		"worker-4 on node-worker-4: its sidecar gave no stacks; what kubectl said of it is on stderr\n"
		"3 processes, 3 threads; a process stood still for at most 0.9 ms\n"
		"\nMain thread of 1 of 3 processes:\n"
		"  worker-1 on node-worker-1, PID 7 ray::train: waits\n"
		"  Python, innermost first:\n     data.py:40 in next\n"
		"\nMain thread of 2 of 3 processes:\n"
		"  worker-0 on node-worker-0, PID 7 ray::train: waits\n"
		"  worker-2 on node-worker-2, PID 7 ray::train: waits\n"
		"  Python, innermost first:\n     train.py:88 in all_reduce\n");
}

static void a_pod_is_asked_alone_and_a_program_reads_the_answer(void **state)
{
	static const char *const names[] = { "worker-1", "pod/worker-1" };
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		_cleanup_strbuf_ struct strbuf out;
		_cleanup_json_ cJSON *json = NULL;

		assert_int_equal(ask(names[i], NULL, "json", &out, NULL), 0);
		assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, NULL), 0);
		assert_int_equal(json_int(json, "processes", 0), 1);
	}
}

static void an_answer_without_end_is_cut_and_the_picture_says_so(void **state)
{
	_cleanup_strbuf_ struct strbuf out;
	(void)state;

	ask("endless", NULL, NULL, &out, NULL);
	assert_non_null(
		strstr(strbuf_str(&out), "its answer broke off, or is too long to be shown whole"));
}

static void what_cannot_be_asked_is_one_error_that_says_what_to_do(void **state)
{
	static const struct {
		const char *what, *name, *error;
	} rows[] = {
		{ "lone", NULL,
		  "pod lone: it has no container afterglow, which would have to be asked. Ray pods that are made while Afterglow runs have "
		  "one; `kubectl afterglow doctor` says what keeps it out" },
		{ "asleep", NULL, "pod asleep: it does not run" },
		{ "nobody", NULL, "no pod, and no RayCluster with pods, is called \"nobody\"" },
		{ "RayJob/nobody", NULL,
		  "no pod, and no RayCluster with pods, is called \"RayJob/nobody\"" },
		{ "pod/nobody", NULL, NULL }, /* kubectl says it */
		{ "held", NULL,
		  "no process is watched there, as when its container has ended or is held after a failure" },
		{ "worker-1", "absent", "no process there is called \"absent\"" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out;
		struct err err = { 0 };

		assert_true(ask(rows[i].what, rows[i].name, NULL, &out, &err) < 0);
		if (rows[i].error)
			assert_string_equal(err_text(&err), rows[i].error);
		assert_int_equal(out.len, 0);
	}
}

static int script_write(void **state)
{
	int fd = mkstemp(path);
	(void)state;

	if (fd < 0 || fd_write_all(fd, script, strlen(script), NULL) < 0 || fchmod(fd, 0755) < 0 ||
	    close(fd) < 0)
		return -1;
	return setenv("KUBECTL", path, 1);
}

static int script_remove(void **state)
{
	(void)state;
	return unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_of_a_cluster_are_one_picture_with_the_pod_that_differs_first),
		cmocka_unit_test(a_pod_is_asked_alone_and_a_program_reads_the_answer),
		cmocka_unit_test(an_answer_without_end_is_cut_and_the_picture_says_so),
		cmocka_unit_test(what_cannot_be_asked_is_one_error_that_says_what_to_do),
	};

	return cmocka_run_group_tests(tests, script_write, script_remove);
}
