/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says what of a program was refused: the system call behind SIGSYS, the instruction behind SIGILL.
 */
#pragma once

#include "sidecar/unwind/core_machine.h"

#define REFUSED_TEXT_MAX 64

/*
 * Writes "io_uring_setup" for the number of a system call on that machine (EM_...), or "425" if it
 * is none of those that seccomp profiles commonly refuse. Returns text.
 */
const char *refused_system_call(uint16_t machine, int number, char text[static REFUSED_TEXT_MAX]);

/*
 * Names the kind of an instruction of x86-64 that the processor refused: "an AVX-512 instruction";
 * NULL: no kind that its first bytes tell.
 */
const char *refused_instruction(const struct core_code *code);
