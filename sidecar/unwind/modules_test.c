/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of finding modules: where a program begins if the core has its first page. */
#include "sidecar/unwind/modules.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <elf.h>
#include <string.h>
#include <sys/mman.h>

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_module_begins_where_the_kernels_pages_say),
	};

	return cmocka_run_group_tests_name("modules", tests, NULL, NULL);
}
