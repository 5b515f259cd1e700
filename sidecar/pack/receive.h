/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a core that the kernel sends through a pipe into a file of bounded size.
 *
 * Theory of operation: the kernel writes headers and notes first, then the memory in the order of
 * addresses. So the stack pointers of all threads are known from the notes before any memory comes.
 * A part of the room is reserved for the stacks, segments up to SMALL_SEGMENT have precedence over
 * larger segments, and a large segment gets only a part of the room. Memory that is left out, or
 * zero, is a hole in the file: every byte that is written is at its place, and the file has the
 * size of the stream.
 */
#pragma once

#include <stdint.h>

#include "lib/err.h"

#define SMALL_SEGMENT ((uint64_t)1 << 20)

struct received {
	uint64_t bytes_in, bytes_out; /* bytes of the stream, and bytes that were written */
	uint64_t left_out; /* bytes that are neither zero nor written */
};

/*
 * Reads `in` to its end, and writes at most max bytes (at least 1 MiB) to out, an empty file.
 * -EPROTO: the stream does not begin like a core.
 */
int receive_core(int in, int out, uint64_t max, struct received *ret_received, struct err *err);
