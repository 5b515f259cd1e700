/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of explanations. */
#include "plugin/explain.h"

#include <stdio.h>

#include "lib/failure_class.h"
#include "lib/macros.h"
#include "plugin/testing.h"

static void each_exit_code_and_each_class_has_an_explanation(void **state)
{
	char code[8];
	(void)state;

	for (int i = 0; i <= 255; i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		snprintf(code, sizeof(code), "%d", i);
		assert_int_equal(explain(code, false, false, &out, NULL), 0);
		assert_true(out.len > 40);
	}
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(failure_class_name(class), false, false, &out, NULL), 0);
		has(&out, failure_class_meaning(class) + 1);
	}
}

static void codes_of_signals_name_the_signal(void **state)
{
	static const struct {
		const char *code, *part;
	} rows[] = {
		{ "137", "SIGKILL" }, { "139", "SIGSEGV" }, { "143", "SIGTERM" }, { "129", "SIGHUP" },
		{ "141", "SIGPIPE ended the command (128 + 13)" }, { "3", "The program chose this code itself" },
		{ "255", "The program chose this code itself" },
		{ "168", "The program chose this code itself" }, /* hardly a real-time signal */
		{ "147", "The program chose this code itself" }, /* SIGSTOP ends no process */
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(rows[i].code, false, false, &out, NULL), 0);
		has(&out, rows[i].part);
	}
}

static void a_class_may_be_written_in_any_case(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	(void)state;

	assert_int_equal(explain("kerneloomcontainer", false, false, &out, NULL), 0);
	has(&out,
	    "KernelOOMContainer\n    The kernel's OOM killer ended the container at its memory limit.\n");
	has(&out, "--class KernelOOMContainer");
}

static void the_words_of_kubectl_are_explained(void **state)
{
	static const struct {
		const char *reason, *part;
	} rows[] = {
		{ "OOMKilled", "survived" },
		{ "oomkilled", "OOMKilled\n" },
		{ "Error", "another exit code than 0" },
		{ "CrashLoopBackOff", "doubles" },
		{ "ContainerStatusUnknown", "SIGKILL" },
		{ "Evicted", "--class Evicted" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(rows[i].reason, false, false, &out, NULL), 0);
		has(&out, rows[i].part);
	}
}

static void a_signal_is_explained_by_its_name_and_by_its_negative_number(void **state)
{
	static const struct {
		const char *word, *part;
	} rows[] = {
		{ "SIGKILL", "SIGKILL, signal 9\n    SIGKILL ended the command (128 + 9)." },
		{ "kill", "SIGKILL, signal 9\n" },
		{ "-9", "SIGKILL, signal 9\n" },
		{ "9", "explain SIGKILL" },
		{ "-11", "SIGSEGV ended the command" },
		{ "SIGPIPE", "no reader" },
		{ "SIGSTOP", "It ends no process" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(rows[i].word, false, false, &out, NULL), 0);
		has(&out, rows[i].part);
	}
}

/* ray.exceptions of Ray 2.60, and reasons of the kubelet and the scheduler. */
static void each_exception_of_ray_and_each_reason_has_an_explanation(void **state)
{
	static const char *const words[] = {
		"CrossLanguageError", "TaskCancelledError", "RayTaskError", "LocalRayletDiedError", "WorkerCrashedError", "RayActorError",
		"ActorDiedError", "ActorUnavailableError", "RaySystemError", "AuthenticationError", "UserCodeException", "ObjectStoreFullError",
		"OutOfDiskError", "OutOfMemoryError", "NodeDiedError", "ObjectLostError", "ObjectFetchTimedOutError", "RpcError",
		"ReferenceCountingAssertionError", "ObjectFreedError", "OwnerDiedError", "ObjectReconstructionFailedError", "GetTimeoutError",
		"PlasmaObjectNotAvailable", "AsyncioActorExit", "RuntimeEnvSetupError", "TaskPlacementGroupRemoved", "ActorPlacementGroupRemoved",
		"PendingCallsLimitExceeded", "TaskUnschedulableError", "ActorUnschedulableError", "ObjectRefStreamEndOfStreamError",
		"StreamingGeneratorReplayInconsistentError", "OufOfBandObjectRefSerializationException", "RayChannelError",
		"RayChannelTimeoutError", "RayCgraphCapacityExceeded", "RayDirectTransportError", "UnserializableException",
		"ActorAlreadyExistsError", "ActorHandleNotFoundError", "RayError",
		"ImagePullBackOff", "CreateContainerConfigError", "RunContainerError", "FailedScheduling", "Unhealthy", "Killing", "BackOff",
		"OutOfmemory", "SystemOOM", "DeadlineExceeded",
	};
	char text[128];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(words[i], false, false, &out, NULL), 0);
		snprintf(text, sizeof(text), "%s\n    ", words[i]);
		assert_memory_equal(strbuf_str(&out), text, strlen(text));
	}
}

