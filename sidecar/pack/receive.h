/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a core that the kernel sends through a pipe into a file of bounded size.
 *
 * Theory of operation: the kernel writes headers and notes first, then the memory in the order of addresses. From the notes all
 * threads' stack pointers are known before any memory comes. So the stacks have room of their own, segments up to SMALL_SEGMENT come
 * before large ones, and of a large one only a part of the room is taken. What is left out, and what is zero, is a hole: each byte
 * that is there is at its place, and the file has the size of the stream.
 */
#ifndef AFTERGLOW_SIDECAR_PACK_RECEIVE_H
#define AFTERGLOW_SIDECAR_PACK_RECEIVE_H

#include <stdint.h>

#include "lib/err.h"

#define SMALL_SEGMENT ((uint64_t)1 << 20)

struct received {
	uint64_t bytes_in, bytes_out; /* of the stream; written */
	uint64_t left_out; /* bytes that are neither zero nor written */
};

/* Reads in to its end. max: bytes to write, at least 1 MiB. -EPROTO: it does not begin as a core. out is empty. */
int receive_core(int in, int out, uint64_t max, struct received *ret_received, struct err *err);

#endif
