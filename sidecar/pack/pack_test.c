/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/pack/pack.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cmocka.h>

#include "sidecar/pack/summary.h"

#define PAGE 4096
#define STACK 0x7f0000000000
#define HEAP 0x560000000000
#define STACK_PAGES 8
#define HEAP_SIZE ((uint64_t)64 << 20)
#define NOTES_AT 1024
#define STACK_AT PAGE
#define HEAP_AT (STACK_AT + STACK_PAGES * PAGE)
#define CORE_SIZE (HEAP_AT + HEAP_SIZE)

/*
 * A core as the kernel writes it: one thread, its stack, a heap that is a hole except for its last
 * page, and a mapped file.
 */
struct made {
	Elf64_Ehdr header;
	Elf64_Phdr segments[4];
	char notes[600];
	size_t notes_len;
};

static void add_note(struct made *m, uint32_t type, const void *desc, uint32_t size)
{
	const Elf64_Nhdr h = { .n_namesz = 5, .n_descsz = size, .n_type = type };

	memcpy(m->notes + m->notes_len, &h, sizeof(h));
	memcpy(m->notes + m->notes_len + sizeof(h), "CORE", 5);
	memcpy(m->notes + m->notes_len + sizeof(h) + 8, desc, size);
	m->notes_len += sizeof(h) + 8 + size;
}

static void make_core(struct made *m)
{
	char prstatus[336] = { 0 }, prpsinfo[136] = { 0 };
	const int32_t pid = 4711, tid = 4712;
	const int16_t signal = 11;
	const uint64_t sp = STACK + 6 * PAGE + 100;

	*m = (struct made){
		.header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_CORE,
			    .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr),
			    .e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 4 },
		.segments = {
			{ .p_type = PT_NOTE, .p_offset = NOTES_AT },
			{ .p_type = PT_LOAD, .p_offset = STACK_AT, .p_vaddr = STACK, .p_filesz = STACK_PAGES * PAGE,
			  .p_memsz = STACK_PAGES * PAGE, .p_flags = PF_R | PF_W },
			{ .p_type = PT_LOAD, .p_offset = HEAP_AT, .p_vaddr = HEAP, .p_filesz = HEAP_SIZE, .p_memsz = HEAP_SIZE },
			{ .p_type = PT_LOAD, .p_offset = CORE_SIZE, .p_vaddr = 0x400000, .p_filesz = 0, .p_memsz = PAGE },
		},
	};
	memcpy(prstatus + 12, &signal, sizeof(signal));
	memcpy(prstatus + 32, &tid, sizeof(tid));
	memcpy(prstatus + 112 + 19 * 8, &sp, sizeof(sp));
	memcpy(prpsinfo + 24, &pid, sizeof(pid));
	memcpy(prpsinfo + 40, "ray::IDLE", 10);
	add_note(m, NT_PRSTATUS, prstatus, sizeof(prstatus));
	add_note(m, NT_PRPSINFO, prpsinfo, sizeof(prpsinfo));
	m->segments[0].p_filesz = m->notes_len;
}

static int write_core(const struct made *m)
{
	int fd = memfd_create("core", 0);
	char page[PAGE];

	memset(page, 'S', sizeof(page));
	assert_int_equal(ftruncate(fd, CORE_SIZE), 0);
	assert_int_equal(pwrite(fd, &m->header, sizeof(m->header), 0), sizeof(m->header));
	assert_int_equal(pwrite(fd, m->segments, sizeof(m->segments), sizeof(m->header)),
			 sizeof(m->segments));
	assert_int_equal(pwrite(fd, m->notes, m->notes_len, NOTES_AT), m->notes_len);
	for (int i = 0; i < STACK_PAGES; i++)
		assert_int_equal(pwrite(fd, page, PAGE, STACK_AT + i * PAGE), PAGE);
	assert_int_equal(pwrite(fd, page, PAGE, CORE_SIZE - PAGE), PAGE);
	return fd;
}

