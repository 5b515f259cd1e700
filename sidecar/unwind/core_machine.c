/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the machines whose cores can be read: x86-64 and aarch64. */
#include "sidecar/unwind/core_machine.h"

#include <elf.h>
#include <signal.h>
#include <string.h>

#include "lib/macros.h"

/* user_regs_struct of x86-64, in its order. */
enum {
	R15,
	R14,
	R13,
	R12,
	RBP,
	RBX,
	R11,
	R10,
	R9,
	R8,
	RAX,
	RCX,
	RDX,
	RSI,
	RDI,
	ORIG_RAX,
	RIP,
	CS,
	EFLAGS,
	RSP,
	SS,
	FS_BASE,
	GS_BASE,
	DS,
	ES,
	FS,
	GS,
	X86_N
};

static const char *const x86_names[] = {
	"r15",	  "r14", "r13", "r12",	   "rbp",     "rbx", "r11",	 "r10", "r9",
	"r8",	  "rax", "rcx", "rdx",	   "rsi",     "rdi", "orig_rax", "rip", "cs",
	"eflags", "rsp", "ss",	"fs_base", "gs_base", "ds",  "es",	 "fs",	"gs",
};

/* System V ABI, AMD64 supplement, figure 3.36. */
static const uint8_t x86_dwarf[] = { RAX, RDX, RCX, RBX, RSI, RDI, RBP, RSP, R8,
				     R9,  R10, R11, R12, R13, R14, R15, RIP };

/*
 * struct sigcontext of the kernel (arch/x86/include/uapi/asm/sigcontext.h). After the registers it
 * has cs, error, trap, mask and cr2.
 */
#define NONE 0xff
static const uint8_t x86_context[] = {
	R8,  R9,  R10, R11, R12, R13,	 R14,  R15,  RDI,  RSI,	 RBP,  RBX,
	RDX, RAX, RCX, RSP, RIP, EFLAGS, NONE, NONE, NONE, NONE, NONE,
};
#define X86_ERROR 19
#define X86_TRAP 20
#define X86_CR2 22

/* user_pt_regs of aarch64: x0 to x30, sp, pc, pstate. */
static const char *const arm_names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",	 "x10", "x11",
	"x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",	 "x22", "x23",
	"x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",	"pc",  "pstate",
};

/* struct sigcontext: the fault's address, then x0 to pstate. */
static const uint8_t arm_context[] = {
	NONE, 0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16,
	17,   18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33,
};

/*
 * Where the kernel puts the arguments of a signal handler (rt_sigframe). On x86-64 the return
 * address is popped when the trampoline runs, so the stack pointer points to struct ucontext:
 * flags, link and stack_t (40 bytes), sigcontext (256), the mask (8), then siginfo_t. On aarch64 it
 * points to siginfo_t (128), then struct ucontext with 128 bytes for the mask and sigcontext
 * aligned to 16.
 */
static const struct core_machine machines[] = {
	{ EM_X86_64, X86_N, RIP, RSP, x86_names, 304, 40, x86_context, ARRAY_SIZE(x86_context) },
	{ EM_AARCH64, 34, 32, 31, arm_names, 0, 304, arm_context, ARRAY_SIZE(arm_context) },
};

const struct core_machine *core_machine_of(uint16_t elf)
{
	for (size_t i = 0; i < ARRAY_SIZE(machines); i++)
		if (machines[i].elf == elf)
			return &machines[i];
	return NULL;
}

size_t core_machine_dwarf(const struct core_machine *machine, const uint64_t *registers,
			  uint64_t *out)
{
	bool x86 = machine->elf == EM_X86_64;
	size_t n = x86 ? ARRAY_SIZE(x86_dwarf) : 32;

	for (size_t i = 0; i < n; i++)
		out[i] = registers[x86 ? x86_dwarf[i] : i];
	return n;
}

/* Recognizes div and idiv, behind their prefixes: f6 and f7 with /6 or /7. */
static bool is_division(const struct core_code *code)
{
	size_t i = 0;

	while (i < code->n_at && (code->at[i] == 0x66 || code->at[i] == 0x67 ||
				  code->at[i] == 0x64 || code->at[i] == 0x65))
		i++;
	if (i < code->n_at && code->at[i] >> 4 == 4) /* REX */
		i++;
	return i + 1 < code->n_at && (code->at[i] & 0xfe) == 0xf6 &&
	       (code->at[i + 1] >> 3 & 7) >= 6;
}

static bool is_after_system_call(const struct core_code *code)
{
	return code->n_before == 2 && code->before[0] == 0x0f && code->before[1] == 0x05;
}

