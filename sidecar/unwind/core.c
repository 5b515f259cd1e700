/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the memory in a core file of Linux by address. core_notes.c reads the notes. */
#include "sidecar/unwind/core.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/unwind/core_internal.h"

/* --- Reading --- */

/* Returns the block of the file, or of the living memory, with this number, and its length. */
static const uint8_t *block_at(struct core *core, bool live, uint64_t number, size_t *ret_len)
{
	size_t slot = number % CORE_CACHE_BLOCKS;
	uint8_t *data = core->cache + slot * CORE_CACHE_BLOCK;
	uint64_t key = number * 2 + live + 1;

	if (core->cached[slot] != key) {
		size_t have = 0;
		ssize_t n = 1;

		for (; n > 0 && have < CORE_CACHE_BLOCK; have += n > 0 ? (size_t)n : 0)
			n = pread(live ? core->memory_fd : core->elf.fd, data + have,
				  CORE_CACHE_BLOCK - have,
				  (off_t)(number * CORE_CACHE_BLOCK + have));
		core->cached[slot] = key;
		core->cached_len[slot] = (uint16_t)have;
	}
	*ret_len = core->cached_len[slot];
	return data;
}

/* Reads up to len bytes of the core file, or of the living memory, fewer if it ends before. */
static size_t core_read_file(struct core *core, bool live, uint64_t offset, void *out, size_t len)
{
	size_t done = 0;

	while (done < len && (live || offset + done < core->elf.file_size)) {
		uint64_t at = offset + done;
		size_t within = at % CORE_CACHE_BLOCK, have, n;
		const uint8_t *block = block_at(core, live, at / CORE_CACHE_BLOCK, &have);

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

const struct core_segment *core_copy_at(const struct core *core, uint64_t address)
{
	size_t low = 0, high = core->n_copies;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (address >= core->copies[middle].end)
			low = middle + 1;
		else
			high = middle;
	}
	return low < core->n_copies && address >= core->copies[low].start ? &core->copies[low] :
									    NULL;
}

size_t core_read(struct core *core, uint64_t address, void *out, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const struct core_segment *s = core_copy_at(core, address + done);
		uint64_t within;

		if (!s)
			s = core_segment_at(core, address + done);
		if (!s || (within = address + done - s->start) >= s->file_len)
			break;
		size_t n = (size_t)MIN((uint64_t)(len - done), s->file_len - within);
		size_t got = core_read_file(core, s->live, s->file_offset + within,
					    (uint8_t *)out + done, n);
		done += got;
		if (got < n)
			break;
	}
	return done;
}

/* --- Headers --- */

int core_compare_starts(const void *a, const void *b)
{
	const uint64_t *one = a, *other = b;

	return *one < *other ? -1 : *one > *other;
}

static void arrange_segments(struct core_segment *list, size_t n)
{
	if (n)
		qsort(list, n, sizeof(*list), core_compare_starts);
	for (size_t i = 1; i < n; i++)
		if (list[i].start < list[i - 1].end)
			list[i].end = list[i].start;
}

void core_arrange(struct core *core)
{
	arrange_segments(core->segments, core->n_segments);
	arrange_segments(core->copies, core->n_copies);
	if (core->n_maps)
		qsort(core->maps, core->n_maps, sizeof(*core->maps), core_compare_starts);
}

static void take_load(struct core *core, const Elf64_Phdr *p)
{
	struct core_segment *s = &core->segments[core->n_segments];
	uint64_t held = p->p_offset < core->elf.file_size ?
				MIN(p->p_filesz, core->elf.file_size - p->p_offset) :
				0;

	if (p->p_memsz == 0)
		return;
	*s = (struct core_segment){
		.start = p->p_vaddr,
		.end = p->p_vaddr + p->p_memsz,
		.file_offset = p->p_offset,
		.file_len = held,
		.promised = p->p_filesz,
		.readable = p->p_flags & PF_R,
		.writable = p->p_flags & PF_W,
		.executable = p->p_flags & PF_X,
	};
	core->missing += MIN(p->p_filesz - held, UINT64_MAX - core->missing);
	core->n_segments++;
}

static int take_segments(struct core *core, struct err *err)
{
	core->segments = calloc(core->elf.n_segments + 1, sizeof(*core->segments));
	if (!core->segments)
		return err_set(err, ENOMEM, "%zu segments", core->elf.n_segments);
	for (size_t i = 0; i < core->elf.n_segments; i++)
		if (core->elf.segments[i].p_type == PT_LOAD)
			take_load(core, &core->elf.segments[i]);
	return 0;
}

static int core_read_all(struct core *core, struct err *err)
{
	core->machine = core_machine_of(core->elf.machine);
	if (!core->machine)
		return err_set(err, ENOTSUP, "a core of machine type %u", core->elf.machine);
	core->cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	if (!core->cache)
		return err_set(err, ENOMEM, "cache");
	if (take_segments(core, err) < 0 || core_notes_read(core, err) < 0)
		return -err->code;
	core_arrange(core);
	return core->n_threads ? 0 : err_set(err, ENODATA, "no thread in its notes");
}

int core_open(struct core *core, int fd, struct err *err)
{
	struct err local = { 0 };

	if (!err)
		err = &local;
	*core = (struct core){ .elf.fd = -1 };
	if (elf_core_open(fd, &core->elf, err) < 0)
		return -err->code;
	if (core_read_all(core, err) < 0) {
		core_close(core);
		return -err->code;
	}
	/* The segments were sorted, so those of elf_core are of no use any more. */
	elf_core_close(&core->elf);
	return 0;
}

void core_close(struct core *core)
{
	free(core->segments);
	free(core->copies);
	free(core->maps);
	free(core->threads);
	free(core->paths);
	free(core->cache);
	elf_core_close(&core->elf);
	*core = (struct core){ .elf.fd = -1 };
}
