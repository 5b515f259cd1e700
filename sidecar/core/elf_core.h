/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads an ELF core (64 bits, of this machine's byte order): its segments, notes, threads and
 * memory. A core is hostile, because any process can write a file that begins like a core. So every
 * offset is checked against the file's size, and no loop runs longer than a named limit. The core
 * is read by pread and never mapped: if it shrinks meanwhile, a read comes back short instead of
 * raising SIGBUS.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define CORE_SEGMENTS_MAX 200000 /* the default of vm.max_map_count is 65530 */
#define CORE_NOTES_MAX 400000
#define CORE_NOTE_DESC_MAX ((uint64_t)64 << 20) /* bytes of the content of a note */

struct elf_core {
	int fd;
	uint64_t file_size; /* bytes */
	/* the offset at which the last segment ends; a smaller file was cut */
	uint64_t should_size;
	uint16_t machine; /* EM_... */
	uint64_t page_size; /* of the kernel that wrote the core: 4096, 16384 or 65536 bytes */
	/* the PT_LOAD and PT_NOTE segments, in the file's order; owned by this */
	Elf64_Phdr *segments;
	size_t n_segments;
};

struct elf_note {
	uint32_t type;
	char name[8]; /* "CORE", "LINUX"; a longer name is cut */
	uint64_t desc; /* the offset of its content in the file */
	uint64_t size; /* of its content, bytes */
};

struct elf_thread {
	pid_t tid;
	/* the signal that ended it; the first thread of a core is the thread that crashed */
	int signal;
	uint64_t sp, pc;
	uint64_t registers[40];
	unsigned int n_registers;
};

/* The process that a core is of, and the signal that ended it. */
struct elf_identity {
	pid_t pid, ppid, tid;
	int signal;
	char comm[16]; /* as it is in the core: any bytes */
};

/*
 * Reads the headers. fd stays the caller's and must outlive the core. -EPROTO: the file is not a
 * core, or was cut within its headers; -ENOTSUP: the core is of a 32-bit process or of another byte
 * order.
 */
int elf_core_open(int fd, struct elf_core *ret_core, struct err *err);
void elf_core_close(struct elf_core *core);

/* Reads exactly len bytes at that offset of the file; -ENODATA if the file ends before. */
int elf_core_read(const struct elf_core *core, uint64_t offset, void *buf, size_t len);
/*
 * Reads exactly len bytes at an address of the dead process; -ENODATA if the core does not have
 * them.
 */
int elf_core_read_memory(const struct elf_core *core, uint64_t address, void *buf, size_t len);
/*
 * The PT_LOAD segment with this address, even if its memory is not in the file; NULL: there is
 * none.
 */
const Elf64_Phdr *elf_core_segment_at(const struct elf_core *core, uint64_t address);

/*
 * The segment with the notes; the kernel writes a single one. NULL: there is none. *ret_size is the
 * number of its bytes that are in the file.
 */
const Elf64_Phdr *elf_core_notes(const struct elf_core *core, uint64_t *ret_size);

/*
 * Calls fn with each note until fn returns a value other than 0, and returns that value; 0 after
 * the last note. -ENODATA: the walk ended early, at a note that is cut or malformed.
 */
int elf_core_each_note(const struct elf_core *core,
		       int (*fn)(const struct elf_core *core, const struct elf_note *note,
				 void *arg),
		       void *arg);

/* Reads a thread from an NT_PRSTATUS note. Returns false if the note is of another type. */
bool elf_core_thread(const struct elf_core *core, const struct elf_note *note,
		     struct elf_thread *ret_thread);

/* Reads the identity from the first notes. A value that they do not have is 0 or "". */
void elf_core_identify(const struct elf_core *core, struct elf_identity *ret_identity);
