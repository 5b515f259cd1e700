/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what a summary keeps of a core. */
#include "sidecar/pack/summary.h"

#include <errno.h>
#include <link.h>
#include <string.h>

#define PAGE 4096 /* ranges are multiples of this; of a larger page only a part is kept */
/* Bytes below the stack pointer, where a leaf function may keep its variables */
#define RED_ZONE 256
#define HANDLER_STACK_MAX (256 * 1024) /* how much of a signal handler's stack is searched */
#define HANDLERS_MAX 4 /* handlers that interrupt each other */
#define MARK_WORDS_BEFORE 4
#define DYNAMIC_MAX 256 /* entries of a dynamic section */
#define AUXV_MAX 64
#define NAME_ROOM 512 /* bytes of a module's path */
#define VDSO_MAX (64 * 1024)

struct plan {
	const struct elf_core *core;
	struct summary *s;
	uint64_t total;
	unsigned int threads;
	uint64_t phdr, phnum, vdso; /* values of the auxiliary vector */
};

/* Adds the part of [from, to) that the file has, as whole pages of one segment. */
static void summary_want(struct plan *p, uint64_t from, uint64_t to)
{
	const Elf64_Phdr *segment = elf_core_segment_at(p->core, from);
	struct summary *s = p->s;

	if (!segment || !segment->p_filesz || p->core->file_size <= segment->p_offset)
		return;
	uint64_t file_end = MIN(segment->p_filesz, p->core->file_size - segment->p_offset);
	uint64_t start = (from & ~(uint64_t)(PAGE - 1));
	start = start > segment->p_vaddr ? start - segment->p_vaddr : 0;
	uint64_t size = MIN(to > segment->p_vaddr ? to - segment->p_vaddr : 0, file_end);
	size = MIN((size + PAGE - 1) & ~(uint64_t)(PAGE - 1), file_end);
	if (size <= start || s->n_ranges == SUMMARY_RANGES_MAX ||
	    p->total + (size - start) > SUMMARY_MEMORY_MAX)
		return;
	if (s->n_ranges == s->room) {
		size_t room = MAX(2 * s->room, (size_t)64);
		struct summary_range *more = realloc(s->ranges, room * sizeof(*more));

		if (!more)
			return;
		s->ranges = more;
		s->room = room;
	}
	p->total += size - start;
	s->ranges[s->n_ranges++] = (struct summary_range){
		.address = segment->p_vaddr + start,
		.offset = segment->p_offset + start,
		.size = size - start,
		.flags = segment->p_flags,
	};
}

static void want_bytes(struct plan *p, uint64_t address, uint64_t size)
{
	if (address <= UINT64_MAX - size)
		summary_want(p, address, address + size);
}

/* --- Threads --- */

static void want_stack(struct plan *p, uint64_t sp, uint64_t max)
{
	const Elf64_Phdr *segment = elf_core_segment_at(p->core, sp);
	uint64_t from = sp >= RED_ZONE ? sp - RED_ZONE : sp;

	if (!segment && sp <= UINT64_MAX - p->core->page_size) {
		/*
		 * On a stack overflow the pointer is already below its stack, in the guard page,
		 * which may have 64 KiB.
		 */
		segment = elf_core_segment_at(p->core, sp + p->core->page_size);
		from = segment ? segment->p_vaddr : 0;
	}
	if (!segment)
		return;
	from = MAX(from, segment->p_vaddr);
	summary_want(p, from,
		     MIN(segment->p_vaddr + segment->p_memsz, from + MIN(max, UINT64_MAX - from)));
}

/* A word that every signal frame contains, and how many words before it the stack pointer is. */
struct mark {
	uint16_t machine;
	uint64_t word;
	size_t sp_before;
};

static const struct mark marks[] = {
	/* cs, gs, fs, ss of 64-bit programs; before: eflags, rip, rsp */
	{ EM_X86_64, 0x002b000000000033, 3 },
	/* FPSIMD_MAGIC and its size; before: padding, pstate, pc, sp */
	{ EM_AARCH64, 0x0000021046508001, 4 },
};

static const struct mark *mark_of(uint16_t machine)
{
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (marks[i].machine == machine)
			return &marks[i];
	return NULL;
}

/*
 * Finds the stack that crashed by the signal frames. Handlers of SIGSEGV run on a stack of their
 * own, and Ray's workers have two handlers that raise the signal again.
 */
static void want_interrupted_stacks(struct plan *p, uint64_t sp)
{
	const struct mark *mark = mark_of(p->core->machine);
	uint64_t words[MARK_WORDS_BEFORE + PAGE / 8] = { 0 };
	unsigned int found = 0;
	size_t n;

	sp &= ~(uint64_t)7;
	/*
	 * The search goes to the end of each page, because the last page may be the last one of the
	 * stack.
	 */
	for (uint64_t end = sp + HANDLER_STACK_MAX; mark && sp < end && found < HANDLERS_MAX;
	     sp += n * 8) {
		n = (PAGE - sp % PAGE) / 8;
		if (elf_core_read_memory(p->core, sp, words + MARK_WORDS_BEFORE, n * 8) < 0)
			return;
		for (size_t i = MARK_WORDS_BEFORE;
		     i < MARK_WORDS_BEFORE + n && found < HANDLERS_MAX; i++)
			if (words[i] == mark->word) {
				want_stack(p, words[i - mark->sp_before],
					   SUMMARY_CRASHED_STACK_MAX);
				found++;
			}
		memmove(words, words + n, MARK_WORDS_BEFORE * sizeof(words[0]));
	}
}

