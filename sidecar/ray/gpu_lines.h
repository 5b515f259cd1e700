/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds errors of CUDA, HIP and NCCL in the last lines of a program: the end of a worker's stderr
 * file, or of a job driver's log. Pure. The program itself wrote them, so they make a verdict
 * likely and never certain; and a program may go on after such an error.
 *
 * By version of PyTorch:
 *   RuntimeError: CUDA out of memory. Tried to allocate 12.50 MiB (GPU 0; 10.92 GiB total capacity;
 *   8.57 MiB already ..  (1.0 to 1.13) torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to
 *   allocate 3.00 GiB. GPU 0 has a total capacty of 23.65 GiB of which
 *       1.66 GiB is free. ..   (2.1; "capacity" from 2.2, torch.OutOfMemoryError from 2.5)
 *   RuntimeError: CUDA error: an illegal memory access was encountered
 *   (torch.AcceleratorError from 2.8) [E ProcessGroupNCCL.cpp:821] [Rank 1] Watchdog caught
 *   collective operation timeout: WorkNCCL(SeqNum=49, OpType=ALLREDUCE, ..
 *   torch.distributed.DistBackendError: NCCL error in: .., remote process exited or there was a
 *   network error, NCCL version 2.21.5 ncclRemoteError: A call failed possibly due to a network
 *   error or a remote process exiting prematurely.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum gpu_words {
	GPU_ERROR_NONE,
	GPU_ERROR_WARNING, /* "NCCL WARN": may be harmless, explains nothing by itself */
	GPU_ERROR_NCCL,
	GPU_ERROR_CUDA,
	GPU_ERROR_OUT_OF_MEMORY,
};

/* An error that a program logged. Texts are printable ASCII, "" if the line does not have them. */
struct gpu_error {
	enum gpu_words kind;
	int device; /* as the process numbers its GPUs; -1: not in the line */
	int rank; /* of a collective operation; -1: not in the line */
	char what
		[72]; /* "an illegal memory access was encountered", "ncclRemoteError", "ALLREDUCE timed out" */
	char tried[24], total[24], available[24]; /* out of memory: "3.00 GiB" */
	char line[200]; /* the line itself */
	char file[64]; /* which log; filled by the caller */
};

/*
 * Finds the error in text that counts: the first out-of-memory or CUDA error, because NCCL errors
 * follow from those; else the first NCCL error. Returns false if there is none.
 */
bool gpu_lines_parse(const char *text, size_t len, struct gpu_error *ret_error);
