/* SPDX-License-Identifier: Apache-2.0 */
/* The notes of a core: threads, signal, command, files. */
#include "sidecar/unwind/core_notes.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/printable.h"
#include "sidecar/unwind/core_machine.h"

#define NOTES_MAX 1000000 /* looked at */
#define FILE_NOTE_MAX (8 << 20) /* the kernel stops at 4 MiB (MAX_FILE_NOTE_SIZE) */
#define AUXV_MAX 64 /* entries */

/* struct elf_prstatus and elf_prpsinfo of 64-bit machines, <linux/elfcore.h>. */
#define PRSTATUS_CURSIG 12
#define PRSTATUS_PID 32
#define PRSTATUS_REGISTERS 112
#define PRPSINFO_PID 24
#define PRPSINFO_FNAME 40
#define PRPSINFO_ARGS 56
#define PRPSINFO_SIZE 136

/* Registers that hold the thread pointer: fs_base on x86-64, none on aarch64. */
#define X86_FS_BASE 21

static int take_prstatus(struct core *core, uint64_t at, size_t len, struct err *err)
{
	size_t size = core->machine->n_registers * sizeof(uint64_t);
	uint8_t data[PRSTATUS_REGISTERS + sizeof(core->threads->registers)];
	struct core_thread *t;
	int32_t pid;
	int16_t signal;

	if (len < PRSTATUS_REGISTERS + size || core_read_file(core, at, data, PRSTATUS_REGISTERS + size) != PRSTATUS_REGISTERS + size)
		return 0;
	core->threads_seen++;
	if (core->n_threads == CORE_THREADS_MAX)
		return 0;
	if ((core->n_threads & (core->n_threads + 1)) == 0 || !core->threads) { /* 0, 1, 3, 7: room for twice as many */
		t = realloc(core->threads, (core->n_threads + 1) * 2 * sizeof(*t));
		if (!t)
			return err_set(err, ENOMEM, "threads");
		core->threads = t;
	}
	t = &core->threads[core->n_threads++];
	*t = (struct core_thread){ 0 };
	memcpy(&signal, data + PRSTATUS_CURSIG, sizeof(signal));
	memcpy(&pid, data + PRSTATUS_PID, sizeof(pid));
	memcpy(t->registers, data + PRSTATUS_REGISTERS, size);
	t->tid = pid;
	t->signal = signal;
	t->thread_pointer = core->machine->elf == EM_X86_64 ? t->registers[X86_FS_BASE] : 0;
	return 0;
}

static void take_prpsinfo(struct core *core, uint64_t at, size_t len)
{
	char data[PRPSINFO_SIZE];
	int32_t pid;

	if (len < sizeof(data) || core_read_file(core, at, data, sizeof(data)) != sizeof(data))
		return;
	memcpy(&pid, data + PRPSINFO_PID, sizeof(pid));
	core->pid = pid;
	copy_printable(core->command, sizeof(core->command), data + PRPSINFO_FNAME, strnlen(data + PRPSINFO_FNAME, 16));
	copy_printable(core->arguments, sizeof(core->arguments), data + PRPSINFO_ARGS, strnlen(data + PRPSINFO_ARGS, 80));
}

static void take_siginfo(struct core *core, uint64_t at, size_t len)
{
	uint8_t data[24];

	if (core->has_siginfo || len < sizeof(data) || core_read_file(core, at, data, sizeof(data)) != sizeof(data))
		return;
	core->has_siginfo = true;
	core_siginfo_parse(data, &core->siginfo);
}

static void take_auxv(struct core *core, uint64_t at, size_t len)
{
	Elf64_auxv_t entry;

	for (size_t i = 0; i < AUXV_MAX && (i + 1) * sizeof(entry) <= len; i++) {
		if (core_read_file(core, at + i * sizeof(entry), &entry, sizeof(entry)) != sizeof(entry))
			return;
		if (entry.a_type == AT_SYSINFO_EHDR)
			core->vdso = entry.a_un.a_val;
		else if (entry.a_type == AT_PHDR)
			core->program_headers = entry.a_un.a_val;
		else if (entry.a_type == AT_NULL)
			return;
	}
}

