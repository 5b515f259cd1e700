/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what workers and job drivers wrote about CUDA and NCCL at the end of their logs. */
#pragma once

#include <stdint.h>

#include "sidecar/ray/gpu_lines.h"

/*
 * Reads the end of the file below dir_fd. An error in it that is more specific than *error replaces
 * *error. A file that was last written more than a minute before at_unix_ns is skipped: a process
 * that ended then did not write it.
 */
void gpu_words_read(int dir_fd, const char *name, int64_t at_unix_ns, struct gpu_error *error);

/*
 * Reads the logs that were written last. dir_fd: their directory, -1: none. ret_error->kind is
 * GPU_ERROR_NONE if they contain no error.
 */
void gpu_words_at_end(int dir_fd, int64_t at_unix_ns, struct gpu_error *ret_error);
