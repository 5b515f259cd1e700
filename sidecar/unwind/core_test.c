/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading cores that are made here byte by byte, as the kernel writes them and as it never
 * would.
 */
#include "sidecar/unwind/core.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "lib/strbuf.h"

#define NOTES_AT 0x400
#define MEMORY_AT 0x8000

struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[8];
	struct strbuf notes;
	size_t length; /* 0: the whole core */
};

static struct image new_image(void)
{
	struct image i = {
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_type = ET_CORE, .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_phoff = sizeof(Elf64_Ehdr),
			.e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		},
		.segments = { { .p_type = PT_NOTE, .p_offset = NOTES_AT } },
		.notes = STRBUF_INIT(1 << 20),
	};

	return i;
}

static void add_note(struct image *i, uint32_t type, const void *data, size_t len)
{
	const Elf64_Nhdr note = { 5, (Elf64_Word)len, type };
	static const char zeros[8];

	strbuf_add(&i->notes, &note, sizeof(note));
	strbuf_add(&i->notes, "CORE\0\0\0", 8);
	strbuf_add(&i->notes, data, len);
	strbuf_add(&i->notes, zeros, -len & 3);
}

static void add_thread(struct image *i, int32_t tid, uint64_t ip)
{
	uint8_t status[336] = { 0 };

	status[12] = SIGSEGV;
	memcpy(status + 32, &tid, sizeof(tid));
	memcpy(status + 112 + 16 * 8, &ip, sizeof(ip));
	add_note(i, NT_PRSTATUS, status, sizeof(status));
}

static void add_segment(struct image *i, uint64_t address, uint64_t memory, uint64_t offset,
			uint64_t len)
{
	i->segments[i->header.e_phnum++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_vaddr = address,
		.p_memsz = memory,
		.p_offset = offset,
		.p_filesz = len,
		.p_flags = PF_R,
	};
}

/* Writes the core. Each byte of memory is its offset in the file. */
static int write_image(struct image *i)
{
	static uint8_t file[MEMORY_AT + 0x4000];
	int fd = memfd_create("core", MFD_CLOEXEC);

	i->segments[0].p_filesz = i->segments[0].p_filesz ? i->segments[0].p_filesz : i->notes.len;
	memset(file, 0, sizeof(file));
	for (size_t k = MEMORY_AT; k < sizeof(file); k++)
		file[k] = (uint8_t)(k * 7);
	memcpy(file, &i->header, sizeof(i->header));
	memcpy(file + sizeof(i->header), i->segments, sizeof(i->segments));
	assert_in_range(i->notes.len, 0, MEMORY_AT - NOTES_AT);
	if (i->notes.len)
		memcpy(file + NOTES_AT, i->notes.data, i->notes.len);
	assert_return_code(fd, errno);
	assert_return_code(fd_write_all(fd, file, i->length ? i->length : sizeof(file), NULL), 0);
	strbuf_release(&i->notes);
	return fd;
}

static int open_image(struct image *i, struct core *core, struct err *err)
{
	return core_open(core, write_image(i), err);
}

static void done(struct core *core)
{
	int fd = core->elf.fd;

	core_close(core);
	close(fd);
}

static void threads_signal_and_command_come_from_the_notes(void **state)
{
	struct image i = new_image();
	uint8_t info
		[128] = { SIGSEGV, 0, 0, 0, 0, 0, 0, 0, SEGV_MAPERR, 0, 0, 0, 0, 0, 0, 0, 0x18 },
	    process[136] = { [24] = 9 };
	struct core core;

	(void)state;
	memcpy(process + 40, "ray::\x1b[m", 9);
	memcpy(process + 56, "python\0x.py", 12);
	add_thread(&i, 12, 0x1234);
	add_note(&i, NT_PRPSINFO, process, sizeof(process));
	add_note(&i, NT_SIGINFO, info, sizeof(info));
	add_thread(&i, 13, 0x5678);
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.n_threads, 2);
	assert_int_equal(core.threads[0].tid, 12);
	assert_int_equal(core.threads[0].registers[core.machine->pc], 0x1234);
	assert_int_equal(core.threads[1].registers[core.machine->pc], 0x5678);
	assert_int_equal(core.pid, 9);
	assert_string_equal(core.command, "ray::?[m");
	assert_string_equal(core.arguments, "python");
	assert_true(core.has_siginfo && core_is_fault(&core.siginfo));
	assert_int_equal(core.siginfo.address, 0x18);
	assert_string_equal(core_signal_code(core.siginfo.signal, core.siginfo.code),
			    "SEGV_MAPERR");
	assert_false(core.notes_cut);
	done(&core);
}

