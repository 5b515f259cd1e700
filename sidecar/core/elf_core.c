/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an ELF core. */
#include "sidecar/core/elf_core.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/fileio.h"

/*
 * Offsets in the structures elf_prstatus and elf_prpsinfo of a 64-bit kernel. Up to the registers
 * they are the same on every machine.
 */
#define PRSTATUS_SIGNAL 12
#define PRSTATUS_PID 32
#define PRSTATUS_REGISTERS 112
#define PRPSINFO_PID 24 /* the parent's follows it */
#define PRPSINFO_COMM 40

#define X86_64_REGISTERS 27
#define X86_64_PC 16
#define X86_64_SP 19
#define AARCH64_REGISTERS 34
#define AARCH64_SP 31
#define AARCH64_PC 32

#define AUXV_ENTRIES 64
#define HEADERS_AT_A_TIME 128
#define NOTES_TO_IDENTIFY 16 /* the kernel writes the dumping thread and the process first */

int elf_core_read(const struct elf_core *core, uint64_t offset, void *buf, size_t len)
{
	ssize_t n = offset > INT64_MAX - len ? 0 : fd_read_whole(core->fd, buf, len, (off_t)offset);

	return n < 0 ? (int)n : (size_t)n < len ? -ENODATA : 0;
}

static int elf_core_check_header(const Elf64_Ehdr *h, struct err *err)
{
	const unsigned char ours =
		__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;

	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, EPROTO, "no ELF file");
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ours)
		return err_set(err, ENOTSUP,
			       "a core of a 32-bit process, or of another byte order");
	if (h->e_type != ET_CORE)
		return err_set(err, EPROTO, "an ELF file, but no core (type %u)", h->e_type);
	if (h->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(err, EPROTO, "program headers of %u bytes", h->e_phentsize);
	return 0;
}

/* A count that does not fit into the field is in the first section header. */
static int count_segments(const struct elf_core *core, const Elf64_Ehdr *h, uint64_t *ret_count,
			  struct err *err)
{
	Elf64_Shdr first;

	*ret_count = h->e_phnum;
	if (h->e_phnum == PN_XNUM) {
		if (elf_core_read(core, h->e_shoff, &first, sizeof(first)) < 0)
			return err_set(err, EPROTO, "its section header is not in the file");
		*ret_count = first.sh_info;
	}
	if (*ret_count > CORE_SEGMENTS_MAX)
		return err_set(err, EPROTO, "%llu segments, more than %d",
			       (unsigned long long)*ret_count, CORE_SEGMENTS_MAX);
	return 0;
}

static void take_segment(struct elf_core *core, const Elf64_Phdr *p)
{
	if (p->p_type != PT_LOAD && p->p_type != PT_NOTE)
		return;
	/* No file and no address space can be that large. */
	if (p->p_filesz > INT64_MAX || p->p_offset > INT64_MAX - p->p_filesz ||
	    p->p_memsz > UINT64_MAX - p->p_vaddr ||
	    (p->p_type == PT_LOAD && p->p_filesz > p->p_memsz))
		return;
	core->segments[core->n_segments++] = *p;
	core->should_size = MAX(core->should_size, p->p_offset + p->p_filesz);
}

static int read_segments(struct elf_core *core, uint64_t place, uint64_t count, struct err *err)
{
	core->segments = calloc(count ? count : 1, sizeof(*core->segments));
	if (!core->segments)
		return err_set(err, ENOMEM, "segments");
	/* The headers are read in portions, because the sidecar's event loop waits for this. */
	for (uint64_t i = 0, n; i < count; i += n) {
		Elf64_Phdr part[HEADERS_AT_A_TIME];

		n = MIN(count - i, (uint64_t)HEADERS_AT_A_TIME);
		if (place > INT64_MAX ||
		    elf_core_read(core, place + i * sizeof(part[0]), part, n * sizeof(part[0])) < 0)
			return err_set(err, EPROTO, "cut within its headers");
		for (uint64_t k = 0; k < n; k++)
			take_segment(core, &part[k]);
	}
	return 0;
}

