/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a core that the kernel sends through a pipe into a file of bounded size. */
#include "sidecar/pack/receive.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/zeros.h"
#include "sidecar/core/elf_core.h"

#define PAGE 4096
#define CHUNK (16 * PAGE)
#define THREADS_MAX 8192 /* whose stacks are kept */
#define STACK_MAX ((uint64_t)1 << 20) /* bytes of each stack, from its pointer on */
/* Bytes below the stack pointer, where a leaf function may keep its variables */
#define RED_ZONE 256

enum share { STACKS, SMALL, LARGE, SHARES };

struct receiver {
	int in, out;
	uint64_t pos; /* position in the stream */
	uint64_t end; /* the offset after the file's last byte */
	uint64_t room[SHARES]; /* bytes that each share may still take */
	struct elf_core core;
	size_t segment; /* the first segment that ends after pos */
	uint64_t large_left; /* bytes left for this segment, if it is a large one */
	uint64_t pointers[THREADS_MAX]; /* the threads' stack pointers, in ascending order */
	size_t n_pointers;
	struct received result;
};

static int receive_write_at(struct receiver *r, uint64_t pos, const char *data, size_t len,
			    struct err *err)
{
	if (lseek(r->out, (off_t)pos, SEEK_SET) < 0)
		return err_set(err, errno, "seek");
	r->result.bytes_out += len;
	r->end = pos + len;
	return fd_write_all(r->out, data, len, err);
}

/* --- The head: all up to the end of the notes --- */

/* Copies the stream up to that place. Returns -ENODATA if the stream ends before. */
static int copy_to(struct receiver *r, uint64_t to, struct err *err)
{
	char chunk[CHUNK];

	while (r->pos < to) {
		size_t want = (size_t)MIN(to - r->pos, (uint64_t)sizeof(chunk));
		ssize_t n = fd_read_whole(r->in, chunk, want, -1);

		if (n < 0)
			return err_set(err, (int)-n, "read the core");
		if (n > 0 && receive_write_at(r, r->pos, chunk, (size_t)n, err) < 0)
			return -err->code;
		r->pos += (uint64_t)n;
		if ((size_t)n < want)
			return err_set(err, ENODATA, "the core ends within its headers");
	}
	return 0;
}

/* Returns where the notes end, by the program headers; 0 if that is unknown or beyond max. */
static uint64_t end_of_notes(struct receiver *r, uint64_t max, struct err *err)
{
	Elf64_Ehdr h;
	uint64_t headers, end = 0;

	if (copy_to(r, sizeof(h), err) < 0 || pread(r->out, &h, sizeof(h), 0) != sizeof(h))
		return 0;
	headers = h.e_phoff + (uint64_t)h.e_phnum * sizeof(Elf64_Phdr);
	/*
	 * More segments than fit that field are counted at the end of the file, which has not come.
	 */
	if (memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_phnum == PN_XNUM || h.e_phoff > max ||
	    headers > max || copy_to(r, headers, err) < 0)
		return 0;
	for (unsigned int i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr p;

		if (pread(r->out, &p, sizeof(p), (off_t)(h.e_phoff + i * sizeof(p))) != sizeof(p))
			return 0;
		if (p.p_type == PT_NOTE && p.p_filesz <= max && p.p_offset <= max - p.p_filesz)
			end = MAX(end, p.p_offset + p.p_filesz);
	}
	return end;
}

static int take_pointer(const struct elf_core *core, const struct elf_note *note, void *arg)
{
	struct receiver *r = arg;
	struct elf_thread thread;

	if (r->n_pointers < THREADS_MAX && elf_core_thread(core, note, &thread))
		r->pointers[r->n_pointers++] = thread.sp > RED_ZONE ? thread.sp - RED_ZONE : 0;
	return 0;
}

