/* SPDX-License-Identifier: Apache-2.0 */
/* refused WAY: dies of what the kernel or the processor refuses. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Seccomp kills the process for a system call that its filter does not allow. */
static __attribute__((noinline, noclone)) int call_refused(void)
{
	struct sock_filter steps[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { sizeof(steps) / sizeof(steps[0]), steps };
	int r;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	r = (int)syscall(SYS_memfd_create, "x", 0);
	__asm__ volatile("" ::: "memory"); /* so that the call is no tail call */
	return r;
}

#ifdef __x86_64__
/* vp4dpwssd of AVX512_4VNNIW, which no server has. */
static __attribute__((noinline, noclone)) int unknown_instruction(void)
{
	__asm__ volatile(".byte 0x62, 0xf2, 0x7f, 0x48, 0x52, 0x00" ::: "memory");
	return 0;
}

static __attribute__((noinline, noclone)) int unreachable(void)
{
	__builtin_trap();
}
#endif

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";

#ifdef __x86_64__
	if (strcmp(way, "instruction") == 0)
		return unknown_instruction();
	if (strcmp(way, "unreachable") == 0)
		return unreachable();
#endif
	return strcmp(way, "call") == 0 ? call_refused() : 2;
}
