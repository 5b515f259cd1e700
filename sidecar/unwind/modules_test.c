/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding modules: where a program begins if the core has its first page. */
#include "sidecar/unwind/modules.h"

#include <elf.h>
#include <gelf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "sidecar/unwind/core_machine.h"

#define START 0x7f0000000000

/*
 * A program whose first segment begins within a large page, as the kernel maps it: from the start
 * of that page.
 */
struct first_page {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	Elf64_Nhdr note;
	char name[4];
	uint8_t build_id[4];
};

static struct first_page page_of(uint64_t first_address, uint64_t align)
{
	return (struct first_page){
		.header = {
			.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
			.e_phoff = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 2,
		},
		.segments = {
			{ .p_type = PT_LOAD, .p_vaddr = first_address, .p_align = align },
			{ .p_type = PT_NOTE, .p_vaddr = offsetof(struct first_page, note),
			  .p_filesz = sizeof(struct first_page) - offsetof(struct first_page, note) },
		},
		.note = { 4, 4, NT_GNU_BUILD_ID }, .name = "GNU", .build_id = { 1, 2, 3, 4 },
	};
}

static void a_module_begins_where_the_kernels_pages_say(void **state)
{
	static const struct {
		uint64_t page_size, first_address, align, low;
	} rows[] = {
		{ 4096, 0, 0x1000, START },
		{ 16384, 0x2000, 0x1000, START },
		{ 65536, 0x4000, 0x10000, START },
		{ 65536, 0x24000, 0x10000, START },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct first_page page = page_of(rows[i].first_address, rows[i].align);
		struct core_segment segment = {
			START, START + 0x10000, 0,    sizeof(page), sizeof(page),
			true,  false,		true, false
		};
		struct core_map map = { START, START + 0x10000, 0, "/lib/x.so" };
		_cleanup_close_ int fd = memfd_create("core", MFD_CLOEXEC);
		struct core core = {
			.elf = { .fd = fd, .file_size = sizeof(page), .page_size = rows[i].page_size },
			.machine = core_machine_of(EM_X86_64), .segments = &segment, .n_segments = 1, .maps = &map, .n_maps = 1,
		};
		struct files none = { .socket_fd = -1 };
		struct modules modules;

		/*
		 * The note has its own address: below that of the first segment it would not be
		 * mapped.
		 */
		page.segments[1].p_vaddr += rows[i].first_address & -rows[i].page_size;
		assert_int_equal(fd_write_all(fd, &page, sizeof(page), NULL), 0);
		core.cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
		assert_int_equal(modules_find(&modules, &core, &none, NULL), 0);
		assert_int_equal(modules.n, 1);
		assert_int_equal(modules.list[0].low, rows[i].low);
		assert_int_equal(modules.list[0].build_id_len, 4);
		modules_release(&modules);
		free(core.cache);
	}
}

/* A library with these sections, in memory as the vDSO is. */
struct sections {
	Elf64_Ehdr header;
	Elf64_Shdr sections[4];
	char names[48];
};

static bool has_section(Elf *elf, const char *wanted)
{
	Elf_Scn *s = NULL;
	GElf_Shdr header;
	size_t names;

	assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
	while ((s = elf_nextscn(elf, s)) && gelf_getshdr(s, &header))
		if (strcmp(elf_strptr(elf, names, header.sh_name), wanted) == 0)
			return true;
	return false;
}

/* libdw finds .eh_frame by its name, and uses no table that comes after it. */
static void unwind_information_without_its_table_is_not_found_by_its_name(void **state)
{
	static const struct {
		const char *first, *second;
		bool found;
	} rows[] = {
		{ ".eh_frame_hdr", ".eh_frame", true }, /* as of GNU ld */
		{ ".eh_frame", ".eh_frame_hdr", false }, /* as of gold */
		{ ".eh_frame", ".data", true },
		{ ".text", ".eh_frame", true },
	};
	struct core core = { .machine = core_machine_of(EM_X86_64) };

	(void)state;
	elf_version(EV_CURRENT);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct sections s = {
			.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
				    .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(s.header), .e_shoff = offsetof(struct sections, sections),
				    .e_shentsize = sizeof(s.sections[0]), .e_shnum = ARRAY_SIZE(s.sections), .e_shstrndx = 3 },
			.sections = {
				[1] = { .sh_type = SHT_PROGBITS, .sh_name = 1 }, [2] = { .sh_type = SHT_PROGBITS, .sh_name = 24 },
				[3] = { .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct sections, names), .sh_size = sizeof(s.names) },
			},
		};
		struct module m = { .memory = &s, .memory_len = sizeof(s) };
		struct modules modules = { .core = &core, .list = &m, .n = 1 };

		memcpy(s.names + 1, rows[i].first, strlen(rows[i].first));
		memcpy(s.names + 24, rows[i].second, strlen(rows[i].second));
		assert_true(module_open(&modules, &m));
		if (has_section(m.elf, ".eh_frame") != rows[i].found)
			fail_msg("%s before %s", rows[i].first, rows[i].second);
		elf_end(m.elf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_begins_where_the_kernels_pages_say),
		cmocka_unit_test(unwind_information_without_its_table_is_not_found_by_its_name),
	};

	return cmocka_run_group_tests_name("modules", tests, NULL, NULL);
}