static bool is_page_size(uint64_t size)
{
	return size == 4096 || size == 16384 || size == 65536;
}

/* Takes the page size from the auxiliary vector, which every process has. */
static int take_page_size(const struct elf_core *core, const struct elf_note *note, void *arg)
{
	uint64_t *size = arg;
	Elf64_auxv_t entry;

	if (note->type != NT_AUXV)
		return 0;
	for (uint64_t i = 0; i < MIN(note->size / sizeof(entry), (uint64_t)AUXV_ENTRIES); i++)
		if (elf_core_read(core, note->desc + i * sizeof(entry), &entry, sizeof(entry)) ==
			    0 &&
		    entry.a_type == AT_PAGESZ && is_page_size(entry.a_un.a_val))
			*size = entry.a_un.a_val;
	return 1;
}

static uint64_t page_size_of(const struct elf_core *core)
{
	uint64_t size = 4096;

	elf_core_each_note(core, take_page_size, &size);
	return size;
}

int elf_core_open(int fd, struct elf_core *ret_core, struct err *err)
{
	struct elf_core core = { .fd = fd };
	Elf64_Ehdr header;
	struct stat st;
	uint64_t count;

	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "fstat");
	if (!S_ISREG(st.st_mode))
		return err_set(err, EPROTO, "not a regular file");
	core.file_size = (uint64_t)st.st_size;
	if (elf_core_read(&core, 0, &header, sizeof(header)) < 0)
		return core.file_size ?
			       err_set(err, EPROTO, "only %lld bytes long", (long long)st.st_size) :
			       err_set(err, EPROTO, "empty");
	int rc = elf_core_check_header(&header, err);
	if (rc >= 0)
		rc = count_segments(&core, &header, &count, err);
	if (rc >= 0)
		rc = read_segments(&core, header.e_phoff, count, err);
	if (rc < 0) {
		elf_core_close(&core);
		return rc;
	}
	core.machine = header.e_machine;
	core.page_size = page_size_of(&core);
	*ret_core = core;
	return 0;
}

void elf_core_close(struct elf_core *core)
{
	free(TAKE_PTR(core->segments));
}

const Elf64_Phdr *elf_core_segment_at(const struct elf_core *core, uint64_t address)
{
	for (size_t i = 0; i < core->n_segments; i++) {
		const Elf64_Phdr *p = &core->segments[i];

		if (p->p_type == PT_LOAD && address >= p->p_vaddr &&
		    address - p->p_vaddr < p->p_memsz)
			return p;
	}
	return NULL;
}

int elf_core_read_memory(const struct elf_core *core, uint64_t address, void *buf, size_t len)
{
	const Elf64_Phdr *p = elf_core_segment_at(core, address);
	uint64_t from = p ? address - p->p_vaddr : 0;

	if (!p || from > p->p_filesz || len > p->p_filesz - from)
		return -ENODATA;
	return elf_core_read(core, p->p_offset + from, buf, len);
}

static uint64_t elf_core_aligned(uint64_t size)
{
	return (size + 3) & ~(uint64_t)3;
}

const Elf64_Phdr *elf_core_notes(const struct elf_core *core, uint64_t *ret_size)
{
	for (size_t i = 0; i < core->n_segments; i++) {
		const Elf64_Phdr *p = &core->segments[i];

		if (p->p_type != PT_NOTE)
			continue;
		*ret_size = p->p_offset < core->file_size ?
				    MIN(p->p_filesz, core->file_size - p->p_offset) :
				    0;
		return p;
	}
	*ret_size = 0;
	return NULL;
}

/* Returns false if there is no complete note at that place. */
static bool elf_core_read_note(const struct elf_core *core, uint64_t at, uint64_t end,
			       struct elf_note *ret_note)
{
	struct elf_note note = { 0 };
	Elf64_Nhdr h;

