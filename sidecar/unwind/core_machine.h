/* SPDX-License-Identifier: Apache-2.0 */
/* What differs between the machines that cores come from. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_CORE_MACHINE_H
#define AFTERGLOW_SIDECAR_UNWIND_CORE_MACHINE_H

#include "sidecar/unwind/core.h"

/* The machine of an ELF header's e_machine, or NULL. */
const struct core_machine *core_machine_of(uint16_t elf);

/* Registers by DWARF number: from those of a core, into out[CORE_REGISTERS_MAX]; their number. */
size_t core_machine_dwarf(const struct core_machine *machine, const uint64_t *registers, uint64_t *out);

#define CORE_CONTEXT_SLOTS_MAX 35

/*
 * Reads from a signal frame's context which trap the processor took, for handlers that did not ask
 * for siginfo_t. final_signal is the signal that killed the process, because the trap may be an
 * older one. x86-64 only.
 */
bool core_machine_trap(const struct core_machine *machine, const uint64_t *context, int final_signal, struct core_siginfo *ret);

#endif
