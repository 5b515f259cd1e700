/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of signatures: equal causes have equal signatures, different causes different ones. */
#include "sidecar/verdict/signature.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "sidecar/verdict/signature_text.h"

static char text[SIGNATURE_MAX];

static const char *make(const struct signature_cause *c)
{
	signature_make(c, text);
	return text;
}

/* Makes the observation of a container that ended, as postmortem fills it in. */
static struct observation ended(void)
{
	return (struct observation){ .container = "ray-worker",
				     .pod = "demo-small-worker-x7k2p",
				     .status_known = true };
}

static const char *of(const struct observation *o, const struct verdict *v)
{
	signature_of(o, v, "", text);
	return text;
}

static void the_same_frame_on_two_nodes_is_one_signature(void **state)
{
	struct crash_info one = { .known = true,
				  .unwound = true,
				  .pid = 421,
				  .tid = 421,
				  .signal = 11,
				  .comm = "ray::boom",
				  .function = "deref_null(int*)",
				  .module = "/opt/a/boom.so",
				  .offset = "0x1139",
				  .fault_address = "0x0",
				  .python = "/tmp/ray/session_2026-11-21_04-55/crash.py:12 in f" };
	struct crash_info other = one;
	struct signature_cause a = { .class = FAILURE_SEGFAULT,
				     .container = "ray-worker",
				     .who = "ray::boom",
				     .signal = 11,
				     .exit_code = -1,
				     .crash = &one };
	struct signature_cause b = a;
	char first[SIGNATURE_MAX];
	(void)state;

	other.pid = other.tid = 77;
	snprintf(other.module, sizeof(other.module), "/home/ray/lib/boom.so");
	snprintf(other.python, sizeof(other.python),
		 "/tmp/ray/session_2026-11-22_01-12/crash.py:15 in f");
	b.crash = &other;
	snprintf(first, sizeof(first), "%s", make(&a));
	assert_string_equal(first, "v1:Segfault:task/boom:SIGSEGV,deref_null@boom.so,f@crash.py");
	assert_string_equal(make(&b), first);
	snprintf(other.function, sizeof(other.function), "overflow(int*)");
	assert_string_not_equal(make(&b), first);
}

static void frames_without_a_name_are_distinguished_by_their_place(void **state)
{
	struct crash_info crash = {
		.known = true, .unwound = true, .module = "/x/boom.so", .offset = "0x1139"
	};
	struct signature_cause c = { .class = FAILURE_ABORT,
				     .who = "python3 t.py",
				     .signal = 6,
				     .exit_code = -1,
				     .crash = &crash };
	(void)state;

	assert_string_equal(make(&c), "v1:Abort:python3_t.py:SIGABRT,boom.so+0x1139");
	snprintf(crash.module, sizeof(crash.module), "%s", "");
	assert_string_equal(make(&c), "v1:Abort:python3_t.py:SIGABRT");
}

/*
 * A worker ends because its head's GCS is gone, and another one fails by itself: both exit with 1.
 */
static void equal_exit_codes_of_different_causes_have_different_signatures(void **state)
{
	struct ray_finding finding = {
		.event = { .kind = RAY_DAEMON_CRASH,
			   .detail =
				   "raylet exited immediately because one Ray agent failed, agent_name = "
				   "dashboard_agent/424238335." }
	};
	struct observation o = ended();
	struct verdict gone = { .class = FAILURE_GCS_LOST, .exit_code = 1 };
	struct verdict v = { .class = FAILURE_APPLICATION_ERROR, .exit_code = 1 };
	char first[SIGNATURE_MAX];
	(void)state;

	assert_string_equal(of(&o, &gone), "v1:GCSLost:ray-worker:exit=1");
	snprintf(first, sizeof(first), "%s", of(&o, &v));
	assert_string_equal(first, "v1:ApplicationError:ray-worker:exit=1?");
	o.ray = &finding;
	assert_string_equal(
		of(&o, &v),
		"v1:ApplicationError:ray-worker:exit=1,"
		"raylet_exited_immediately_because_one_Ray_agent_failed,_agent_name_=_dashboard_a");
	assert_false(signature_is_weak(text));
	assert_true(signature_is_weak(first));
}

