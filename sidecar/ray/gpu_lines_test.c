/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of what programs log about CUDA and NCCL, with lines of PyTorch 1.0 to 2.9 and others. They
 * were not recorded on a GPU.
 */
#include "sidecar/ray/gpu_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/macros.h"

static const struct {
	const char *text;
	struct gpu_error error; /* everything but the line */
} cases[] = {
	/* --- Out of memory, by version --- */
	{ "RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity; 8.57 MiB already allocated; "
	  "9.28 GiB free; 4.68 MiB cached)",
	  { GPU_ERROR_OUT_OF_MEMORY, 0, -1, "", "12.50 MiB", "10.92 GiB", "9.28 GiB", "", "" } },
	{ "RuntimeError: CUDA out of memory. Tried to allocate 1.65 GiB (GPU 1; 7.79 GiB total capacity; 3.53 GiB already allocated; "
	  "1.40 GiB free; 5.28 GiB reserved in total by PyTorch) If reserved memory is >> allocated memory",
	  { GPU_ERROR_OUT_OF_MEMORY, 1, -1, "", "1.65 GiB", "7.79 GiB", "1.40 GiB", "", "" } },
	{ "RuntimeError: CUDA out of memory. Tried to allocate 72.00 MiB (GPU 0; 1024.00 MiB total capacity; 378.05 MiB already "
	  "allocated; 0 bytes free; 418.00 MiB reserved in total by PyTorch)",
	  { GPU_ERROR_OUT_OF_MEMORY, 0, -1, "", "72.00 MiB", "1024.00 MiB", "0 bytes", "", "" } },
	{ "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of "
	  "which 1.66 GiB is free. Including non-PyTorch memory, this process has 20.81 GiB memory in use.",
	  { GPU_ERROR_OUT_OF_MEMORY, 0, -1, "", "3.00 GiB", "23.65 GiB", "1.66 GiB", "", "" } },
	{ "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 3 has a total capacity of 79.15 GiB of which "
	  "11.06 MiB is free. Process 4711 has 79.12 GiB memory in use.",
	  { GPU_ERROR_OUT_OF_MEMORY, 3, -1, "", "20.00 MiB", "79.15 GiB", "11.06 MiB", "", "" } },
	{ "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 63.98 GiB of which "
	  "126.00 MiB is free.",
	  { GPU_ERROR_OUT_OF_MEMORY, 0, -1, "", "2.00 GiB", "63.98 GiB", "126.00 MiB", "", "" } },
	{ "RuntimeError: CUDA error: out of memory", { GPU_ERROR_OUT_OF_MEMORY, -1, -1, "", "", "", "", "", "" } },
	{ "cupy.cuda.memory.OutOfMemoryError: Out of memory allocating 8,000,000,512 bytes (allocated so far: 0 bytes).",
	  { GPU_ERROR_OUT_OF_MEMORY, -1, -1, "", "", "", "", "", "" } },
	/* --- Errors --- */
	{ "RuntimeError: CUDA error: an illegal memory access was encountered\nCUDA kernel errors might be asynchronously reported",
	  { GPU_ERROR_CUDA, -1, -1, "an illegal memory access was encountered", "", "", "", "", "" } },
	{ "torch.AcceleratorError: CUDA error: device-side assert triggered\nSearch for `cudaErrorAssert' in",
	  { GPU_ERROR_CUDA, -1, -1, "device-side assert triggered", "", "", "", "", "" } },
	{ "RuntimeError: CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
	  { GPU_ERROR_CUDA, -1, -1, "CUBLAS_STATUS_ALLOC_FAILED when calling", "", "", "", "", "" } },
	{ "RuntimeError: cuDNN error: CUDNN_STATUS_EXECUTION_FAILED", { GPU_ERROR_CUDA, -1, -1, "CUDNN_STATUS_EXECUTION_FAILED", "", "", "", "", "" } },
	{ "[rank0]:[E1206 18:44:12.715298746 ProcessGroupNCCL.cpp:1475] [PG 0 Rank 0] Process group watchdog thread terminated with "
	  "exception: CUDA error: an illegal memory access was encountered",
	  { GPU_ERROR_CUDA, -1, -1, "an illegal memory access was encountered", "", "", "", "", "" } },
	/* --- NCCL --- */
	{ "[E ProcessGroupNCCL.cpp:737] [Rank 6] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=469508, "
	  "OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802210 milliseconds before timing out.",
	  { GPU_ERROR_NCCL, -1, 6, "ALLREDUCE timed out", "", "", "", "", "" } },
	{ "[rank4]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: "
	  "WorkNCCL(SeqNum=1580, OpType=_REDUCE_SCATTER_BASE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for",
	  { GPU_ERROR_NCCL, -1, 4, "_REDUCE_SCATTER_BASE timed out", "", "", "", "", "" } },
	{ "torch.distributed.DistBackendError: NCCL error in: /pytorch/torch/csrc/distributed/c10d/NCCLUtils.hpp:268, remote process "
	  "exited or there was a network error, NCCL version 2.21.5\nncclRemoteError: A call failed possibly due to a network error "
	  "or a remote process exiting prematurely.\nLast error:\nsocketProgressOpt: Call to recv from 172.0.0.1<33759> failed",
	  { GPU_ERROR_NCCL, -1, -1, "ncclRemoteError", "", "", "", "", "" } },
	{ "terminate called after throwing an instance of 'std::runtime_error'\n  what():  NCCL error: remote process exited or there "
	  "was a network error, NCCL version 2.14.3",
	  { GPU_ERROR_NCCL, -1, -1, "remote process exited or there was a network error", "", "", "", "", "" } },
	{ "node1:2304:2340 [5] misc/socket.cc:538 NCCL WARN Net : Connection closed by remote peer",
	  { GPU_ERROR_WARNING, -1, -1, "Net : Connection closed by remote peer", "", "", "", "", "" } },
	/* A consequential error does not hide its cause, whatever comes first. */
	{ "x NCCL WARN a\nncclRemoteError: b\nRuntimeError: CUDA error: unspecified launch failure\n",
	  { GPU_ERROR_CUDA, -1, -1, "unspecified launch failure", "", "", "", "", "" } },
	{ "torch.OutOfMemoryError: CUDA out of memory.\nRuntimeError: CUDA error: unspecified launch failure\n",
	  { GPU_ERROR_OUT_OF_MEMORY, -1, -1, "", "", "", "", "", "" } },
	/* --- Hostile lines --- */
	{ "CUDA out of memory. Tried to allocate 1 GPU 99999999999 has a total capacity of of which  is free.",
	  { GPU_ERROR_OUT_OF_MEMORY, -1, -1, "", "", "", "", "", "" } },
	{ " total capacity; free; is free. CUDA out of memory. Tried to allocate ", { GPU_ERROR_OUT_OF_MEMORY, -1, -1, "", "", "", "", "", "" } },
	{ "CUDA error: \033[31mred\a", { GPU_ERROR_CUDA, -1, -1, "?[31mred?", "", "", "", "", "" } },
};