static int new_core(void)
{
	struct made m;

	make_core(&m);
	return write_core(&m);
}

/* Packs and unpacks. The caller frees the result. */
static char *pack_and_unpack(int fd, enum pack_mode mode, uint64_t max, struct packed *ret_packed,
			     size_t *ret_size)
{
	int out = memfd_create("out", 0);
	size_t room = CORE_SIZE + PAGE;
	char *file, *text = malloc(room);
	ZSTD_DCtx *zstd = ZSTD_createDCtx();
	struct zstream *z;
	struct err err = { 0 };

	assert_int_equal(zstream_new(out, max, &z, &err), 0);
	if (pack_core(fd, mode, z, ret_packed, &err) < 0)
		fail_msg("%s", err.text);
	zstream_free(z);
	assert_int_equal(lseek(out, 0, SEEK_END), ret_packed->bytes_out);
	file = mmap(NULL, ret_packed->bytes_out, PROT_READ, MAP_PRIVATE, out, 0);
	*ret_size = ZSTD_decompressDCtx(zstd, text, room, file, ret_packed->bytes_out);
	if (ZSTD_isError(*ret_size))
		fail_msg("%s", ZSTD_getErrorName(*ret_size));
	munmap(file, ret_packed->bytes_out);
	ZSTD_freeDCtx(zstd);
	close(out);
	return text;
}

static void a_full_core_comes_back_byte_for_byte_and_its_holes_cost_nothing(void **state)
{
	_cleanup_close_ int fd = new_core();
	_cleanup_free_ char *text = NULL, *original = malloc(CORE_SIZE);
	struct packed p;
	size_t size;

	(void)state;
	text = pack_and_unpack(fd, PACK_FULL, 0, &p, &size);
	assert_int_equal(size, CORE_SIZE);
	assert_int_equal(pread(fd, original, CORE_SIZE, 0), CORE_SIZE);
	assert_memory_equal(text, original, CORE_SIZE);
	assert_true(p.complete);
	assert_int_equal(p.holes + p.bytes_in, CORE_SIZE);
	assert_true(p.holes >= HEAP_SIZE - PAGE);
	assert_true(p.bytes_out < 8192);
	assert_int_equal(strlen(p.sha256), 64);
}

static void a_summary_keeps_notes_and_stack_and_nothing_of_the_heap(void **state)
{
	_cleanup_close_ int fd = new_core(), again = memfd_create("again", 0);
	_cleanup_free_ char *text = NULL;
	struct elf_identity id;
	struct elf_core core;
	struct packed p;
	size_t size;
	char byte = 0;

	(void)state;
	text = pack_and_unpack(fd, PACK_SUMMARY, 0, &p, &size);
	assert_true(p.complete);
	assert_int_equal(write(again, text, size), size);
	assert_int_equal(elf_core_open(again, &core, NULL), 0);
	assert_int_equal(core.should_size, size);
	elf_core_identify(&core, &id);
	assert_int_equal(id.pid, 4711);
	assert_int_equal(id.tid, 4712);
	assert_int_equal(id.signal, 11);
	assert_string_equal(id.comm, "ray::IDLE");
	assert_int_equal(elf_core_read_memory(&core, STACK + 6 * PAGE, &byte, 1), 0);
	assert_int_equal(byte, 'S');
	assert_int_equal(elf_core_read_memory(&core, STACK + 7 * PAGE, &byte, 1), 0);
	assert_int_equal(elf_core_read_memory(&core, STACK + 4 * PAGE, &byte, 1), -ENODATA);
	assert_int_equal(elf_core_read_memory(&core, HEAP + HEAP_SIZE - 1, &byte, 1), -ENODATA);
	assert_non_null(elf_core_segment_at(&core, 0x400000));
	elf_core_close(&core);
}

/*
 * SIGSEGV's handler runs on a stack of its own. It is at the very end of the heap, with the
 * kernel's signal frame above it.
 */