static void a_kill_for_memory_is_its_task_and_no_pid(void **state)
{
	struct observation o = { .container = "ray-worker",
				 .container_lives = true,
				 .victim = "ray::leak",
				 .victim_pid = 706 };
	struct verdict v = { .class = FAILURE_KERNEL_OOM_PROCESS, .exit_code = -1, .signal = 9 };
	(void)state;

	assert_string_equal(of(&o, &v), "v1:KernelOOMProcess:task/leak:memory");
	o.victim = NULL;
	signature_of(&o, &v, "ray::Keeper.grow", text);
	assert_string_equal(text, "v1:KernelOOMProcess:task/Keeper:memory");
	assert_false(signature_is_weak(text));
}

static void a_worker_of_whose_end_nobody_knows_more_is_weak(void **state)
{
	struct ray_finding finding = {
		.event = { .kind = RAY_WORKER_CRASH,
			   .task = "ray::boom",
			   .pid = 458,
			   .detail =
				   "Worker unexpectedly exits with a connection error code 2. End of file." }
	};
	struct observation o = { .container = "ray-worker",
				 .container_lives = true,
				 .ray = &finding };
	struct verdict v = { .class = FAILURE_WORKER_CRASH, .exit_code = -1 };
	(void)state;

	assert_string_equal(of(&o, &v), "v1:WorkerCrash:task/boom:-?");
	snprintf(finding.logged_signal, sizeof(finding.logged_signal), "SIGSEGV");
	assert_string_equal(of(&o, &v), "v1:WorkerCrash:task/boom:SIGSEGV");
	snprintf(finding.logged_signal, sizeof(finding.logged_signal), "%s", "");
	snprintf(finding.event.detail, sizeof(finding.event.detail),
		 "Worker exits with an exit code 3 at 10.1.2.3:4567.");
	assert_string_equal(of(&o, &v),
			    "v1:WorkerCrash:task/boom:Worker_exits_with_an_exit_code_#_at_#");
}

static void the_kernels_line_names_the_module_where_there_is_no_core(void **state)
{
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_SEGFAULT, .exit_code = 139, .signal = 11 };
	(void)state;

	assert_string_equal(of(&o, &v), "v1:Segfault:ray-worker:SIGSEGV");
	snprintf(
		o.kernel.crash, sizeof(o.kernel.crash),
		"python3[4711]: segfault at 0 ip 00007f0 sp 00007ffd error 4 in boom.so[7f53e000+1000]");
	assert_string_equal(of(&o, &v), "v1:Segfault:ray-worker:SIGSEGV,boom.so");
}

static void limits_name_themselves(void **state)
{
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_DISK_FULL, .exit_code = 1 };
	(void)state;

	snprintf(o.limits.fullest.point, sizeof(o.limits.fullest.point), "/data/spill");
	assert_string_equal(of(&o, &v), "v1:DiskFull:ray-worker:exit=1,data/spill");
	v = (struct verdict){ .class = FAILURE_PROCESS_LIMIT, .exit_code = 1 };
	assert_string_equal(of(&o, &v), "v1:ProcessLimit:ray-worker:exit=1,pids");
}

/* For the kubelet both are "Error, 1". */
static void the_process_that_ended_first_counts_and_not_what_followed(void **state)
{
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_GCS_FAILED,
			     .exit_code = 1,
			     .process = { .name = "gcs_server", .pid = 7, .signal = 11 } };
	(void)state;

	assert_string_equal(of(&o, &v), "v1:GCSFailed:gcs_server:SIGSEGV");
	v = (struct verdict){ .class = FAILURE_RAYLET_FAILED,
			      .exit_code = 1,
			      .process = { .name = "raylet", .signal = 9, .exit_code = -1 } };
	assert_string_equal(of(&o, &v), "v1:RayletFailed:raylet:SIGKILL?");
	v = (struct verdict){ .class = FAILURE_RAY_PROCESS_FAILED,
			      .exit_code = 1,
			      .process = { .name = "dashboard agent", .exit_code = 2 } };
	assert_string_equal(of(&o, &v), "v1:RayProcessFailed:dashboard_agent:exit=2?");
	v = (struct verdict){ .class = FAILURE_KERNEL_OOM_CONTAINER,
			      .exit_code = 1,
			      .process = { .name = "raylet", .signal = 9 } };
	o.victim = "python3 dashboard.py"; /* inferred from the samples */
	assert_string_equal(of(&o, &v), "v1:KernelOOMContainer:raylet:memory");
}

