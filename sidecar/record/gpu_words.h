/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what workers and job drivers said of CUDA and NCCL at the end of their logs. */
#ifndef AFTERGLOW_SIDECAR_RECORD_GPU_WORDS_H
#define AFTERGLOW_SIDECAR_RECORD_GPU_WORDS_H

#include <stdint.h>

#include "sidecar/ray/gpu_lines.h"

/*
 * The end of that file below dir_fd. An error in it that says more than said does replaces said. A file that was not written to in the
 * minute before at_unix_ns is left alone: these are not the last words of a process that ended then.
 */
void gpu_words_read(int dir_fd, const char *name, int64_t at_unix_ns, struct gpu_said *said);

/* Of the workers and job drivers that wrote last. dir_fd: the logs, -1: none. kind is GPU_SAID_NOTHING when they say nothing. */
void gpu_words_at_end(int dir_fd, int64_t at_unix_ns, struct gpu_said *ret_said);

#endif