/* Files */

static int compare_maps(const void *a, const void *b)
{
	const struct core_map *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

/* count, page size, count times {start, end, offset in pages}, count names with their NUL. */
static int parse_files(struct core *core, const char *data, size_t len, struct err *err)
{
	uint64_t head[2];
	const char *name, *end = data + len;
	size_t n;

	if (len < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	n = (size_t)MIN(head[0], (uint64_t)((len - sizeof(head)) / 24));
	n = MIN(n, (size_t)CORE_MAPS_MAX);
	/* Names come after as many entries as it says there are. */
	if (head[0] > (len - sizeof(head)) / 24)
		return 0;
	name = data + sizeof(head) + head[0] * 24;
	core->maps = calloc(n ? n : 1, sizeof(*core->maps));
	if (!core->maps)
		return err_set(err, ENOMEM, "%zu mapped files", n);
	for (size_t i = 0; i < n; i++) {
		const char *stop = memchr(name, '\0', (size_t)(end - name));
		uint64_t entry[3];

		if (!stop)
			break;
		memcpy(entry, data + sizeof(head) + i * 24, sizeof(entry));
		if (entry[0] < entry[1])
			core->maps[core->n_maps++] = (struct core_map){ entry[0], entry[1], entry[2] * head[1], name };
		name = stop + 1;
	}
	qsort(core->maps, core->n_maps, sizeof(*core->maps), compare_maps);
	return 0;
}

static int take_files(struct core *core, uint64_t at, size_t len, struct err *err)
{
	if (core->paths || len > FILE_NOTE_MAX)
		return 0;
	core->paths = malloc(len + 1);
	if (!core->paths)
		return err_set(err, ENOMEM, "names of mapped files");
	if (core_read_file(core, at, core->paths, len) != len) {
		core->notes_cut = true;
		return 0;
	}
	core->paths[len] = '\0';
	return parse_files(core, core->paths, len, err);
}

static int take(struct core *core, uint32_t type, uint64_t at, size_t len, struct err *err)
{
	switch (type) {
	case NT_PRSTATUS:
		return take_prstatus(core, at, len, err);
	case NT_PRPSINFO:
		take_prpsinfo(core, at, len);
		return 0;
	case NT_SIGINFO:
		take_siginfo(core, at, len);
		return 0;
	case NT_AUXV:
		take_auxv(core, at, len);
		return 0;
	case NT_FILE:
		return take_files(core, at, len, err);
	default:
		return 0;
	}
}

int core_notes_read(struct core *core, uint64_t offset, uint64_t len, struct err *err)
{
	uint64_t at = offset, end = offset + len;

	if (end < offset)
		end = UINT64_MAX;
	for (unsigned int i = 0; i < NOTES_MAX && at + sizeof(Elf64_Nhdr) <= end; i++) {
		Elf64_Nhdr note;
		uint64_t name_at = at + sizeof(note), data_at, next;
		char name[8] = "";

		if (core_read_file(core, at, &note, sizeof(note)) != sizeof(note))
			break;
		data_at = name_at + (((uint64_t)note.n_namesz + 3) & ~(uint64_t)3);
		next = data_at + (((uint64_t)note.n_descsz + 3) & ~(uint64_t)3);
		if (next > end || next > core->size)
			break;
		core_read_file(core, name_at, name, MIN((size_t)note.n_namesz, sizeof(name) - 1));
		if (strcmp(name, "CORE") == 0 && take(core, note.n_type, data_at, note.n_descsz, err) < 0)
			return -err->code;
		at = next;
	}
	core->notes_cut |= at < end;
	return 0;
}