static void checks_that_failed_are_distinguished(void **state)
{
	struct ray_process_words words = {
		.gave_up = { .at_ns = 1,
			     .process = RAY_PROCESS_GCS_SERVER,
			     .line = "grpc_server.cc:134:  Check failed: server_ Failed to start the grpc server." }
	};
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_GCS_FAILED,
			     .exit_code = 1,
			     .process = { .name = "gcs_server", .exit_code = -1 } };
	(void)state;

	o.process_words = &words;
	assert_string_equal(of(&o, &v),
			    "v1:GCSFailed:gcs_server:server_Failed_to_start_the_grpc_server");
}

static void a_worker_that_died_before_is_not_what_the_container_ends_of(void **state)
{
	struct ray_finding finding = { .event = { .kind = RAY_WORKER_CRASH,
						  .detail = "Worker exits with an exit code 3." } };
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_APPLICATION_ERROR, .exit_code = 1 };
	(void)state;

	o.ray = &finding;
	assert_string_equal(of(&o, &v), "v1:ApplicationError:ray-worker:exit=1?");
}

static void a_kill_by_somebody_unknown_is_weak(void **state)
{
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_KILLED, .exit_code = 137, .signal = 9 };
	(void)state;

	assert_string_equal(of(&o, &v), "v1:Killed:ray-worker:SIGKILL?");
}

static void system_calls_that_a_filter_refused_are_distinguished(void **state)
{
	struct crash_info crash = { .known = true,
				    .unwound = true,
				    .refused = "bpf",
				    .function = "main",
				    .module = "/x/loader" };
	struct signature_cause c = { .class = FAILURE_SIGNALED,
				     .who = "loader",
				     .signal = SIGSYS,
				     .exit_code = -1,
				     .crash = &crash };
	(void)state;

	assert_string_equal(make(&c), "v1:Signaled:loader:SIGSYS,bpf,main@loader");
}

static void an_abort_of_an_unknown_caller_is_weak_unless_python_says_where(void **state)
{
	struct crash_info crash = { .known = true, .unwound = true, .signal = 6 };
	struct observation o = ended();
	struct verdict v = { .class = FAILURE_ABORT, .signal = 6, .exit_code = 134 };
	(void)state;

	o.crash = &crash;
	assert_true(signature_is_weak(of(&o, &v)));
	snprintf(crash.python, sizeof(crash.python), "crash.py:12 in f");
	assert_false(signature_is_weak(of(&o, &v)));
}

static void what_differs_from_run_to_run_is_taken_out(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "task_1234", "task_#" },
		{ "worker-3", "worker-#" },
		{ "load_v2", "load_v2" },
		{ "conv2d", "conv2d" },
		{ "block12345x", "block#x" },
		{ "at 0x7f53e000", "at_#" },
		{ "id 550e8400-e29b-41d4-a716-446655440000 gone", "id_#_gone" },
		{ "node 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c", "node_#" },
		{ "10.0.35.1:45763", "#" },
		{ "demo-small-worker-x7k2p", "demo-small-worker-#" },
		{ "demo-worker-7d9fc6b8bd-xkqzb", "demo-worker-#" },
		{ "open /tmp/tmpab12cd9z/x.bin", "open_x.bin" },
		{ "open /tmp/tmpab12cd9z", "open_#" },
		{ "/home/ray/a/train.py", "train.py" },
		{ "a  b\tc\n", "a_b_c" },
		{ "<script>\"x\"</script>", "_script_x_script" },
		{ "v1:x?~", "v1.x" },
		{ "", "" },
		{ "???", "" },
	};
	char out[64];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(signature_clean(cases[i].text, out, sizeof(out)),
				    cases[i].expected);
}