	if (end - at < sizeof(h) || elf_core_read(core, at, &h, sizeof(h)) < 0)
		return false;
	note.type = h.n_type;
	note.size = h.n_descsz;
	note.desc = at + sizeof(h) + elf_core_aligned(h.n_namesz);
	if (note.size > CORE_NOTE_DESC_MAX || note.desc > end || note.size > end - note.desc ||
	    elf_core_read(core, at + sizeof(h), note.name,
			  MIN((size_t)h.n_namesz, sizeof(note.name) - 1)) < 0)
		return false;
	*ret_note = note;
	return true;
}

int elf_core_each_note(const struct elf_core *core,
		       int (*fn)(const struct elf_core *core, const struct elf_note *note,
				 void *arg),
		       void *arg)
{
	uint64_t size, end, at;
	const Elf64_Phdr *p = elf_core_notes(core, &size);
	struct elf_note note;
	int rc = 0;

	if (!p)
		return 0;
	at = p->p_offset;
	end = at + size;
	for (int n = 0; !rc && at < end; n++) {
		if (n == CORE_NOTES_MAX || !elf_core_read_note(core, at, end, &note))
			return -ENODATA;
		rc = fn(core, &note, arg);
		at = note.desc + elf_core_aligned(note.size);
	}
	return rc || size == p->p_filesz ? rc : -ENODATA;
}

bool elf_core_thread(const struct elf_core *core, const struct elf_note *note,
		     struct elf_thread *ret_thread)
{
	struct elf_thread t = { 0 };
	unsigned int sp = core->machine == EM_AARCH64 ? AARCH64_SP : X86_64_SP;
	unsigned int pc = core->machine == EM_AARCH64 ? AARCH64_PC : X86_64_PC;
	int16_t signal;
	int32_t tid;

	t.n_registers = core->machine == EM_AARCH64 ? AARCH64_REGISTERS : X86_64_REGISTERS;
	if (note->type != NT_PRSTATUS || strcmp(note->name, "CORE") != 0 ||
	    (core->machine != EM_AARCH64 && core->machine != EM_X86_64) ||
	    note->size < PRSTATUS_REGISTERS + t.n_registers * sizeof(uint64_t) ||
	    elf_core_read(core, note->desc + PRSTATUS_SIGNAL, &signal, sizeof(signal)) < 0 ||
	    elf_core_read(core, note->desc + PRSTATUS_PID, &tid, sizeof(tid)) < 0 ||
	    elf_core_read(core, note->desc + PRSTATUS_REGISTERS, t.registers,
			  t.n_registers * sizeof(uint64_t)) < 0)
		return false;
	t.tid = tid;
	t.signal = signal;
	t.sp = t.registers[sp];
	t.pc = t.registers[pc];
	*ret_thread = t;
	return true;
}

struct identifying {
	struct elf_identity id;
	int left;
};

static int identify_by(const struct elf_core *core, const struct elf_note *note, void *arg)
{
	struct identifying *i = arg;
	struct elf_thread thread;
	int32_t pids[2];
	char comm[16];

	if (!i->id.tid && elf_core_thread(core, note, &thread)) {
		i->id.tid = thread.tid;
		i->id.signal = thread.signal;
	} else if (!i->id.pid && note->type == NT_PRPSINFO &&
		   note->size >= PRPSINFO_COMM + sizeof(comm) &&
		   elf_core_read(core, note->desc + PRPSINFO_PID, pids, sizeof(pids)) == 0 &&
		   elf_core_read(core, note->desc + PRPSINFO_COMM, comm, sizeof(comm)) == 0) {
		i->id.pid = pids[0];
		i->id.ppid = pids[1];
		memcpy(i->id.comm, comm, sizeof(comm) - 1);
	}
	return (i->id.tid && i->id.pid) || --i->left == 0;
}

void elf_core_identify(const struct elf_core *core, struct elf_identity *ret_identity)
{
	struct identifying i = { .left = NOTES_TO_IDENTIFY };

	elf_core_each_note(core, identify_by, &i);
	*ret_identity = i.id;
}
