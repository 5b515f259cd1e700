/* SPDX-License-Identifier: Apache-2.0 */
/* Compresses a core into a zstd file. */
#include "sidecar/pack/pack.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>

#include "lib/fileio.h"
#include "sidecar/pack/summary.h"

#define CHUNK (512 * 1024)
/* Page size of the file that we write, whatever the page size of the kernel was. */
#define PAGE 4096
#define SEGMENTS_OUT_MAX 60000 /* the header counts segments in 16 bits */

struct packing {
	int fd;
	struct zstream *out;
	struct packed *result;
	unsigned char *chunk;
};

/* Copies size bytes from that place. Returns -ENODATA if the file ends before. */
static int pack_copy(struct packing *p, uint64_t offset, uint64_t size, struct err *err)
{
	while (size > 0) {
		ssize_t n =
			fd_read_whole(p->fd, p->chunk, MIN(size, (uint64_t)CHUNK), (off_t)offset);

		if (n < 0)
			return err_set(err, (int)-n, "read");
		if (n == 0)
			return err_set(err, ENODATA, "it became shorter");
		int rc = zstream_add(p->out, p->chunk, (size_t)n, err);
		if (rc < 0)
			return rc;
		p->result->bytes_in += (uint64_t)n;
		offset += (uint64_t)n;
		size -= (uint64_t)n;
	}
	return 0;
}

static int pack_full(struct packing *p, uint64_t size, struct err *err)
{
	uint64_t at = 0;

	while (at < size) {
		off_t data = lseek(p->fd, (off_t)at, SEEK_DATA), hole;

		if (data < 0)
			/* No more data follow, or the filesystem does not report holes. */
			data = errno == ENXIO ? (off_t)size : (off_t)at;
		data = MIN(data, (off_t)size);
		int rc = zstream_add_zeros(p->out, (uint64_t)data - at, err);
		p->result->holes += (uint64_t)data - at;
		if (rc < 0 || (uint64_t)data == size)
			return rc;
		hole = lseek(p->fd, data, SEEK_HOLE);
		if (hole <= data || hole > (off_t)size)
			hole = (off_t)size;
		rc = pack_copy(p, (uint64_t)data, (uint64_t)(hole - data), err);
		if (rc < 0)
			return rc;
		at = (uint64_t)hole;
	}
	return 0;
}

/* --- A summary: header, program headers, notes, ranges, each at the start of a page --- */

static uint64_t to_page(uint64_t at)
{
	return (at + PAGE - 1) & ~(uint64_t)(PAGE - 1);
}

/*
 * The kernel left out the memory of mapped files, because a debugger reads it from the files
 * themselves.
 */
static bool is_left_to_its_file(const Elf64_Phdr *h)
{
	return h->p_type == PT_LOAD && h->p_filesz == 0;
}

/* Builds at most SEGMENTS_OUT_MAX headers. The caller frees them. */
static Elf64_Phdr *build_headers(const struct elf_core *core, const struct summary *s,
				 size_t *ret_n)
{
	uint64_t notes_size;
	const Elf64_Phdr *notes = elf_core_notes(core, &notes_size);
	size_t n = 0, room = 1 + s->n_ranges + core->n_segments, n_left = 0;
	Elf64_Phdr *list = calloc(room, sizeof(*list));

	if (!list)
		return NULL;
	list[n++] = *notes;
	list[0].p_filesz = notes_size;
	for (size_t i = 0; i < s->n_ranges; i++)
		list[n++] = (Elf64_Phdr){ .p_type = PT_LOAD,
					  .p_flags = s->ranges[i].flags,
					  .p_vaddr = s->ranges[i].address,
					  .p_filesz = s->ranges[i].size,
					  .p_memsz = s->ranges[i].size,
					  .p_align = PAGE };
	for (size_t i = 0; i < core->n_segments && n < SEGMENTS_OUT_MAX; i++)
		if (is_left_to_its_file(&core->segments[i])) {
			list[n++] = core->segments[i];
			n_left++;
		}
	uint64_t at = sizeof(Elf64_Ehdr) + n * sizeof(*list);
	list[0].p_offset = at;
	at += notes_size;
	for (size_t i = 1; i < n - n_left; i++) {
		at = to_page(at);
		list[i].p_offset = at;
		at += list[i].p_filesz;
	}
	for (size_t i = n - n_left; i < n; i++)
		list[i].p_offset = to_page(at);
	*ret_n = n;
	return list;
}

