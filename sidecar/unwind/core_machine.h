/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the machines that cores come from, x86-64 and aarch64, and the signals there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CORE_REGISTERS_MAX 34

/* Describes a machine that cores come from. */
struct core_machine {
	uint16_t elf; /* e_machine */
	size_t n_registers; /* in elf_gregset_t, at offset 112 of a PRSTATUS */
	size_t pc, sp;
	const char *const *names;
	/*
	 * In struct rt_sigframe, from the stack pointer of the signal trampoline: siginfo_t, and
	 * registers in "frame" order.
	 */
	size_t siginfo_offset;
	size_t context_offset;
	const uint8_t *context_order; /* register of each slot; 0xff: none */
	size_t context_slots;
};

struct core_siginfo {
	int signal, code;
	uint64_t address; /* of a fault */
	pid_t sender; /* the process that sent the signal, if a process did */
	uid_t sender_uid;
	int system_call; /* the number that a seccomp filter refused; 0 as well for other signals */
};

#define CORE_SIGINFO_SIZE 32 /* bytes of siginfo_t that are read */

void core_siginfo_parse(const uint8_t data[static CORE_SIGINFO_SIZE],
			struct core_siginfo *ret_info);

/* The kernel's name of a signal's code: "SEGV_MAPERR"; NULL: it has none. */
const char *core_signal_code(int signal, int code);

/* Whether a seccomp filter sent the signal, so that its system call means something. */
bool core_is_refusal(const struct core_siginfo *info);

/* Whether a signal of this code came from a fault, so that its address means something. */
bool core_is_fault(const struct core_siginfo *info);

/*
 * The description of the machine with that e_machine in the ELF header; NULL: it is not supported.
 */
const struct core_machine *core_machine_of(uint16_t elf);

/*
 * Sorts the registers of a core by DWARF number, into out[CORE_REGISTERS_MAX]. Returns how many
 * there are.
 */
size_t core_machine_dwarf(const struct core_machine *machine, const uint64_t *registers,
			  uint64_t *out);

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