static void functions_lose_what_compilers_add(void **state)
{
	static const struct {
		const char *text, *expected;
	} cases[] = {
		{ "deref_null", "deref_null" },
		{ "std::vector<int, std::allocator<int> >::at(unsigned long) const", "std.vector.at_const" },
		{ "(anonymous namespace)::run(int)", "run" },
		{ "walk.constprop.0", "walk" },
		{ "walk.isra.3.cold", "walk" },
		{ "core::str::slice_error_fail::h0123456789abcdef", "core.str.slice_error_fail" },
		{ "<alloc::vec::Vec<T> as Drop>::drop", "_alloc.vec.Vec_T_as_Drop_.drop" },
		{ "memcpy@@GLIBC_2.14", "memcpy" },
		{ "operator()", "operator" },
	};
	char out[57];
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(signature_clean_function(cases[i].text, out, sizeof(out)),
				    cases[i].expected);
}

static void long_names_and_foreign_ones_stay_apart(void **state)
{
	char long_name[200], one[32], other[32];
	(void)state;

	memset(long_name, 'x', sizeof(long_name));
	long_name[150] = '\0';
	signature_clean_name(long_name, one, sizeof(one));
	long_name[149] = 'y';
	signature_clean_name(long_name, other, sizeof(other));
	assert_int_equal(strlen(one), sizeof(one) - 1);
	assert_string_not_equal(one, other);
	signature_clean_name("\xc3\xbc", one, sizeof(one));
	signature_clean_name("\xc3\xb6", other, sizeof(other));
	assert_string_not_equal(one, other);
}

static void hostile_texts_give_a_whole_signature(void **state)
{
	struct crash_info crash = { .known = true, .unwound = true };
	struct signature_cause c = { .class = FAILURE_ILLEGAL_INSTRUCTION,
				     .signal = 4,
				     .exit_code = -1,
				     .crash = &crash,
				     .cause_unknown = true };
	char long_text[2000];
	(void)state;

	memset(long_text, ':', sizeof(long_text) - 1);
	long_text[sizeof(long_text) - 1] = '\0';
	c.who = c.words = long_text;
	assert_string_equal(make(&c), "v1:IllegalInstruction:-:SIGILL?");
	memset(long_text, 'x', sizeof(long_text) - 1);
	memset(crash.function, 'f', sizeof(crash.function) - 1);
	memset(crash.module, 'm', sizeof(crash.module) - 1);
	snprintf(crash.python, sizeof(crash.python), "%.100s:12 in %.50s", long_text, long_text);
	assert_in_range(strlen(make(&c)), 100, SIGNATURE_MAX - 1);
	assert_true(signature_is_weak(text));
	assert_int_equal(
		strspn(text,
		       "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.:_/+-=,@#~?"),
		strlen(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_frame_on_two_nodes_is_one_signature),
		cmocka_unit_test(frames_without_a_name_are_distinguished_by_their_place),
		cmocka_unit_test(equal_exit_codes_of_different_causes_have_different_signatures),
		cmocka_unit_test(a_kill_for_memory_is_its_task_and_no_pid),
		cmocka_unit_test(a_worker_of_whose_end_nobody_knows_more_is_weak),
		cmocka_unit_test(the_kernels_line_names_the_module_where_there_is_no_core),
		cmocka_unit_test(limits_name_themselves),
		cmocka_unit_test(the_process_that_ended_first_counts_and_not_what_followed),
		cmocka_unit_test(checks_that_failed_are_distinguished),
		cmocka_unit_test(a_worker_that_died_before_is_not_what_the_container_ends_of),
		cmocka_unit_test(a_kill_by_somebody_unknown_is_weak),
		cmocka_unit_test(system_calls_that_a_filter_refused_are_distinguished),
		cmocka_unit_test(an_abort_of_an_unknown_caller_is_weak_unless_python_says_where),
		cmocka_unit_test(what_differs_from_run_to_run_is_taken_out),
		cmocka_unit_test(functions_lose_what_compilers_add),
		cmocka_unit_test(long_names_and_foreign_ones_stay_apart),
		cmocka_unit_test(hostile_texts_give_a_whole_signature),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
