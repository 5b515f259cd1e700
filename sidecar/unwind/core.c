/* SPDX-License-Identifier: Apache-2.0 */
/* A core file of Linux: its headers and its memory. The notes are core_notes.c's. */
#include "sidecar/unwind/core.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sidecar/unwind/core_machine.h"
#include "sidecar/unwind/core_notes.h"

/* Reading */

/* The block of the file with this number, and how much of it there is. */
static const uint8_t *block_at(struct core *core, uint64_t number, size_t *ret_len)
{
	size_t slot = number % CORE_CACHE_BLOCKS;
	uint8_t *data = core->cache + slot * CORE_CACHE_BLOCK;

	if (core->cached[slot] != number + 1) {
		size_t have = 0;
		ssize_t n = 1;

		for (; n > 0 && have < CORE_CACHE_BLOCK; have += n > 0 ? (size_t)n : 0)
			n = pread(core->fd, data + have, CORE_CACHE_BLOCK - have, (off_t)(number * CORE_CACHE_BLOCK + have));
		core->cached[slot] = number + 1;
		core->cached_len[slot] = (uint16_t)have;
	}
	*ret_len = core->cached_len[slot];
	return data;
}

size_t core_read_file(struct core *core, uint64_t offset, void *out, size_t len)
{
	size_t done = 0;

	while (done < len && offset + done < core->size) {
		uint64_t at = offset + done;
		size_t within = at % CORE_CACHE_BLOCK, have, n;
		const uint8_t *block = block_at(core, at / CORE_CACHE_BLOCK, &have);

		if (have <= within)
			break;
		n = MIN(have - within, len - done);
		memcpy((uint8_t *)out + done, block + within, n);
		done += n;
	}
	return done;
}

const struct core_segment *core_segment_at(struct core *core, uint64_t address)
{
	size_t low = 0, high = core->n_segments;
	const struct core_segment *s;

	if (core->last_segment < core->n_segments) {
		s = &core->segments[core->last_segment];
		if (address >= s->start && address < s->end)
			return s;
	}
	while (low < high) {
		size_t middle = (low + high) / 2;

		s = &core->segments[middle];
		if (address < s->start)
			high = middle;
		else if (address >= s->end)
			low = middle + 1;
		else {
			core->last_segment = middle;
			return s;
		}
	}
	return NULL;
}

size_t core_read(struct core *core, uint64_t address, void *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const struct core_segment *s = core_segment_at(core, address + done);
		uint64_t within;
		size_t n, got;

		if (!s || (within = address + done - s->start) >= s->file_len)
			break;
		n = (size_t)MIN((uint64_t)(len - done), s->file_len - within);
		got = core_read_file(core, s->file_offset + within, (uint8_t *)out + done, n);
		done += got;
		if (got < n)
			break;
	}
	return done;
}

/* Headers */

static int compare_segments(const void *a, const void *b)
{
	const struct core_segment *one = a, *other = b;

	return one->start < other->start ? -1 : one->start > other->start;
}

static void take_load(struct core *core, const Elf64_Phdr *p)
{
	struct core_segment *s = &core->segments[core->n_segments];
	uint64_t len = MIN(p->p_filesz, p->p_memsz);

	if (p->p_memsz == 0 || p->p_vaddr + p->p_memsz < p->p_vaddr)
		return;
	*s = (struct core_segment){ p->p_vaddr, p->p_vaddr + p->p_memsz, p->p_offset, len, len, p->p_flags & PF_X };
	if (p->p_offset + len < p->p_offset || p->p_offset >= core->size)
		s->file_len = 0;
	else
		s->file_len = MIN(len, core->size - p->p_offset);
	core->missing += MIN(len - s->file_len, UINT64_MAX - core->missing);
	core->n_segments++;
}

/* With 65535 and more of them the number stands in the first section header. */
static size_t count_headers(struct core *core, const Elf64_Ehdr *header)
{
	Elf64_Shdr first;

	if (header->e_phnum != PN_XNUM)
		return header->e_phnum;
	if (core_read_file(core, header->e_shoff, &first, sizeof(first)) != sizeof(first))
		return 0;
	return first.sh_info;
}

static int read_segments(struct core *core, const Elf64_Ehdr *header, struct err *err)
{
	size_t n = MIN(count_headers(core, header), (size_t)CORE_SEGMENTS_MAX);

	core->segments = calloc(n ? n : 1, sizeof(*core->segments));
	if (!core->segments)
		return err_set(err, ENOMEM, "%zu segments", n);
	for (size_t i = 0; i < n; i++) {
		Elf64_Phdr p;

		if (core_read_file(core, header->e_phoff + i * sizeof(p), &p, sizeof(p)) != sizeof(p)) {
			core->notes_cut = true;
			break;
		}
		if (p.p_type == PT_LOAD)
			take_load(core, &p);
		else if (p.p_type == PT_NOTE && core_notes_read(core, p.p_offset, p.p_filesz, err) < 0)
			return -err->code;
	}
	qsort(core->segments, core->n_segments, sizeof(*core->segments), compare_segments);
	/* Of overlapping ones, which no kernel writes, the first counts. */
	for (size_t i = 1; i < core->n_segments; i++)
		if (core->segments[i].start < core->segments[i - 1].end)
			core->segments[i].end = core->segments[i].start;
	return 0;
}

static int check_header(struct core *core, const Elf64_Ehdr *header, struct err *err)
{
	if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(err, ENOEXEC, "no ELF file");
	if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB)
		return err_set(err, ENOTSUP, "a core of a 32-bit or big-endian process");
	if (header->e_type != ET_CORE)
		return err_set(err, ENOEXEC, "an ELF file, but no core (type %u)", header->e_type);
	if (header->e_phentsize != sizeof(Elf64_Phdr))
		return err_set(err, ENOEXEC, "program headers of %u bytes", header->e_phentsize);
	core->machine = core_machine_of(header->e_machine);
	if (!core->machine)
		return err_set(err, ENOTSUP, "a core of machine type %u", header->e_machine);
	return 0;
}

static int read_all(struct core *core, struct err *err)
{
	Elf64_Ehdr header;

	if (core->size == 0)
		return err_set(err, ENOEXEC, "empty");
	if (core_read_file(core, 0, &header, sizeof(header)) != sizeof(header))
		return err_set(err, ENOEXEC, "only %llu bytes long", (unsigned long long)core->size);
	if (check_header(core, &header, err) < 0 || read_segments(core, &header, err) < 0)
		return -err->code;
	if (core->n_threads == 0)
		return err_set(err, ENODATA, "no thread in its notes");
	return 0;
}

int core_open(struct core *core, int fd, struct err *err)
{
	struct err local = { 0 };
	struct stat st;

	if (!err)
		err = &local;
	*core = (struct core){ .fd = fd };
	if (fstat(fd, &st) < 0)
		return err_set(err, errno, "stat");
	if (!S_ISREG(st.st_mode))
		return err_set(err, EINVAL, "not a regular file");
	core->size = (uint64_t)st.st_size;
	core->cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	if (!core->cache)
		return err_set(err, ENOMEM, "cache");
	if (read_all(core, err) < 0) {
		core_close(core);
		return -err->code;
	}
	return 0;
}

void core_close(struct core *core)
{
	free(core->segments);
	free(core->maps);
	free(core->threads);
	free(core->paths);
	free(core->cache);
	*core = (struct core){ .fd = -1 };
}
