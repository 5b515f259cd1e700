/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of how log lines about GPUs change a verdict. */
#include "sidecar/verdict/gpu_verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "lib/units.h"
#include "sidecar/verdict/classify.h"
#include "sidecar/verdict/signature.h"

static struct ray_finding finding;
static struct gpu_error words;
static struct observation o;
static struct verdict v;

static int setup(void **state)
{
	(void)state;
	finding = (struct ray_finding){
		.event = { .kind = RAY_WORKER_CRASH,
			   .pid = 458,
			   .task = "ray::train",
			   .detail =
				   "Worker unexpectedly exits with a connection error code 2. End of file." },
		.file = "events/event_RAYLET.log",
		.gone = true,
		.gpu = { .device = -1, .rank = -1 }
	};
	words = (struct gpu_error){ .kind = GPU_ERROR_NONE };
	o = (struct observation){ .container = "ray-worker",
				  .container_lives = true,
				  .ray_seen = true,
				  .ray = &finding,
				  .cgroup_version = 2,
				  .gpu_error = &words,
				  .kernel = KERNEL_EVIDENCE_ABSENT,
				  .before.oom_kill = -1,
				  .after.oom_kill = -1,
				  .last.usage = -1,
				  .oom_age_ns = -1 };
	return 0;
}

static void says(const char *text)
{
	assert_true(gpu_lines_parse(text, strlen(text), &finding.gpu));
}

static void kernel_says(const char *line, enum gpu_whose whose, int64_t age_s)
{
	struct gpu_evidence *e = &o.kernel.gpu;

	assert_true(gpu_fault_parse(line, strlen(line), &e->fault));
	e->whose = whose;
	e->age_ns = age_s * NS_PER_SEC;
	snprintf(e->line, sizeof(e->line), "%s", line);
}

static void the_container_ends(int code)
{
	o.container_lives = false;
	o.ray = NULL;
	o.status_known = true;
	o.wait_status = code << 8;
}

static bool has_evidence(const char *text)
{
	for (unsigned int i = 0; i < v.n_evidence; i++)
		if (strstr(v.evidence[i].text, text))
			return true;
	return false;
}

static void check(enum failure_class class, const char *sentence)
{
	classify(&o, &v);
	assert_string_equal(v.sentence, sentence);
	assert_int_equal(v.class, class);
}

static void a_worker_that_ran_out_of_gpu_memory(void **state)
{
	char signature[SIGNATURE_MAX];
	(void)state;

	says("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 79.15 GiB of "
	     "which 11.06 MiB is free.");
	check(FAILURE_CUDA_OUT_OF_MEMORY,
	      "Ray worker ray::train (PID 458) in container ray-worker most likely ended because of the "
	      "memory of GPU 0 having run out: it asked for 20.00 MiB, and 11.06 MiB of 79.15 GiB were "
	      "free; the container lives on.");
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	assert_true(has_evidence("torch.OutOfMemoryError"));
	signature_of(&o, &v, "", signature);
	assert_string_equal(signature, "v1:CUDAOutOfMemory:task/train:GPU_memory");
}

static void a_worker_with_an_error_of_cuda_that_aborted(void **state)
{
	char signature[SIGNATURE_MAX];
	(void)state;

	says("RuntimeError: CUDA error: an illegal memory access was encountered");
	snprintf(finding.logged_signal, sizeof(finding.logged_signal), "SIGABRT");
	check(FAILURE_CUDA_ERROR,
	      "Ray worker ray::train (PID 458) in container ray-worker most likely ended because of a CUDA "
	      "error: an illegal memory access was encountered; the container lives on.");
	signature_of(&o, &v, "", signature);
	assert_string_equal(signature,
			    "v1:CUDAError:task/train:an_illegal_memory_access_was_encountered");
}

static void a_worker_whose_peers_were_gone(void **state)
{
	(void)state;
	says("[rank4]:[E321 02:07:08.41 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: "
	     "WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, Timeout(ms)=600000) ran for 600067 milliseconds before timing out.");
	check(FAILURE_NCCL_ERROR,
	      "Ray worker ray::train (PID 458) in container ray-worker most likely ended because of an NCCL error, "
	      "rank 4: ALLREDUCE timed out; the container lives on.");
}

static void the_kernels_word_on_the_hardware_comes_first(void **state)
{
	char signature[SIGNATURE_MAX];
	(void)state;

	says("ncclUnhandledCudaError: Call to CUDA function failed.");
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", GPU_OF_NODE,
		    600);
	check(FAILURE_GPU_FAILED,
	      "Ray worker ray::train (PID 458) in container ray-worker most likely ended because of a failure of "
	      "GPU 0000:3b:00: it has fallen off the bus: the machine does not reach it any more (Xid 79); the "
	      "container lives on.");
	assert_int_equal(v.confidence, CONFIDENCE_LIKELY);
	signature_of(&o, &v, "", signature);
	assert_string_equal(signature, "v1:GPUFailed:task/train:Xid=79");
}

