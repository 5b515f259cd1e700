/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signals of Linux on amd64 and arm64 by signal(7). Containers run on Linux, and kubectl
 * afterglow may explain their ends on macOS, where many signals have other numbers: SIGBUS is 7 on
 * Linux and 10 there.
 */
#pragma once

#define LINUX_SIGNALS(SIGNAL) \
	SIGNAL(HUP, 1) \
	SIGNAL(INT, 2) \
	SIGNAL(QUIT, 3) \
	SIGNAL(ILL, 4) \
	SIGNAL(TRAP, 5) \
	SIGNAL(ABRT, 6) \
	SIGNAL(BUS, 7) \
	SIGNAL(FPE, 8) \
	SIGNAL(KILL, 9) \
	SIGNAL(USR1, 10) \
	SIGNAL(SEGV, 11) \
	SIGNAL(USR2, 12) \
	SIGNAL(PIPE, 13) \
	SIGNAL(ALRM, 14) \
	SIGNAL(TERM, 15) \
	SIGNAL(STKFLT, 16) \
	SIGNAL(CHLD, 17) \
	SIGNAL(CONT, 18) \
	SIGNAL(STOP, 19) \
	SIGNAL(TSTP, 20) \
	SIGNAL(TTIN, 21) \
	SIGNAL(TTOU, 22) \
	SIGNAL(URG, 23) \
	SIGNAL(XCPU, 24) \
	SIGNAL(XFSZ, 25) \
	SIGNAL(VTALRM, 26) \
	SIGNAL(PROF, 27) \
	SIGNAL(WINCH, 28) \
	SIGNAL(POLL, 29) \
	SIGNAL(PWR, 30) \
	SIGNAL(SYS, 31)

enum linux_signal {
#define LINUX_SIGNAL(name, number) LINUX_SIG##name = (number),
	LINUX_SIGNALS(LINUX_SIGNAL)
#undef LINUX_SIGNAL
		LINUX_SIGRTMIN = 34, /* of glibc, which keeps the first two for itself */
	LINUX_SIGRTMAX = 64,
};