static int pack_write_summary(struct packing *p, const struct elf_core *core,
			      const struct summary *s, const Elf64_Phdr *list, size_t n,
			      struct err *err)
{
	uint64_t notes_size, at = list[0].p_offset;
	const Elf64_Phdr *notes = elf_core_notes(core, &notes_size);
	Elf64_Ehdr header;

	if (elf_core_read(core, 0, &header, sizeof(header)) < 0)
		return err_set(err, ENODATA, "it became shorter");
	header.e_phoff = sizeof(header);
	header.e_phnum = (uint16_t)n;
	header.e_shoff = 0;
	header.e_shnum = header.e_shstrndx = 0;
	int rc = zstream_add(p->out, &header, sizeof(header), err);
	if (rc >= 0)
		rc = zstream_add(p->out, list, n * sizeof(*list), err);
	if (rc >= 0)
		rc = pack_copy(p, notes->p_offset, notes_size, err);
	at += notes_size;
	for (size_t i = 0; i < s->n_ranges && rc >= 0; i++) {
		rc = zstream_add_zeros(p->out, list[i + 1].p_offset - at, err);
		if (rc >= 0)
			rc = pack_copy(p, s->ranges[i].offset, s->ranges[i].size, err);
		at = list[i + 1].p_offset + list[i + 1].p_filesz;
	}
	return rc;
}

static int pack_summary(struct packing *p, const struct elf_core *core, struct err *err)
{
	_cleanup_free_ Elf64_Phdr *list = NULL;
	struct summary s;
	size_t n;
	int rc = summary_plan(core, &s, err);

	if (rc < 0)
		return rc;
	list = build_headers(core, &s, &n);
	rc = list ? pack_write_summary(p, core, &s, list, n, err) :
		    err_set(err, ENOMEM, "program headers");
	summary_release(&s);
	return rc;
}

static void note_what_lacks(struct packed *r, const struct elf_core *core)
{
	if (core->file_size >= core->should_size)
		return;
	snprintf(r->why, sizeof(r->why),
		 "the core ends after %llu of %llu bytes: a core limit (ulimit -c) or a full disk",
		 (unsigned long long)core->file_size, (unsigned long long)core->should_size);
}

int pack_core(int fd, enum pack_mode mode, struct zstream *out, struct packed *ret_packed,
	      struct err *err)
{
	_cleanup_free_ unsigned char *chunk = malloc(CHUNK);
	struct packed result = { 0 };
	struct packing p = { .fd = fd, .out = out, .result = &result, .chunk = chunk };
	struct stat before, after;
	struct elf_core core;

	if (!chunk)
		return err_set(err, ENOMEM, "buffer");
	if (fstat(fd, &before) < 0)
		return err_set(err, errno, "fstat");
	int rc = elf_core_open(fd, &core, err);
	if (rc < 0)
		return rc;
	note_what_lacks(&result, &core);
	rc = mode == PACK_FULL ? pack_full(&p, core.file_size, err) : pack_summary(&p, &core, err);
	elf_core_close(&core);
	if (rc == -EFBIG || rc == -ENODATA) {
		/* The part that was packed is of use, so it is kept. */
		snprintf(result.why, sizeof(result.why), "%.150s", err_text(err));
		rc = 0;
	}
	if (rc >= 0)
		rc = zstream_finish(out, &result.bytes_out, result.sha256, err);
	if (rc < 0)
		return rc;
	if (!result.why[0] && fstat(fd, &after) == 0 &&
	    (after.st_mtim.tv_sec != before.st_mtim.tv_sec ||
	     after.st_mtim.tv_nsec != before.st_mtim.tv_nsec))
		snprintf(result.why, sizeof(result.why),
			 "it was written to while it was read: another core under the same name");
	result.complete = !result.why[0];
	*ret_packed = result;
	return 0;
}
