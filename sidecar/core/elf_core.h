/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading an ELF core (64 bit, of this machine's byte order): segments, notes,
 * threads, memory. A core is hostile: any process can write a file that begins
 * as one. Nothing it says is believed without its place in the file being
 * checked, and no loop runs longer than a named limit. It is read by pread alone,
 * never mapped, so that one that shrinks meanwhile is only short.
 */
#ifndef AFTERGLOW_SIDECAR_CORE_ELF_CORE_H
#define AFTERGLOW_SIDECAR_CORE_ELF_CORE_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/err.h"

#define CORE_SEGMENTS_MAX 200000 /* vm.max_map_count is 65530 unless somebody raised it */
#define CORE_NOTES_MAX 400000
#define CORE_NOTE_DESC_MAX ((uint64_t)64 << 20)

struct elf_core {
	int fd;
	uint64_t file_size;
	uint64_t should_size; /* where the last segment ends: a smaller file was cut */
	uint16_t machine;
	uint64_t page_size; /* of the kernel that wrote it: 4096, 16384 or 65536 bytes */
	Elf64_Phdr *segments; /* those of PT_LOAD and PT_NOTE, in the file's order */
	size_t n_segments;
};

struct elf_note {
	uint32_t type;
	char name[8]; /* "CORE", "LINUX"; a longer one is cut */
	uint64_t desc; /* its place in the file */
	uint64_t size;
};

struct elf_thread {
	pid_t tid;
	int signal; /* what it was ended by; the first thread of a core is the one that dumped */
	uint64_t sp, pc;
	uint64_t registers[40];
	unsigned int n_registers;
};

/* What a process called itself, and what ended it. */
struct elf_identity {
	pid_t pid, tid;
	int signal;
	char comm[16]; /* as it is in the core: any bytes */
};

/*
 * fd stays the caller's and must outlive it. -EPROTO: no core, or one cut within its headers; -ENOTSUP: one of a 32-bit
 * process or of another byte order.
 */
int elf_core_open(int fd, struct elf_core *ret_core, struct err *err);
void elf_core_close(struct elf_core *core);

/* All of len bytes at that place of the file; -ENODATA when it ends before. */
int elf_core_read(const struct elf_core *core, uint64_t offset, void *buf, size_t len);
/* The same at an address of the dead process. */
int elf_core_read_memory(const struct elf_core *core, uint64_t address, void *buf, size_t len);
/* The PT_LOAD segment with this address, whether or not its memory is in the file; NULL: none. */
const Elf64_Phdr *elf_core_segment_at(const struct elf_core *core, uint64_t address);

/* The segment with the notes, of which the kernel writes one; NULL: none. *ret_size: as much of it as is in the file. */
const Elf64_Phdr *elf_core_notes(const struct elf_core *core, uint64_t *ret_size);

/* Calls fn with each note until it returns non-zero, which is returned. -ENODATA: a note that is cut or contradicts itself ended the walk. */
int elf_core_each_note(const struct elf_core *core, int (*fn)(const struct elf_core *core, const struct elf_note *note, void *arg),
		       void *arg);

/* An NT_PRSTATUS note; false: it is none. */
bool elf_core_thread(const struct elf_core *core, const struct elf_note *note, struct elf_thread *ret_thread);

/* From the first notes. What they do not tell is 0 or "". */
void elf_core_identify(const struct elf_core *core, struct elf_identity *ret_identity);

#endif
