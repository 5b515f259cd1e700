/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The format of a dump: what the launcher copies of a process that lives, and afterglow-unwind
 * reads. It is a struct dump in a memfd of exactly its size, which the sidecar makes. The sidecar
 * touches all of its pages, because memory is charged to the cgroup of whoever first touches it: a
 * Ray container at its limit must not pay for being looked at. All else of the memory is read from
 * /proc/PID/mem, whose descriptor the launcher sends. Both programs are of one machine, so numbers
 * are in its byte order. To the reader all of it is hostile.
 */
#pragma once

#include <fcntl.h>
#include <stdint.h>

#define DUMP_MAGIC "AFTGDMP2" /* the last character is the version */
#define DUMP_THREADS_MAX 1024 /* further threads are only counted */
#define DUMP_STACK_MAX (64 << 10) /* bytes that are copied of a stack, from its top on */
#define DUMP_STACKS_MAX (4 << 20) /* bytes of all stacks together */
#define DUMP_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) /* so that what is mapped is there */
#define DUMP_RED_ZONE 128 /* bytes below the stack pointer that belong to the function (x86-64) */
#define DUMP_REGISTERS_MAX 34

struct dump_head {
	char magic[8];
	uint32_t machine; /* EM_... */
	int32_t pid;
	uint32_t threads_seen, n_threads;
	uint32_t stopped_us; /* for how long threads were stopped, microseconds */
	uint32_t auxv_len; /* bytes of auxv that are set */
	char command[16];
	uint64_t auxv[64];
};

struct dump_thread {
	int32_t tid;
	/* why there are no registers; 0: there are. EBUSY: the kernel did not stop it in time */
	int32_t error;
	char state; /* as /proc/PID/task/TID/stat had it just before: 'R', 'S', 'D', 'T', ... */
	char name[16]; /* any bytes */
	/* Until just before it was stopped: of a processor, and since it began. 0: not known */
	int64_t used_ns, age_ns;
	char waits_in[31]; /* in state D: the kernel's function (wchan); "": not known */
	union {
		uint64_t registers[DUMP_REGISTERS_MAX]; /* without an error; the kernel's order */
		/*
		 * With one, and in state D: the file that its system call is about; "": not known.
		 */
		char file[DUMP_REGISTERS_MAX * sizeof(uint64_t)];
	};
	uint64_t thread_pointer;
	uint64_t stack_address, stack_offset; /* of the copy: in memory, and in the dump */
	uint64_t stack_len; /* bytes; 0: it was not copied */
};

struct dump {
	struct dump_head head;
	struct dump_thread threads[DUMP_THREADS_MAX];
	char stacks[DUMP_STACKS_MAX];
};