static void memory_is_read_across_segments_and_not_beyond(void **state)
{
	struct image i = new_image();
	struct core core;
	uint8_t out[64];

	(void)state;
	add_thread(&i, 1, 0);
	add_segment(&i, 0x2000, 0x1000, MEMORY_AT + 0x1000, 0x1000);
	add_segment(&i, 0x1000, 0x1000, MEMORY_AT, 0x1000);
	add_segment(&i, 0x3000, 0x1000, MEMORY_AT + 0x2000, 0x10);
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core_read(&core, 0x1ff0, out, 32), 32);
	for (size_t k = 0; k < 32; k++)
		assert_int_equal(out[k], (uint8_t)((MEMORY_AT + 0xff0 + k) * 7));
	assert_int_equal(core_read(&core, 0x3008, out, 32), 8);
	assert_int_equal(core_read(&core, 0x3010, out, 32), 0);
	assert_int_equal(core_read(&core, 0xfff, out, 1), 0);
	assert_int_equal(core_read(&core, UINT64_MAX - 3, out, 32), 0);
	assert_null(core_segment_at(&core, 0x4000));
	done(&core);
}

static void what_is_missing_of_a_cut_core_is_counted(void **state)
{
	struct image i = new_image();
	struct core core;
	uint8_t out[32];

	(void)state;
	add_thread(&i, 1, 0);
	add_segment(&i, 0x1000, 0x1000, MEMORY_AT, 0x1000);
	add_segment(&i, 0x2000, 0x1000, MEMORY_AT + 0x1000, 0x1000);
	i.length = MEMORY_AT + 0x10;
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.missing, 0x1ff0);
	assert_int_equal(core_read(&core, 0x1008, out, 32), 8);
	assert_int_equal(core_read(&core, 0x2000, out, 32), 0);
	assert_int_equal(core_segment_at(&core, 0x2000)->promised, 0x1000);
	done(&core);
}

static void a_note_that_is_cut_ends_the_reading(void **state)
{
	struct image i = new_image();
	struct core core;

	(void)state;
	add_thread(&i, 1, 0);
	add_thread(&i, 2, 0);
	i.segments[0].p_filesz = i.notes.len - 100;
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.n_threads, 1);
	assert_true(core.notes_cut);
	done(&core);
}

static void mapped_files_are_sorted_and_bounded(void **state)
{
	static const struct {
		uint64_t head[2], entries[3][3];
		char names[24];
	} files = { { 3, 0x1000 },
		    { { 0x3000, 0x4000, 1 }, { 0x1000, 0x3000, 0 }, { 0x9000, 0x8000, 0 } },
		    "/b\0/a\0/c" };
	struct image i = new_image();
	struct core core;

	(void)state;
	add_thread(&i, 1, 0);
	add_note(&i, NT_FILE, &files, sizeof(files));
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.n_maps, 2); /* one of them ends before it begins */
	assert_string_equal(core.maps[0].path, "/a");
	assert_string_equal(core.maps[1].path, "/b");
	assert_int_equal(core.maps[1].offset, 0x1000);
	done(&core);
}

static void a_list_of_files_that_lies_about_its_length_is_left_out(void **state)
{
	const uint64_t counts[] = { UINT64_MAX, UINT64_MAX / 24, 1 << 20, 2 };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(counts); k++) {
		uint64_t files[5] = { counts[k], 0x1000, 0x1000, 0x2000, 0 };
		struct image i = new_image();
		struct core core;

		add_thread(&i, 1, 0);
		add_note(&i, NT_FILE, files, sizeof(files));
		assert_int_equal(open_image(&i, &core, NULL), 0);
		assert_int_equal(core.n_maps, 0);
		done(&core);
	}
}

static void a_name_without_an_end_is_none(void **state)
{
	struct {
		uint64_t head[2], entry[3];
		char name[8];
	} files = { { 1, 0x1000 },
		    { 0x1000, 0x2000, 0 },
		    { '/', 'a', 'a', 'a', 'a', 'a', 'a', 'a' } };
	struct image i = new_image();
	struct core core;

	(void)state;
	add_thread(&i, 1, 0);
	add_note(&i, NT_FILE, &files, sizeof(files));
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.n_maps, 0);
	done(&core);
}

