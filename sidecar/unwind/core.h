/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads what unwinding needs from a core file (x86-64 or aarch64) by core/elf_core:
 * memory by address, cached; threads, signal, command and mapped files from the
 * notes. The file belongs to the user: so counts are bounded, addresses are looked up,
 * and strings end where the notes end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "sidecar/core/elf_core.h"
#include "sidecar/unwind/core_machine.h"

#define CORE_MAPS_MAX 65536
#define CORE_THREADS_MAX 4096 /* threads that are kept; further threads are only counted */

/*
 * A PT_LOAD segment: addresses [start, end). The first file_len bytes are in the file;
 * promised is larger than file_len if the file was cut.
 */
struct core_segment {
	uint64_t start, end;
	uint64_t file_offset, file_len, promised;
	bool readable, writable, executable;
	/* the memory is that of a process that lives, at file_offset of core.memory_fd */
	bool live;
};

/* A line of NT_FILE: addresses [start, end) hold the file from offset on. */
struct core_map {
	uint64_t start, end, offset;
	const char *path;
};

struct core_thread {
	pid_t tid;
	int signal;
	uint64_t registers[CORE_REGISTERS_MAX];
	uint64_t thread_pointer; /* what pthread_self() is; 0 when not known */
	/* Of a thread that lives */
	int error; /* why its registers are not known; 0: they are */
	char state; /* as in /proc/PID/task/TID/stat */
	int64_t used_ns, age_ns; /* of a processor, and since it began; age 0: not known */
	/*
	 * Printable. In state D: the kernel's function, and the file that it works on; "": not
	 * known.
	 */
	char name[17], waits_in[32], file[256];
};

#define CORE_CACHE_BLOCKS 64
#define CORE_CACHE_BLOCK 4096

struct core {
	struct elf_core elf; /* without its segments; the descriptor is the caller's */
	const struct core_machine *machine;
	struct core_segment *segments; /* by address */
	size_t n_segments;
	struct core_map *maps; /* by address */
	size_t n_maps;
	/* the thread that died is the first, as the kernel writes them */
	struct core_thread *threads;
	size_t n_threads, threads_seen;
	struct core_siginfo siginfo;
	bool has_siginfo;
	pid_t pid;
	char command[17], arguments[81]; /* printable */
	uint64_t vdso, program_headers; /* addresses; 0: not known */
	uint64_t missing; /* bytes that the headers promise and the file does not have */
	bool notes_cut;

	char *paths; /* the text of the note; maps[].path points into it */
	uint64_t cached[CORE_CACHE_BLOCKS]; /* block number + 1 */
	uint16_t cached_len[CORE_CACHE_BLOCKS];
	uint8_t *cache;
	size_t last_segment;
	/* Of a process that lives (live.h): */
	int memory_fd; /* its /proc/PID/mem; the caller's */
	/* by address: the stacks as they were when it was stopped. They come before its memory */
	struct core_segment *copies;
	size_t n_copies;
	uint32_t stopped_us; /* for how long it was stopped, microseconds */
};

/*
 * Reads headers and notes. -EPROTO: the file is not a core; -ENOTSUP: it is from another
 * machine; -ENODATA: it has no thread. On success the caller must call core_close. fd
 * stays the caller's.
 */
int core_open(struct core *core, int fd, struct err *err);
void core_close(struct core *core);

/* For qsort, of structures that begin with an address: segments, maps, modules. */
int core_compare_starts(const void *a, const void *b);

/* Reads memory of the process: as many of len bytes at address as the core has. */
size_t core_read(struct core *core, uint64_t address, void *out, size_t len);

/* The segment that holds address, or NULL. */
const struct core_segment *core_segment_at(struct core *core, uint64_t address);

static inline bool core_read_u64(struct core *core, uint64_t address, uint64_t *ret)
{
	return core_read(core, address, ret, sizeof(*ret)) == sizeof(*ret);
}