bool core_machine_trap(const struct core_machine *machine, const uint64_t *context,
		       const struct core_code *code, int final_signal, struct core_siginfo *ret)
{
	static const struct {
		uint64_t trap;
		int signal, code;
	} table[] = {
		{ 0, SIGFPE, FPE_INTDIV },    { 3, SIGTRAP, SI_KERNEL },
		{ 6, SIGILL, ILL_ILLOPN },    { 13, SIGSEGV, SI_KERNEL },
		{ 14, SIGSEGV, SEGV_MAPERR }, { 17, SIGBUS, BUS_ADRALN },
	};

	if (machine->elf != EM_X86_64 || is_after_system_call(code) ||
	    (context[X86_TRAP] == 0 && !is_division(code)))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		bool page = table[i].trap == 14, bus = page && final_signal == SIGBUS;

		if (context[X86_TRAP] != table[i].trap ||
		    (final_signal != SIGABRT && final_signal != table[i].signal && !bus))
			continue;
		*ret = (struct core_siginfo){ .signal = table[i].signal, .code = table[i].code };
		if (page) {
			ret->address = context[X86_CR2];
			ret->signal = bus ? SIGBUS : SIGSEGV;
			/* Bit 0 says that the page was there. */
			ret->code = bus			   ? BUS_ADRERR :
				    context[X86_ERROR] & 1 ? SEGV_ACCERR :
							     SEGV_MAPERR;
		}
		return true;
	}
	return false;
}

static const struct {
	int signal, code;
	const char *name;
	/* clang-format off */
} codes[] = {
	{ SIGSEGV, SEGV_MAPERR, "SEGV_MAPERR" }, { SIGSEGV, SEGV_ACCERR, "SEGV_ACCERR" }, { SIGSEGV, SEGV_BNDERR, "SEGV_BNDERR" },
	{ SIGSEGV, SEGV_PKUERR, "SEGV_PKUERR" }, { SIGBUS, BUS_ADRALN, "BUS_ADRALN" }, { SIGBUS, BUS_ADRERR, "BUS_ADRERR" },
	{ SIGBUS, BUS_OBJERR, "BUS_OBJERR" }, { SIGBUS, BUS_MCEERR_AR, "BUS_MCEERR_AR" }, { SIGBUS, BUS_MCEERR_AO, "BUS_MCEERR_AO" },
	{ SIGILL, ILL_ILLOPC, "ILL_ILLOPC" }, { SIGILL, ILL_ILLOPN, "ILL_ILLOPN" }, { SIGILL, ILL_ILLADR, "ILL_ILLADR" },
	{ SIGILL, ILL_ILLTRP, "ILL_ILLTRP" }, { SIGILL, ILL_PRVOPC, "ILL_PRVOPC" }, { SIGILL, ILL_PRVREG, "ILL_PRVREG" },
	{ SIGILL, ILL_COPROC, "ILL_COPROC" }, { SIGILL, ILL_BADSTK, "ILL_BADSTK" }, { SIGFPE, FPE_INTDIV, "FPE_INTDIV" },
	{ SIGFPE, FPE_INTOVF, "FPE_INTOVF" }, { SIGFPE, FPE_FLTDIV, "FPE_FLTDIV" }, { SIGFPE, FPE_FLTOVF, "FPE_FLTOVF" },
	{ SIGFPE, FPE_FLTUND, "FPE_FLTUND" }, { SIGFPE, FPE_FLTRES, "FPE_FLTRES" }, { SIGFPE, FPE_FLTINV, "FPE_FLTINV" },
	{ SIGFPE, FPE_FLTSUB, "FPE_FLTSUB" }, { SIGTRAP, TRAP_BRKPT, "TRAP_BRKPT" }, { SIGTRAP, TRAP_TRACE, "TRAP_TRACE" },
	{ SIGTRAP, TRAP_BRANCH, "TRAP_BRANCH" }, { SIGTRAP, TRAP_HWBKPT, "TRAP_HWBKPT" }, { SIGSYS, 1, "SYS_SECCOMP" },
	{ 0, SI_USER, "SI_USER" }, { 0, SI_KERNEL, "SI_KERNEL" }, { 0, SI_QUEUE, "SI_QUEUE" }, { 0, SI_TIMER, "SI_TIMER" },
	{ 0, SI_TKILL, "SI_TKILL" }, { 0, SI_MESGQ, "SI_MESGQ" }, { 0, SI_ASYNCIO, "SI_ASYNCIO" },
};
/* clang-format on */

const char *core_signal_code(int signal, int code)
{
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		if (codes[i].code == code && (codes[i].signal == signal || !codes[i].signal))
			return codes[i].name;
	return NULL;
}

/*
 * The layout is si_signo, si_errno, si_code, padding, then a union of the fault's address, of the
 * sender's pid and uid, and of a refused system call: its address, number and architecture.
 */
void core_siginfo_parse(const uint8_t data[static CORE_SIGINFO_SIZE], struct core_siginfo *ret_info)
{
	int32_t words[3], pid;
	uint32_t uid;

	memcpy(words, data, sizeof(words));
	memcpy(&pid, data + 16, sizeof(pid));
	memcpy(&uid, data + 20, sizeof(uid));
	*ret_info = (struct core_siginfo){ .signal = words[0], .code = words[2] };
	if (core_is_fault(ret_info))
		memcpy(&ret_info->address, data + 16, sizeof(ret_info->address));
	else if (core_is_refusal(ret_info))
		memcpy(&ret_info->system_call, data + 24, sizeof(ret_info->system_call));
	else if (ret_info->code <= 0) {
		ret_info->sender = pid;
		ret_info->sender_uid = uid;
	}
}

bool core_is_refusal(const struct core_siginfo *info)
{
	return info->signal == SIGSYS && info->code == 1; /* SYS_SECCOMP */
}

bool core_is_fault(const struct core_siginfo *info)
{
	return info->code > 0 && info->code != SI_KERNEL &&
	       IS_ONE_OF(info->signal, SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP);
}