static void segments_that_overlap_or_wrap_are_no_trap(void **state)
{
	struct image i = new_image();
	struct core core;
	uint8_t out[8];

	(void)state;
	add_thread(&i, 1, 0);
	add_segment(&i, 0x1000, 0x3000, MEMORY_AT, 0x3000);
	add_segment(&i, 0x2000, 0x1000, MEMORY_AT + 0x1000, 0x1000);
	add_segment(&i, UINT64_MAX - 0xfff, 0x2000, MEMORY_AT, 0x1000);
	add_segment(&i, 0x8000, UINT64_MAX - 0x8000, UINT64_MAX - 8, UINT64_MAX);
	add_segment(&i, 0x7000, 0x1000, MEMORY_AT + 0x4000, 0x1000);
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core_read(&core, 0x2000, out, 8), 8);
	assert_int_equal(core_read(&core, 0x7000, out, 8), 0);
	assert_int_equal(core_read(&core, 0x9000, out, 8), 0);
	done(&core);
}

static const struct {
	const char *name;
	size_t at;
	uint8_t value;
	int code;
} refused[] = {
	{ "no magic", 0, 'x', EPROTO },
	{ "32 bit", EI_CLASS, ELFCLASS32, ENOTSUP },
	{ "big-endian", EI_DATA, ELFDATA2MSB, ENOTSUP },
	{ "a program", offsetof(Elf64_Ehdr, e_type), ET_EXEC, EPROTO },
	{ "another machine", offsetof(Elf64_Ehdr, e_machine), EM_S390, ENOTSUP },
	{ "small headers", offsetof(Elf64_Ehdr, e_phentsize), 8, EPROTO },
	{ "no headers", offsetof(Elf64_Ehdr, e_phnum), 0, ENODATA },
};

static void other_files_are_refused_with_a_reason(void **state)
{
	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(refused); k++) {
		struct image i = new_image();
		struct err err = { 0 };
		struct core core;

		add_thread(&i, 1, 0);
		((uint8_t *)&i.header)[refused[k].at] = refused[k].value;
		if (open_image(&i, &core, &err) != -refused[k].code || !err.text[0])
			fail_msg("%s: %s", refused[k].name, err_text(&err));
	}
}

static void more_threads_than_are_kept_are_counted(void **state)
{
	struct image i = new_image();
	struct core core;

	(void)state;
	for (int k = 1; k <= 80; k++)
		add_thread(&i, k, (uint64_t)k);
	assert_int_equal(open_image(&i, &core, NULL), 0);
	assert_int_equal(core.threads_seen, 80);
	for (int k = 1; k <= 80; k++)
		assert_int_equal(core.threads[k - 1].tid, k);
	done(&core);
}

static void the_page_size_is_what_the_auxiliary_vector_says_if_a_kernel_can_have_it(void **state)
{
	static const struct {
		uint64_t declared, taken;
	} rows[] = { { 4096, 4096 }, { 16384, 16384 }, { 65536, 65536 },
		     { 0, 4096 },    { 3, 4096 },      { 1ULL << 40, 4096 } };

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
		/* A number of the same kind comes before it under another key. */
		const uint64_t vector[] = { AT_CLKTCK,	      65536,   AT_PAGESZ,
					    rows[k].declared, AT_NULL, 0 };
		struct image i = new_image();
		struct core core;

		add_thread(&i, 1, 0);
		add_note(&i, NT_AUXV, vector, sizeof(vector));
		assert_int_equal(open_image(&i, &core, NULL), 0);
		assert_int_equal(core.elf.page_size, rows[k].taken);
		done(&core);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_signal_and_command_come_from_the_notes),
		cmocka_unit_test(memory_is_read_across_segments_and_not_beyond),
		cmocka_unit_test(what_is_missing_of_a_cut_core_is_counted),
		cmocka_unit_test(a_note_that_is_cut_ends_the_reading),
		cmocka_unit_test(mapped_files_are_sorted_and_bounded),
		cmocka_unit_test(a_list_of_files_that_lies_about_its_length_is_left_out),
		cmocka_unit_test(a_name_without_an_end_is_none),
		cmocka_unit_test(segments_that_overlap_or_wrap_are_no_trap),
		cmocka_unit_test(other_files_are_refused_with_a_reason),
		cmocka_unit_test(more_threads_than_are_kept_are_counted),
		cmocka_unit_test(the_page_size_is_what_the_auxiliary_vector_says_if_a_kernel_can_have_it),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
