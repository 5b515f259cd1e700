/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of asking sidecars, with a script in place of kubectl. */
#include "plugin/sidecar_http.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "plugin/testing.h"

static void answer_count(void *arg, const cJSON *pod, cJSON *memory)
{
	(void)pod;
	++*(int *)arg;
	cJSON_Delete(memory);
}

static void pods_with_long_answers_do_not_fill_the_memory(void **state)
{
	static const char script[] = "#!/bin/sh\n"
				     "echo '{}'; head -c 4000000 /dev/zero | tr '\\0' ' '\n";
	_cleanup_json_ cJSON *pods = json_of("{'items': []}");
	char place[] = "/tmp/sidecar_http_test.XXXXXX", program[64];
	const struct kubectl kubectl = { .program = program };
	int answers = 0;
	(void)state;

	assert_non_null(mkdtemp(place));
	snprintf(program, sizeof(program), "%s/kubectl", place);
	assert_int_equal(file_put(AT_FDCWD, program, script, strlen(script), 0700, NULL), 0);
	for (int i = 0; i < 20; i++)
		json_append(json_get(pods, "items"),
			    json_of("{'metadata': {'name': 'p', 'namespace': 'n'}, "
				    "'status': {'phase': 'Running'}, 'spec': {'containers': "
				    "[{'name': 'afterglow', 'ports': [{'name': 'afterglow-http', "
				    "'containerPort': 9095}]}]}}"));
	assert_int_equal(sidecars_ask_memory(&kubectl, pods, NULL, answer_count, &answers), 17);
	assert_int_equal(answers, 17);
	tree_remove(AT_FDCWD, place);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pods_with_long_answers_do_not_fill_the_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
