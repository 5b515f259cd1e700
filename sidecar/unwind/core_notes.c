/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the notes of a core: threads, signal, command, files. */
#include "sidecar/unwind/core_internal.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "lib/printable.h"
#include "sidecar/unwind/core_machine.h"

#define FILE_NOTE_MAX (8 << 20) /* the kernel itself stops at 4 MiB (MAX_FILE_NOTE_SIZE) */
#define AUXV_MAX 64 /* entries */

/* struct elf_prpsinfo of 64-bit machines, <linux/elfcore.h>. */
#define PRPSINFO_PID 24
#define PRPSINFO_FNAME 40
#define PRPSINFO_ARGS 56
#define PRPSINFO_SIZE 136

/* The register that holds the thread pointer: fs_base on x86-64. aarch64 has none here. */
#define X86_FS_BASE 21

static int take_thread(struct core *core, const struct elf_thread *from, struct err *err)
{
	struct core_thread *t;

	core->threads_seen++;
	if (core->n_threads == CORE_THREADS_MAX)
		return 0;
	/* For 0, 1, 3, 7 ...: make room for twice as many */
	if ((core->n_threads & (core->n_threads + 1)) == 0 || !core->threads) {
		t = realloc(core->threads, (core->n_threads + 1) * 2 * sizeof(*t));
		if (!t)
			return err_set(err, ENOMEM, "threads");
		core->threads = t;
	}
	t = &core->threads[core->n_threads++];
	*t = (struct core_thread){ .tid = from->tid, .signal = from->signal };
	memcpy(t->registers, from->registers,
	       MIN(from->n_registers * sizeof(uint64_t), sizeof(t->registers)));
	t->thread_pointer = core->machine->elf == EM_X86_64 ? t->registers[X86_FS_BASE] : 0;
	return 0;
}

/* Reads the first bytes of a note. Returns false if the note or the file is shorter. */
static bool core_note_read(const struct core *core, const struct elf_note *note, void *data,
			   size_t len)
{
	return note->size >= len && elf_core_read(&core->elf, note->desc, data, len) == 0;
}

static void take_prpsinfo(struct core *core, const struct elf_note *note)
{
	char data[PRPSINFO_SIZE];
	int32_t pid;

	if (!core_note_read(core, note, data, sizeof(data)))
		return;
	memcpy(&pid, data + PRPSINFO_PID, sizeof(pid));
	core->pid = pid;
	copy_printable(core->command, sizeof(core->command), data + PRPSINFO_FNAME,
		       strnlen(data + PRPSINFO_FNAME, 16));
	copy_printable(core->arguments, sizeof(core->arguments), data + PRPSINFO_ARGS,
		       strnlen(data + PRPSINFO_ARGS, 80));
}

static void take_siginfo(struct core *core, const struct elf_note *note)
{
	uint8_t data[CORE_SIGINFO_SIZE];

	if (core->has_siginfo || !core_note_read(core, note, data, sizeof(data)))
		return;
	core->has_siginfo = true;
	core_siginfo_parse(data, &core->siginfo);
}

static void take_auxv(struct core *core, const struct elf_note *note)
{
	Elf64_auxv_t entry;

	for (size_t i = 0; i < AUXV_MAX && (i + 1) * sizeof(entry) <= note->size; i++) {
		if (elf_core_read(&core->elf, note->desc + i * sizeof(entry), &entry,
				  sizeof(entry)) < 0)
			return;
		if (entry.a_type == AT_SYSINFO_EHDR)
			core->vdso = entry.a_un.a_val;
		else if (entry.a_type == AT_PHDR)
			core->program_headers = entry.a_un.a_val;
		else if (entry.a_type == AT_NULL)
			return;
	}
}

/* --- Files --- */

/*
 * The format is: count, page size, count times {start, end, offset in pages}, count names with
 * their NUL.
 */
static int parse_files(struct core *core, const char *data, size_t len, struct err *err)
{
	uint64_t head[2];
	const char *name, *end = data + len;

	if (len < sizeof(head))
		return 0;
	memcpy(head, data, sizeof(head));
	size_t n = (size_t)MIN(head[0], (uint64_t)((len - sizeof(head)) / 24));
	n = MIN(n, (size_t)CORE_MAPS_MAX);
	/* The names begin after that many entries. */
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
			core->maps[core->n_maps++] =
				(struct core_map){ entry[0], entry[1], entry[2] * head[1], name };
		name = stop + 1;
	}
	return 0;
}

static int take_files(struct core *core, const struct elf_note *note, struct err *err)
{
	if (core->paths || note->size > FILE_NOTE_MAX)
		return 0;
	core->paths = malloc(note->size + 1);
	if (!core->paths)
		return err_set(err, ENOMEM, "names of mapped files");
	if (!core_note_read(core, note, core->paths, note->size)) {
		core->notes_cut = true;
		return 0;
	}
	core->paths[note->size] = '\0';
	return parse_files(core, core->paths, note->size, err);
}

struct taking {
	struct core *core;
	struct err *err;
};

static int core_note_take(const struct elf_core *elf, const struct elf_note *note, void *arg)
{
	const struct taking *t = arg;
	struct elf_thread thread;

	if (strcmp(note->name, "CORE") != 0)
		return 0;
	switch (note->type) {
	case NT_PRSTATUS:
		return elf_core_thread(elf, note, &thread) ? take_thread(t->core, &thread, t->err) :
							     0;
	case NT_PRPSINFO:
		take_prpsinfo(t->core, note);
		return 0;
	case NT_SIGINFO:
		take_siginfo(t->core, note);
		return 0;
	case NT_AUXV:
		take_auxv(t->core, note);
		return 0;
	case NT_FILE:
		return take_files(t->core, note, t->err);
	default:
		return 0;
	}
}

int core_notes_read(struct core *core, struct err *err)
{
	struct taking t = { core, err };
	int rc = elf_core_each_note(&core->elf, core_note_take, &t);

	/* An incomplete note is no failure. */
	core->notes_cut |= rc == -ENODATA;
	return rc == -ENODATA ? 0 : rc;
}