static int summary_take_note(const struct elf_core *core, const struct elf_note *note, void *arg)
{
	struct plan *p = arg;
	struct elf_thread thread;
	Elf64_auxv_t entry;

	if (elf_core_thread(core, note, &thread)) {
		bool crashed = p->threads++ == 0;

		want_stack(p, thread.sp, crashed ? SUMMARY_CRASHED_STACK_MAX : SUMMARY_STACK_MAX);
		if (crashed)
			want_interrupted_stacks(p, thread.sp);
		for (unsigned int i = 0; crashed && i < thread.n_registers; i++)
			want_bytes(p, thread.registers[i], PAGE);
	} else if (note->type == NT_AUXV)
		for (uint64_t i = 0; i < MIN(note->size / sizeof(entry), (uint64_t)AUXV_MAX); i++) {
			if (elf_core_read(core, note->desc + i * sizeof(entry), &entry,
					  sizeof(entry)) < 0)
				break;
			if (entry.a_type == AT_PHDR)
				p->phdr = entry.a_un.a_val;
			else if (entry.a_type == AT_PHNUM)
				p->phnum = entry.a_un.a_val;
			else if (entry.a_type == AT_SYSINFO_EHDR)
				p->vdso = entry.a_un.a_val;
		}
	return 0;
}

/* --- Loaded modules: from the program's headers to its dynamic section to the linker's list --- */

/* Returns the address of the program's dynamic section, or 0 if it has none. */
static uint64_t find_dynamic(const struct plan *p)
{
	uint64_t base = 0, dynamic = 0;

	for (uint64_t i = 0; i < MIN(p->phnum, (uint64_t)64); i++) {
		Elf64_Phdr h;

		if (elf_core_read_memory(p->core, p->phdr + i * sizeof(h), &h, sizeof(h)) < 0)
			return 0;
		if (h.p_type == PT_PHDR)
			base = p->phdr - h.p_vaddr;
		else if (h.p_type == PT_DYNAMIC)
			dynamic = h.p_vaddr;
	}
	return dynamic ? base + dynamic : 0;
}

static uint64_t find_debug(struct plan *p, uint64_t dynamic)
{
	for (unsigned int i = 0; i < DYNAMIC_MAX; i++) {
		Elf64_Dyn d;

		if (elf_core_read_memory(p->core, dynamic + i * sizeof(d), &d, sizeof(d)) < 0 ||
		    d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_DEBUG)
			return d.d_un.d_ptr;
	}
	return 0;
}

static void want_modules(struct plan *p)
{
	uint64_t dynamic = p->phdr ? find_dynamic(p) : 0,
		 debug = dynamic ? find_debug(p, dynamic) : 0, at;
	struct r_debug head;

	want_bytes(p, p->phdr, PAGE);
	if (!debug || elf_core_read_memory(p->core, debug, &head, sizeof(head)) < 0)
		return;
	want_bytes(p, dynamic, DYNAMIC_MAX * sizeof(Elf64_Dyn));
	want_bytes(p, debug, sizeof(head));
	at = (uint64_t)(uintptr_t)head.r_map;
	for (unsigned int n = 0; at && n < SUMMARY_MODULES_MAX; n++) {
		struct link_map map;

		if (elf_core_read_memory(p->core, at, &map, sizeof(map)) < 0)
			return;
		want_bytes(p, at, sizeof(map));
		want_bytes(p, (uint64_t)(uintptr_t)map.l_name, NAME_ROOM);
		want_bytes(p, map.l_addr, PAGE); /* its ELF header and build ID */
		want_bytes(p, (uint64_t)(uintptr_t)map.l_ld, PAGE);
		at = (uint64_t)(uintptr_t)map.l_next;
	}
}

/* Sorts the ranges; then those that touch are joined. */

static int summary_by_address(const void *a, const void *b)
{
	const struct summary_range *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void summary_join(struct summary *s)
{
	size_t n = 0;

	if (s->n_ranges)
		qsort(s->ranges, s->n_ranges, sizeof(*s->ranges), summary_by_address);
	for (size_t i = 0; i < s->n_ranges; i++) {
		struct summary_range *last = n ? &s->ranges[n - 1] : NULL, *r = &s->ranges[i];
		uint64_t end = r->address + r->size;

		if (!last || r->address > last->address + last->size ||
		    r->offset - last->offset != r->address - last->address) {
			/*
			 * No kernel writes segments that overlap. If a file has some, the first
			 * counts.
			 */
			if (!last || r->address >= last->address + last->size)
				s->ranges[n++] = *r;
			continue;
		}
		if (end > last->address + last->size)
			last->size = end - last->address;
	}
	s->n_ranges = n;
}

int summary_plan(const struct elf_core *core, struct summary *ret_summary, struct err *err)
{
	struct summary s = { 0 };
	struct plan p = { .core = core, .s = &s };

	elf_core_each_note(core, summary_take_note, &p);
	if (!p.threads)
		return err_set(err, ENODATA, "no thread's registers");
	want_bytes(&p, p.vdso, VDSO_MAX);
	want_modules(&p);
	summary_join(&s);
	*ret_summary = s;
	return 0;
}

void summary_release(struct summary *s)
{
	free(TAKE_PTR(s->ranges));
}
