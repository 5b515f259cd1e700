/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of one failure as text. */
#include "plugin/failure_text.h"

#include "plugin/testing.h"

static struct strbuf text_of(const char *json)
{
	struct strbuf out = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *failure = json_of(json);

	failure_text(failure, &out);
	assert_false(strbuf_failed(&out));
	return out;
}

static void all_that_is_known_has_its_line(void **state)
{
	_cleanup_strbuf_ struct strbuf out = text_of(
		"{'metadata': {'name': 'demo-w-1', 'namespace': 'ml'}, 'spec': {'pod': 'demo-w', 'container': 'ray-worker',"
		" 'ownerText': 'RayJob/train', 'node': 'n1', 'startedAt': '2026-11-22T11:59:33Z', 'endedAt': '" AT_NOON
		"',"
		" 'restartCount': 2, 'exitCode': 137, 'signal': 'SIGKILL', 'class': 'KernelOOMContainer', 'confidence': 'certain',"
		" 'verdict': 'It reached its limit.', 'evidence': [{'source': 'wait status', 'text': 'SIGKILL'}, {'source': 'kubelet',"
		" 'text': 'OOMKilled'}], 'memory': {'usageBytes': 1073741824, 'limitBytes': 2147483648, 'anonBytes': 1048576,"
		" 'sampleAgeMs': 77}, 'processes': [{'pid': 113, 'name': 'ray::leak', 'rssBytes': 1073741824, 'sharedBytes': 536870912,"
		" 'growthBytesPerSecond': -1048576}], 'missing': [{'what': 'kernel log', 'needs': 'CAP_SYSLOG'}], 'bundle': 's3://b/k',"
		" 'endedBy': {'kind': 'Kubelet', 'name': 'n1', 'reason': 'OOMKilled'}},"
		" 'status': {'causedByText': 'GCSFailed of the head', 'incident': 'i1', 'consequences': 3}}");
	(void)state;

	assert_int_equal(strncmp(strbuf_str(&out), "It reached its limit.\n", 22), 0);
	has(&out, "  pod        ml/demo-w, container ray-worker, of RayJob/train, on node n1\n");
	has(&out, "  when       " AT_NOON ", 27 s after its start, after 2 restarts\n");
	has(&out, "  exit       137 (SIGKILL)\n");
	has(&out, "  class      KernelOOMContainer, certain\n");
	has(&out, "  caused by  GCSFailed of the head\n");
	has(&out, "  ended by   Kubelet n1: OOMKilled\n");
	has(&out, "  caused     3 other ends: kubectl afterglow incidents i1\n");
	has(&out, "  evidence   wait status: SIGKILL\n             kubelet: OOMKilled\n");
	has(&out, "  memory     1.0 GiB of 2.0 GiB, 77 ms before the end: anon 1.0 MiB\n");
	has(&out, "  top        PID   RSS-SHR     SHR         GROWTH");
	has(&out, "             113   512.0 MiB   512.0 MiB   -1.0 MiB/s   ray::leak\n");
	has(&out, "  missing    kernel log (needs CAP_SYSLOG)\n");
	has(&out, "  bundle     s3://b/k\n");
	has(&out, "kubectl logs -p -n ml demo-w -c ray-worker");
}

static void a_container_that_lives_on_has_no_exit_code_and_no_previous_log(void **state)
{
	_cleanup_strbuf_ struct strbuf out = text_of(
		"{'metadata': {'name': 'a', 'namespace': 'ml'}, 'spec': {'pod': 'p', 'container': 'c', 'containerLives': true,"
		" 'class': 'WorkerCrash', 'verdict': 'v'}}");
	(void)state;

	has(&out, "  exit       none: the container lives on\n");
	has(&out, "kubectl logs -n ml p -c c");
}

