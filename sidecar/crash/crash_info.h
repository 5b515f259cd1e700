/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds what a core and its backtrace show of a crash, as short as a report needs it.
 * All of it comes from a hostile container, so it is printable text of bounded
 * length.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

struct crash_info {
	/* there is a core; if not, at most pid, signal and comm are known, from a wait status */
	bool known;
	bool unwound; /* there is a backtrace of the core */
	pid_t pid, ppid, tid; /* in the container's PID namespace; 0: not known */
	int signal; /* 0: not known */
	unsigned int threads;
	bool sent; /* another process sent the signal: none of this one's functions is to blame */
	pid_t sender; /* with sent: that process; 0: one outside of the PID namespace */
	char comm[32], executable[128];
	char code[24], fault_address[24]; /* "SEGV_MAPERR", "0x0" */
	char refused
		[64]; /* "io_uring_setup" for SIGSYS, "an AVX-512 instruction" for SIGILL, "its stack is full" */
	char message[200]; /* what the C library wrote before it aborted */
	/* of the frame that crashed */
	char function[160], module[160], offset[24], build_id[48], source[128];
	char python[160]; /* "crash.py:12 in f" */
	char sentence[240]; /* the backtrace's first line */
	char core_file[64]; /* in the bundle; "": none is kept */
	/*
	 * Not the kernel wrote it, but a debugger (gcore): its process may live on, although it
	 * names a signal.
	 */
	bool by_debugger;
	bool by_node; /* the node agent found the container by the process */
	bool shared; /* other pods may leave cores in its directory, too */
	/*
	 * how long the kernel wrote the core, by the file's times; 0: not known. The process ended
	 * only then
	 */
	int64_t dump_ns;
	bool cut; /* the core was cut: a limit or a full disk */
	/*
	 * bytes of its memory that the node agent sent and the sidecar had no room for; 0: none, or
	 * no core is wanted
	 */
	int64_t left_out;
};

/*
 * Reads the unwinder's line of JSON and the first line of its text. Other input leaves info as it
 * is.
 */
int crash_info_of_summary(const char *json, const char *backtrace, struct crash_info *info,
			  struct err *err);

/*
 * Writes "deref_null (boom.so)", "boom.so+0x1139" or "0x0 in no module"; "" if no frame is known.
 * Returns text.
 */
const char *crash_info_where(const struct crash_info *info, char *text, size_t size);

/* Sets info->core_file to core.COMM.PID.zst. */
void crash_info_name_core(struct crash_info *info);