static void a_gpu_of_the_node_alone_explains_nothing(void **state)
{
	(void)state;
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", GPU_OF_NODE, 3);
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	assert_true(has_evidence("NVRM: Xid"));
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", GPU_OF_DEVICE,
		    600);
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
}

static void notices_and_consequences_explain_nothing(void **state)
{
	(void)state;
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 45, pid=458, name=ray::train, Ch 00000008",
		    GPU_OF_NAME, 1);
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	kernel_says(
		"NVRM: Xid (PCI:0000:3b:00): 63, pid=458, name=ray::train, Row Remapper: New row",
		GPU_OF_NAME, 1);
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	says("x NCCL WARN Net : Connection closed by remote peer");
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	assert_true(has_evidence("NCCL WARN"));
}

static void a_segfault_stays_a_segfault_whatever_was_logged_before(void **state)
{
	(void)state;
	says("RuntimeError: CUDA error: an illegal memory access was encountered");
	snprintf(finding.logged_signal, sizeof(finding.logged_signal), "SIGSEGV");
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_WORKER_CRASH);
	assert_true(has_evidence("illegal memory access"));
}

static void a_fault_of_the_program_explains_its_end(void **state)
{
	(void)state;
	kernel_says(
		"NVRM: Xid (PCI:0000:3b:00): 31, pid=9, name=train, Ch 00000008, intr 00000000. MMU Fault",
		GPU_OF_PID, 1);
	the_container_ends(1);
	check(FAILURE_CUDA_ERROR,
	      "Container ray-worker ended with exit code 1, most likely because of an error on GPU 0000:3b:00: "
	      "the program used an address that is not mapped (memory page fault) (Xid 31).");
}

static void a_request_to_stop_breaks_no_gpu(void **state)
{
	(void)state;
	the_container_ends(1);
	o.ended_ns = 100 * NS_PER_SEC;
	o.asked = (struct stop_request){ .signal = 15, .at_ns = 97 * NS_PER_SEC };
	words = (struct gpu_error){
		.kind = GPU_ERROR_NCCL, .device = -1, .rank = 3, .line = "ncclRemoteError"
	};
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_TERMINATED);
	assert_true(has_evidence("ncclRemoteError"));
	words = (struct gpu_error){ .kind = GPU_ERROR_NONE };
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", GPU_OF_DEVICE,
		    10);
	check(FAILURE_GPU_FAILED,
	      "Container ray-worker ended with exit code 1, most likely because of a failure of GPU 0000:3b:00: it has "
	      "fallen off the bus: the machine does not reach it any more (Xid 79); it had been asked to stop (SIGTERM from outside the container, 3.0 s before).");
}

/* raylet lives on when a GPU fails, so that is evidence and no cause. */
static void a_ray_node_does_not_end_of_its_workers_gpu(void **state)
{
	(void)state;
	words = (struct gpu_error){ .kind = GPU_ERROR_OUT_OF_MEMORY,
				    .device = 0,
				    .rank = -1,
				    .line = "CUDA out of memory" };
	kernel_says("NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.", GPU_OF_DEVICE,
		    1);
	the_container_ends(1);
	o.has_raylet = true;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_APPLICATION_ERROR);
	assert_true(has_evidence("NVRM: Xid"));
	assert_true(has_evidence("CUDA out of memory"));
	o.wait_status = 0;
	classify(&o, &v);
	assert_int_equal(v.class, FAILURE_COMPLETED);
	assert_false(has_evidence("NVRM: Xid"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_worker_that_ran_out_of_gpu_memory, setup),
		cmocka_unit_test_setup(a_worker_with_an_error_of_cuda_that_aborted, setup),
		cmocka_unit_test_setup(a_worker_whose_peers_were_gone, setup),
		cmocka_unit_test_setup(the_kernels_word_on_the_hardware_comes_first, setup),
		cmocka_unit_test_setup(a_gpu_of_the_node_alone_explains_nothing, setup),
		cmocka_unit_test_setup(notices_and_consequences_explain_nothing, setup),
		cmocka_unit_test_setup(a_segfault_stays_a_segfault_whatever_was_logged_before, setup),
		cmocka_unit_test_setup(a_fault_of_the_program_explains_its_end, setup),
		cmocka_unit_test_setup(a_request_to_stop_breaks_no_gpu, setup),
		cmocka_unit_test_setup(a_ray_node_does_not_end_of_its_workers_gpu, setup),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
