/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the machines that cores come from: x86-64 and aarch64. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_CORE_MACHINE_H
#define AFTERGLOW_SIDECAR_UNWIND_CORE_MACHINE_H

#include "sidecar/unwind/core.h"

/* The description of the machine with that e_machine in the ELF header; NULL: it is not supported. */
const struct core_machine *core_machine_of(uint16_t elf);

/* Sorts the registers of a core by DWARF number, into out[CORE_REGISTERS_MAX]. Returns how many there are. */
size_t core_machine_dwarf(const struct core_machine *machine, const uint64_t *registers, uint64_t *out);

#define CORE_CONTEXT_SLOTS_MAX 35

/* The bytes of code on both sides of an address, as far as they are known. */
struct core_code {
	uint8_t before[2], at[15];
	size_t n_before, n_at;
};

/*
 * Reads from a signal frame's context which trap the processor took, for handlers that did not ask
 * for siginfo_t. The context holds the last trap of the thread, and 0 where there was none: no trap
 * may have led to this signal. So the interrupted code must be able to take that trap: a system
 * call takes none, and only a division takes trap 0. final_signal is the signal that killed the
 * process. x86-64 only.
 */
bool core_machine_trap(const struct core_machine *machine, const uint64_t *context,
		       const struct core_code *code, int final_signal, struct core_siginfo *ret);

#endif