static void a_message_of_ray_is_explained_by_the_longest_word_in_it(void **state)
{
	static const struct {
		const char *message, *name;
	} rows[] = {
		{ "ray.exceptions.NodeDiedError: Task failed due to the node dying.", "NodeDiedError\n" },
		{ "The leased worker has unrecoverable failure. Worker is requested to be destroyed", "leased worker has unrecoverable failure\n" },
		{ "Worker unexpectedly exits with a connection error code 2. End of file.", "connection error code 2\n" },
		{ "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB", "torch.OutOfMemoryError\n" },
		{ "ray.exceptions.OutOfMemoryError: Task was killed", "OutOfMemoryError\n" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

		assert_int_equal(explain(rows[i].message, false, false, &out, NULL), 0);
		assert_memory_equal(strbuf_str(&out), rows[i].name, strlen(rows[i].name));
	}
}

static void what_is_neither_gets_an_error_that_says_what_would_be_right(void **state)
{
	static const char *const rows[] = { "",
					    "256",
					    "-32",
					    "137x",
					    "OOM",
					    "99999999999999999999",
					    "an Error occurred",
					    "NodeDiedErrors" };
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
		struct err err = { 0 };

		assert_true(explain(rows[i], false, false, &out, &err) < 0);
		assert_non_null(strstr(err.text, "0 to 255"));
		assert_int_equal(out.len, 0);
	}
}

static void no_line_is_longer_than_a_hundred_columns(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	const char *line;
	(void)state;

	assert_int_equal(explain("137", false, false, &out, NULL), 0);
	for (line = strbuf_str(&out); *line; line += strcspn(line, "\n") + 1)
		assert_true(strcspn(line, "\n") <= 100);
}

static void as_json_it_has_the_same_parts(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	_cleanup_json_ cJSON *json = NULL;

	(void)state;
	assert_int_equal(explain("OOMKilled", true, false, &out, NULL), 0);
	assert_int_equal(json_parse(strbuf_str(&out), out.len, &json, NULL), 0);
	assert_string_equal(json_str(json, "name"), "OOMKilled");
	assert_true(json_str(json, "meaning") && json_str(json, "who") && json_str(json, "next"));
}

/* What only Kubernetes does is explained in its words: of these the reader has heard from there. */
static const char *const of_kubernetes[] = { "ProbeKilled", "Evicted",	"Preempted",
					     "PodDeleted",  "NodeLost", "NodeShutdown",
					     "StartFailure" };

static void explained_without_kubernetes(const char *word)
{
	static const char *const strange[] = { "kubectl",    "kubelet", "container",  "Container's",
					       " pod",	     "KubeRay", "RayFailure", "RayCluster",
					       "node agent", "CLUSTER", "Kubernetes" };
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);

	assert_int_equal(explain(word, false, true, &out, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(strange); i++)
		if (strstr(strbuf_str(&out), strange[i]))
			fail_msg("\"%s\" in:\n%s", strange[i], strbuf_str(&out));
}

static void without_kubernetes_nothing_speaks_of_it(void **state)
{
	static const char *const words[] = {
#define WORD(names, what, who, next) names,
#include "plugin/ray_words.def"
#undef WORD
	};
	char text[256];
	(void)state;

	for (int i = 0; i <= 255; i++) {
		snprintf(text, sizeof(text), "%d", i);
		explained_without_kubernetes(text);
	}
	for (int signo = 1; signo <= 31; signo++) {
		snprintf(text, sizeof(text), "-%d", signo);
		explained_without_kubernetes(text);
	}
	for (enum failure_class class = 0; class < FAILURE_CLASS_COUNT; class++) {
		bool is_of_kubernetes = false;

		for (size_t i = 0; i < ARRAY_SIZE(of_kubernetes); i++)
			is_of_kubernetes = is_of_kubernetes ||
					   strcmp(of_kubernetes[i], failure_class_name(class)) == 0;
		if (!is_of_kubernetes)
			explained_without_kubernetes(failure_class_name(class));
	}
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		snprintf(text, sizeof(text), "%.*s", (int)strcspn(words[i], "|"), words[i]);
		explained_without_kubernetes(text);
	}
}

static void a_reason_of_kubernetes_keeps_its_words(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);

	(void)state;
	assert_int_equal(explain("OOMKilled", false, true, &out, NULL), 0);
	has(&out, "The kubelet writes it");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_kubernetes_nothing_speaks_of_it),
		cmocka_unit_test(a_reason_of_kubernetes_keeps_its_words),
		cmocka_unit_test(as_json_it_has_the_same_parts),
		cmocka_unit_test(each_exit_code_and_each_class_has_an_explanation),
		cmocka_unit_test(codes_of_signals_name_the_signal),
		cmocka_unit_test(a_class_may_be_written_in_any_case),
		cmocka_unit_test(the_words_of_kubectl_are_explained),
		cmocka_unit_test(a_signal_is_explained_by_its_name_and_by_its_negative_number),
		cmocka_unit_test(each_exception_of_ray_and_each_reason_has_an_explanation),
		cmocka_unit_test(a_message_of_ray_is_explained_by_the_longest_word_in_it),
		cmocka_unit_test(what_is_neither_gets_an_error_that_says_what_would_be_right),
		cmocka_unit_test(no_line_is_longer_than_a_hundred_columns),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