static void words_of_several_versions_are_understood(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct gpu_error *want = &cases[i].error;
		struct gpu_error g;

		if (!gpu_lines_parse(cases[i].text, strlen(cases[i].text), &g))
			fail_msg("%s", cases[i].text);
		if (g.kind != want->kind || g.device != want->device || g.rank != want->rank ||
		    strcmp(g.what, want->what) != 0 || strcmp(g.tried, want->tried) != 0 ||
		    strcmp(g.total, want->total) != 0 || strcmp(g.available, want->available) != 0)
			fail_msg("%s: %d, device %d, rank %d, '%s', '%s' '%s' '%s'", cases[i].text,
				 (int)g.kind, g.device, g.rank, g.what, g.tried, g.total,
				 g.available);
		assert_true(g.line[0]);
		for (const char *p = g.line; *p; p++)
			assert_true(*p >= ' ' && *p < 0x7f);
	}
}

static void other_words_say_nothing(void **state)
{
	static const char *const texts[] = {
		"", "\n\n", "Killed", "MemoryError", "RuntimeError: out of memory",
		"NCCL version 2.21.5+cuda12.4", "node1:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/IPC",
		"torch.cuda.empty_cache()", "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.",
	};
	struct gpu_error g;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (gpu_lines_parse(texts[i], strlen(texts[i]), &g))
			fail_msg("%s", texts[i]);
}

static void a_text_may_be_cut_anywhere(void **state)
{
	struct gpu_error g;
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (size_t len = 0; len < strlen(cases[i].text); len++)
			gpu_lines_parse(cases[i].text, len, &g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words_of_several_versions_are_understood),
		cmocka_unit_test(other_words_say_nothing),
		cmocka_unit_test(a_text_may_be_cut_anywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