static void a_summary_keeps_the_stack_that_a_handler_interrupted(void **state)
{
	const uint64_t sp = HEAP + HEAP_SIZE - 512;
	const uint64_t frame[] = { STACK + 2 * PAGE + 1000, 0x401000, 0x10246, 0x002b000000000033 };
	_cleanup_close_ int fd = -1, again = memfd_create("again", 0);
	_cleanup_free_ char *text = NULL;
	struct elf_core core;
	struct packed p;
	struct made m;
	size_t size;
	char byte = 0;

	(void)state;
	make_core(&m);
	memcpy(m.notes + sizeof(Elf64_Nhdr) + 8 + 112 + 19 * 8, &sp, sizeof(sp));
	fd = write_core(&m);
	assert_int_equal(pwrite(fd, frame, sizeof(frame), CORE_SIZE - 64), sizeof(frame));
	text = pack_and_unpack(fd, PACK_SUMMARY, 0, &p, &size);
	assert_int_equal(write(again, text, size), size);
	assert_int_equal(elf_core_open(again, &core, NULL), 0);
	assert_int_equal(elf_core_read_memory(&core, sp, &byte, 1), 0);
	assert_int_equal(elf_core_read_memory(&core, STACK + 2 * PAGE, &byte, 1), 0);
	assert_int_equal(elf_core_read_memory(&core, STACK + 7 * PAGE, &byte, 1), 0);
	assert_int_equal(elf_core_read_memory(&core, STACK + PAGE, &byte, 1), -ENODATA);
	elf_core_close(&core);
}

/*
 * The pointer is below the stack, in its guard page, which has the size of the kernel's pages: 64
 * KiB on some arm64 machines.
 */
static void a_summary_keeps_the_stack_that_overflowed(void **state)
{
	static const uint64_t page_sizes[] = { 4096, 16384, 65536 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(page_sizes); i++) {
		const Elf64_auxv_t auxv[] = { { AT_PAGESZ, { page_sizes[i] } },
					      { AT_NULL, { 0 } } };
		const uint64_t sp = STACK - page_sizes[i] + 256;
		_cleanup_close_ int fd = -1, again = memfd_create("again", 0);
		_cleanup_free_ char *text = NULL;
		struct elf_core core;
		struct packed p;
		struct made m;
		size_t size;
		char byte = 0;

		make_core(&m);
		memcpy(m.notes + sizeof(Elf64_Nhdr) + 8 + 112 + 19 * 8, &sp, sizeof(sp));
		add_note(&m, NT_AUXV, auxv, sizeof(auxv));
		m.segments[0].p_filesz = m.notes_len;
		fd = write_core(&m);
		text = pack_and_unpack(fd, PACK_SUMMARY, 0, &p, &size);
		assert_int_equal(write(again, text, size), size);
		assert_int_equal(elf_core_open(again, &core, NULL), 0);
		assert_int_equal(core.page_size, page_sizes[i]);
		assert_int_equal(elf_core_read_memory(&core, STACK, &byte, 1), 0);
		assert_int_equal(byte, 'S');
		elf_core_close(&core);
	}
}

static void a_core_that_was_cut_says_where(void **state)
{
	_cleanup_close_ int fd = new_core();
	_cleanup_free_ char *text = NULL;
	struct packed p;
	size_t size;

	(void)state;
	assert_int_equal(ftruncate(fd, HEAP_AT - PAGE), 0);
	text = pack_and_unpack(fd, PACK_FULL, 0, &p, &size);
	assert_int_equal(size, HEAP_AT - PAGE);
	assert_false(p.complete);
	assert_non_null(strstr(p.why, "core limit"));
	free(TAKE_PTR(text));
	text = pack_and_unpack(fd, PACK_SUMMARY, 0, &p, &size);
	assert_false(p.complete);
}

