/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Says what of a program was refused: the system call behind SIGSYS, the instruction behind SIGILL.
 */
#include "sidecar/unwind/refused.h"

#include <elf.h>
#include <stdio.h>

#include "lib/macros.h"

/*
 * The system calls that the default profiles of Docker, containerd and Chromium do not allow, and
 * those that younger C libraries use before a profile knows them. Numbers of x86-64 and of aarch64;
 * -1: none.
 */
static const struct {
	const char *name;
	int x86, arm;
} calls[] = {
	{ "socket", 41, 198 },
	{ "clone", 56, 220 },
	{ "fork", 57, -1 },
	{ "execve", 59, 221 },
	{ "ptrace", 101, 117 },
	{ "syslog", 103, 116 },
	{ "personality", 135, 92 },
	{ "sched_setaffinity", 203, 122 },
	{ "pivot_root", 155, 41 },
	{ "chroot", 161, 51 },
	{ "acct", 163, 89 },
	{ "mount", 165, 40 },
	{ "umount2", 166, 39 },
	{ "reboot", 169, 142 },
	{ "init_module", 175, 105 },
	{ "delete_module", 176, 106 },
	{ "add_key", 248, 217 },
	{ "request_key", 249, 218 },
	{ "keyctl", 250, 219 },
	{ "migrate_pages", 256, 238 },
	{ "unshare", 272, 97 },
	{ "move_pages", 279, 239 },
	{ "mbind", 237, 235 },
	{ "set_mempolicy", 238, 237 },
	{ "get_mempolicy", 239, 236 },
	{ "perf_event_open", 298, 241 },
	{ "fanotify_init", 300, 262 },
	{ "name_to_handle_at", 303, 264 },
	{ "open_by_handle_at", 304, 265 },
	{ "setns", 308, 268 },
	{ "process_vm_readv", 310, 270 },
	{ "process_vm_writev", 311, 271 },
	{ "kcmp", 312, 272 },
	{ "finit_module", 313, 273 },
	{ "seccomp", 317, 277 },
	{ "memfd_create", 319, 279 },
	{ "bpf", 321, 280 },
	{ "userfaultfd", 323, 282 },
	{ "membarrier", 324, 283 },
	{ "copy_file_range", 326, 285 },
	{ "statx", 332, 291 },
	{ "rseq", 334, 293 },
	{ "pidfd_send_signal", 424, 424 },
	{ "io_uring_setup", 425, 425 },
	{ "io_uring_enter", 426, 426 },
	{ "io_uring_register", 427, 427 },
	{ "pidfd_open", 434, 434 },
	{ "clone3", 435, 435 },
	{ "close_range", 436, 436 },
	{ "openat2", 437, 437 },
	{ "pidfd_getfd", 438, 438 },
	{ "faccessat2", 439, 439 },
	{ "process_madvise", 440, 440 },
	{ "epoll_pwait2", 441, 441 },
	{ "landlock_create_ruleset", 444, 444 },
	{ "memfd_secret", 447, 447 },
	{ "futex_waitv", 449, 449 },
	{ "set_mempolicy_home_node", 450, 450 },
	{ "cachestat", 451, 451 },
	{ "fchmodat2", 452, 452 },
	{ "map_shadow_stack", 453, 453 },
	{ "futex_wait", 455, 455 },
	{ "statmount", 457, 457 },
	{ "listmount", 458, 458 },
};

const char *refused_system_call(uint16_t machine, int number, char text[static REFUSED_TEXT_MAX])
{
	snprintf(text, REFUSED_TEXT_MAX, "%d", number);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		if (number >= 0 && number == (machine == EM_X86_64  ? calls[i].x86 :
					      machine == EM_AARCH64 ? calls[i].arm :
								      -1))
			snprintf(text, REFUSED_TEXT_MAX, "%s", calls[i].name);
	return text;
}

const char *refused_instruction(const struct core_code *code)
{
	const uint8_t *at = code->at;

	if (code->n_at < 2)
		return NULL;
	if (at[0] == 0x0f && (at[1] == 0x0b || at[1] == 0xb9 || at[1] == 0xff))
		return "ud2, which compilers place where a program must not arrive";
	if (at[0] == 0x62)
		return "an AVX-512 instruction";
	if (at[0] == 0xc4 || at[0] == 0xc5)
		return "an instruction of AVX, FMA, BMI, AMX or the masks of AVX-512";
	return NULL;
}
