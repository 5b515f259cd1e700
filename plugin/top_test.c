/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the tables of live memory. */
#include "plugin/top.h"

#include <stdio.h>

#include "lib/macros.h"
#include "plugin/testing.h"

#define COMPONENT(kind, name, count, bytes, largest) \
	"{'kind': '" kind "', 'name': '" name "', 'count': " count ", 'bytes': " bytes ", 'largestBytes': " largest "}"

static const char two_pods[] =
	"[{'namespace': 'ml', 'pod': 'head', 'memory': {'containers': [{'container': 'ray-head', 'processCount': 9, 'memory': "
	"{'usageBytes': 1073741824, 'limitBytes': 4294967296, 'anonBytes': 536870912, 'shmemBytes': null},"
	"'components': [" COMPONENT(
		"gcs", "gcs_server", "1", "104857600",
		"104857600") "],"
			     "'otherProcesses': {'count': 3, 'bytes': 3145728}, 'processes': []}]}},"
			     "{'namespace': 'ml', 'pod': 'worker', 'memory': {'containers': [{'container': 'ray-worker', 'processCount': 5, 'memory': "
			     "{'usageBytes': 1932735283, 'limitBytes': 2147483648},"
			     "'components': [" COMPONENT(
				     "task", "train", "2", "1610612736",
				     "1073741824") "," COMPONENT("gcs", "gcs_server", "1", "1",
								 "1") "],"
								      "'processes': [{'pid': 113, 'name': 'ray::train', 'rssBytes': 1073741824, 'sharedBytes': 0, 'growthBytesPerSecond': 1048576}]}]}}]";

static const char *line_of(const struct strbuf *out, const char *part, char line[static 256])
{
	const char *at = strstr(strbuf_str(out), part), *begin = at;

	if (!at)
		fail_msg("no \"%s\" in:\n%s", part, strbuf_str(out));
	while (begin > strbuf_str(out) && begin[-1] != '\n')
		begin--;
	snprintf(line, 256, "%.*s", (int)strcspn(begin, "\n"), begin);
	return line;
}

static void line_has(const struct strbuf *out, const char *part, const char *const *words)
{
	char line[256];

	line_of(out, part, line);
	for (; *words; words++)
		if (!strstr(line, *words))
			fail_msg("no \"%s\" in \"%s\"", *words, line);
}

static void containers_come_by_how_full_they_are_and_components_of_all_pods_together(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *answers = json_of(two_pods);
	(void)state;

	top_text(answers, false, false, &out);
	line_has(&out, "ray-worker",
		 (const char *const[]){ "worker", "1.8 GiB", "2.0 GiB", "90 %", NULL });
	line_has(&out, "ray-head",
		 (const char *const[]){ "head", "1.0 GiB", "4.0 GiB", "25 %", "512.0 MiB", " 9",
					NULL });
	assert_true(strstr(strbuf_str(&out), "ray-worker") < strstr(strbuf_str(&out), "ray-head"));
	line_has(&out, "train",
		 (const char *const[]){ "task", " 2 ", "1.5 GiB", "1.0 GiB", "worker", NULL });
	/* The process runs in two containers, and the one in the head is the larger. */
	line_has(&out, "gcs_server",
		 (const char *const[]){ "gcs", " 2 ", "100.0 MiB", "head", NULL });
	line_has(&out, "all others", (const char *const[]){ " 3 ", "3.0 MiB", NULL });
	lacks(&out, "NAMESPACE");
	lacks(&out, "PID");
}

static void a_pod_that_is_named_shows_its_processes_and_A_shows_namespaces(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *answers = json_of(two_pods);
	(void)state;

	top_text(answers, true, true, &out);
	has(&out, "NAMESPACE   POD");
	line_has(&out, "ray::train", (const char *const[]){ "113", "1.0 GiB", "+1.0 MiB/s", NULL });
}

static void what_a_pod_makes_up_is_bounded_and_printed_harmlessly(void **state)
{
	static const char *const answers[] = {
		"[]", "{}", "[1, null, 'x']", "[{'memory': 7}]", "[{'memory': {'containers': {'a': 1}}}]",
		"[{'pod': 'p', 'memory': {'containers': [{'container': 7, 'components': [1, 'x', {'kind': 3, 'name': null, 'count': -5, "
		"'bytes': -9e99, 'largestBytes': 1e300}], 'processes': [{'pid': 'x'}, 3], 'memory': {'usageBytes': 1e300, 'limitBytes': 1}}]}}]",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
		_cleanup_json_ cJSON *json = json_of(answers[i]);

		top_text(json, true, true, &out);
		assert_false(strbuf_failed(&out));
		has(&out, "NAMESPACE");
	}
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	_cleanup_json_ cJSON *escape = json_of(
		"[{'pod': 'p', 'memory': {'containers': [{'container': '\\u001b[2Jx', 'components': []}]}}]");
	top_text(escape, true, true, &out);
	lacks(&out, "\033");
}

static void sums_neither_overflow_nor_count_without_end(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *answers = json_of(
		"[{'pod': 'p', 'memory': {'containers': [{'container': 'c', 'components': []},"
		"{'container': 'd', 'components': []}]}}]");
	cJSON *containers = json_get(answers->child, "memory.containers"), *container;
	(void)state;

	cJSON_ArrayForEach(container, containers)
		for (int i = 0; i < 2 * TOP_COMPONENTS_MAX; i++) {
			cJSON *component = cJSON_CreateObject();
			char name[16];

			snprintf(name, sizeof(name), "t%d", i);
			json_set_str(component, "kind", "task");
			json_set_str(component, "name", name);
			json_set(component, "bytes", cJSON_CreateNumber(9.2e18));
			json_set_int(component, "count", 1);
			json_append(json_get(container, "components"), component);
		}
	top_text(answers, false, false, &out);
	has(&out, "t1 ");
	lacks(&out, "t64");
	line_has(&out, "all others", (const char *const[]){ " 48 ", "8.0 EiB", NULL });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(containers_come_by_how_full_they_are_and_components_of_all_pods_together),
		cmocka_unit_test(a_pod_that_is_named_shows_its_processes_and_A_shows_namespaces),
		cmocka_unit_test(what_a_pod_makes_up_is_bounded_and_printed_harmlessly),
		cmocka_unit_test(sums_neither_overflow_nor_count_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