static int receive_by_address(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_offset(const void *a, const void *b)
{
	uint64_t x = ((const Elf64_Phdr *)a)->p_offset, y = ((const Elf64_Phdr *)b)->p_offset;

	return x < y ? -1 : x > y;
}

static int read_head(struct receiver *r, uint64_t max, struct err *err)
{
	uint64_t end = end_of_notes(r, max / 4, err);

	if (!err->code && end == 0)
		err_set(err, EPROTO,
			"a core with more headers or notes than there is room for, or none");
	if (err->code || copy_to(r, end, err) < 0)
		return -err->code;
	int rc = elf_core_open(r->out, &r->core, err);
	if (rc < 0)
		return rc;
	elf_core_each_note(&r->core, take_pointer, r);
	qsort(r->pointers, r->n_pointers, sizeof(r->pointers[0]), receive_by_address);
	qsort(r->core.segments, r->core.n_segments, sizeof(r->core.segments[0]), by_offset);
	return 0;
}

/* --- The memory --- */

/*
 * Returns the segment of that place in the file, or NULL if it is in none. Calls come with
 * ascending places.
 */
static const Elf64_Phdr *segment_at(struct receiver *r, uint64_t pos)
{
	while (r->segment < r->core.n_segments) {
		const Elf64_Phdr *s = &r->core.segments[r->segment];

		if (s->p_type == PT_LOAD && pos < s->p_offset + s->p_filesz)
			return pos >= s->p_offset ? s : NULL;
		r->segment++;
		r->large_left = r->room[LARGE] / 4;
	}
	return NULL;
}

/*
 * Returns whether that page belongs to a thread's stack: the nearest stack pointer at or below the
 * page's end is in the same segment and not far.
 */
static bool is_stack(const struct receiver *r, const Elf64_Phdr *s, uint64_t address)
{
	size_t low = 0, high = r->n_pointers;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (r->pointers[middle] < address + PAGE)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && r->pointers[low - 1] >= s->p_vaddr &&
	       address - MIN(address, r->pointers[low - 1]) < STACK_MAX;
}

static enum share share_of(struct receiver *r, const Elf64_Phdr *s)
{
	if (s && is_stack(r, s, s->p_vaddr + (r->pos - s->p_offset)))
		return STACKS;
	return !s || s->p_filesz <= SMALL_SEGMENT ? SMALL : LARGE;
}

static int take_page(struct receiver *r, const char *page, size_t len, struct err *err)
{
	const Elf64_Phdr *s = segment_at(r, r->pos);
	enum share share = share_of(r, s);
	bool fits = r->room[share] >= len && (share != LARGE || r->large_left >= len);

	if (is_zero(page, len))
		return 0;
	if (!fits) {
		r->result.left_out += len;
		return 0;
	}
	r->room[share] -= len;
	if (share == LARGE)
		r->large_left -= len;
	return receive_write_at(r, r->pos, page, len, err);
}

/*
 * Takes pages. The file has the same page boundaries as the memory; only the first page may be
 * partial, where the notes end.
 */
static int take_pages(struct receiver *r, const char *data, size_t len, struct err *err)
{
	while (len > 0) {
		size_t part = MIN(len, (size_t)(PAGE - r->pos % PAGE));

		if (take_page(r, data, part, err) < 0)
			return -err->code;
		r->pos += part;
		data += part;
		len -= part;
	}
	return 0;
}

static int receive_read_memory(struct receiver *r, struct err *err)
{
	char chunk[CHUNK];
	ssize_t n;

	while ((n = fd_read_whole(r->in, chunk, sizeof(chunk) - r->pos % PAGE, -1)) > 0)
		if (take_pages(r, chunk, (size_t)n, err) < 0)
			return -err->code;
	return n < 0 ? err_set(err, (int)-n, "read the core") : 0;
}

static int core_receive(struct receiver *r, uint64_t max, struct err *err)
{
	int rc = read_head(r, max, err);

	if (rc < 0)
		return rc;
	max -= MIN(max, r->result.bytes_out);
	r->room[STACKS] = max / 2;
	r->room[SMALL] = max / 4;
	r->room[LARGE] = max / 4;
	r->large_left = r->room[LARGE] / 4;
	rc = receive_read_memory(r, err);
	/* A file that ends with a hole needs its last byte written. */
	if (rc == 0 && r->end < r->pos)
		rc = receive_write_at(r, r->pos - 1, "", 1, err);
	return rc;
}

int receive_core(int in, int out, uint64_t max, struct received *ret_received, struct err *err)
{
	_cleanup_free_ struct receiver *r = calloc(1, sizeof(*r));
	struct err why = { 0 };

	if (!r)
		return err_set(err, ENOMEM, "core");
	r->in = in;
	r->out = out;
	int rc = core_receive(r, max, &why);
	elf_core_close(&r->core);
	if (rc < 0) {
		if (err)
			*err = why;
		return rc;
	}
	r->result.bytes_in = r->pos;
	*ret_received = r->result;
	return 0;
}