static void one_that_ends_within_its_headers_is_refused(void **state)
{
	_cleanup_close_ int fd = new_core(), out = memfd_create("out", 0);
	struct zstream *z;
	struct packed p;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_int_equal(zstream_new(out, 0, &z, NULL), 0);
	assert_int_equal(pack_core(fd, PACK_FULL, z, &p, &err), -EPROTO);
	assert_string_equal(err.text, "cut within its headers");
	zstream_free(z);
}

static void what_exceeds_the_maximum_is_cut_and_readable(void **state)
{
	_cleanup_close_ int fd = new_core(), noise = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL, *random = malloc(4 << 20);
	struct packed p;
	size_t size;

	(void)state;
	for (size_t n = 0; n < 4 << 20;)
		n += (size_t)read(noise, random + n, (4 << 20) - n);
	assert_int_equal(pwrite(fd, random, 4 << 20, HEAP_AT), 4 << 20);
	text = pack_and_unpack(fd, PACK_FULL, 2 << 20, &p, &size);
	assert_true(p.bytes_out <= 2 << 20);
	assert_true(size > 1 << 20);
	assert_false(p.complete);
	assert_non_null(strstr(p.why, "more than 2097152 bytes"));
}

static void a_disk_that_is_full_is_an_error(void **state)
{
	_cleanup_close_ int fd = new_core(), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct zstream *z;
	struct packed p;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(zstream_new(full, 0, &z, NULL), 0);
	assert_int_equal(pack_core(fd, PACK_FULL, z, &p, &err), -ENOSPC);
	zstream_free(z);
}

/* Each core has one wrong value. */
static void hostile_cores_give_an_error_or_a_smaller_summary(void **state)
{
	struct elf_core core;
	struct summary s;
	struct made m;
	int fd;

	(void)state;
	for (int lie = 0; lie < 8; lie++) {
		int rc;

		make_core(&m);
		if (lie == 0)
			m.header.e_phnum = PN_XNUM;
		else if (lie == 1)
			m.header.e_phoff = UINT64_MAX - 8;
		else if (lie == 2)
			m.segments[1].p_offset = UINT64_MAX - 1;
		else if (lie == 3)
			m.segments[1].p_memsz = UINT64_MAX;
		else if (lie == 4)
			m.segments[0].p_filesz = INT64_MAX;
		else if (lie == 5)
			((Elf64_Nhdr *)m.notes)->n_descsz = UINT32_MAX;
		else if (lie == 6)
			((Elf64_Nhdr *)m.notes)->n_namesz = UINT32_MAX;
		else
			m.segments[1].p_filesz = m.segments[1].p_memsz + 1;
		fd = write_core(&m);
		rc = elf_core_open(fd, &core, NULL);
		if (rc == 0) {
			rc = summary_plan(&core, &s, NULL);
			for (size_t i = 0; rc == 0 && i < s.n_ranges; i++)
				assert_true(s.ranges[i].offset + s.ranges[i].size <=
					    core.file_size);
			if (rc == 0)
				summary_release(&s);
			elf_core_close(&core);
		}
		assert_true(rc == 0 || rc == -EPROTO || rc == -ENODATA);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_full_core_comes_back_byte_for_byte_and_its_holes_cost_nothing),
		cmocka_unit_test(a_summary_keeps_notes_and_stack_and_nothing_of_the_heap),
		cmocka_unit_test(a_summary_keeps_the_stack_that_a_handler_interrupted),
		cmocka_unit_test(a_summary_keeps_the_stack_that_overflowed),
		cmocka_unit_test(a_core_that_was_cut_says_where),
		cmocka_unit_test(one_that_ends_within_its_headers_is_refused),
		cmocka_unit_test(what_exceeds_the_maximum_is_cut_and_readable),
		cmocka_unit_test(a_disk_that_is_full_is_an_error),
		cmocka_unit_test(hostile_cores_give_an_error_or_a_smaller_summary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