static void a_command_has_neither_pod_nor_the_memory_of_others(void **state)
{
	_cleanup_strbuf_ struct strbuf out = text_of(
		"{'metadata': {'name': 'a', 'namespace': 'local'}, 'spec': {'pod': 'ray@node1', 'container': 'ray', 'run': 'node1/ray/1', 'node': 'node1',"
		" 'containerLives': true, 'class': 'WorkerCrash', 'verdict': 'v', 'bundle': '/s/a', 'evidence': [{'source': 'core', 'text': 'SIGSEGV'}],"
		" 'memoryText': '220.0 KiB', 'memory': {'shared': true, 'usageBytes': 1073741824, 'limitBytes': 1073741824, 'anonBytes': 1048576,"
		" 'sampleAgeMs': 5}}}");
	(void)state;

	has(&out, "  command    ray@node1, on node node1\n");
	has(&out, "  exit       none: the command goes on\n");
	has(&out, "  memory     220.0 KiB, 5 ms before the end\n");
	has(&out, "  core       core.COMMAND.PID.zst in the bundle, if there was room for it\n");
}

static void the_place_of_a_core_or_why_there_is_none_has_a_line(void **state)
{
	static const struct {
		const char *spec, *line; /* line NULL: no line is expected */
	} rows[] = {
		{ "'evidence': [{'source': 'core', 'text': 'SIGSEGV in f'}], 'bundle': 'pvc:ray-failures/ml/x'",
		  "  core       core.COMMAND.PID.zst in the bundle, if there was room" },
		{ "'evidence': [{'source': 'core', 'text': 'SIGSEGV in f'}], 'bundle': 'spool/ml/x'",
		  "  core       core.COMMAND.PID.zst in the bundle, which is lost with its pod" },
		{ "'evidence': [{'source': 'core', 'text': 'SIGSEGV in f'}]",
		  "  core       none is kept: there is no bundle\n" },
		{ "'missing': [{'what': 'core file and backtrace', 'needs': 'a node'}], 'bundle': 'pvc:ray-failures/ml/x'",
		  "  core       none: the line missing says what it needs\n" },
		{ "'evidence': [{'source': 'kubelet', 'text': 'core'}], 'missing': [{'what': 'kernel log'}], 'bundle': 's3://b/k'",
		  NULL },
		{ "'evidence': [3, {'source': 7}], 'missing': {'what': 'core file and backtrace'}",
		  NULL },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char json[512];

		snprintf(json, sizeof(json), "{'metadata': {}, 'spec': {%s}}", rows[i].spec);
		_cleanup_strbuf_ struct strbuf out = text_of(json);

		if (rows[i].line)
			has(&out, rows[i].line);
		else
			lacks(&out, "\n  core ");
	}
}

static void what_is_missing_or_of_a_wrong_type_is_left_out(void **state)
{
	static const char *const hostile[] = {
		"{}", "{'spec': 3, 'metadata': []}", "{'spec': {'evidence': 'x', 'processes': {}, 'memory': [1], 'missing': 7}}",
		"{'spec': {'memory': {'usageBytes': -1}, 'processes': [3, {'rssBytes': -5, 'sharedBytes': 1e30}], 'exitCode': '137'}}",
		"{'spec': {'startedAt': 'yesterday', 'endedAt': 'never', 'processes': [{'growthBytesPerSecond': -9223372036854775808}]}}",
		"{'spec': {'verdict': '\\u001b[2Jowned', 'class': '\\n\\n', 'node': '\\u0000'}}",
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(hostile); i++) {
		_cleanup_strbuf_ struct strbuf out = text_of(hostile[i]);

		lacks(&out, "\x1b");
		lacks(&out, "(null)");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_is_known_has_its_line),
		cmocka_unit_test(a_container_that_lives_on_has_no_exit_code_and_no_previous_log),
		cmocka_unit_test(a_command_has_neither_pod_nor_the_memory_of_others),
		cmocka_unit_test(the_place_of_a_core_or_why_there_is_none_has_a_line),
		cmocka_unit_test(what_is_missing_or_of_a_wrong_type_is_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
