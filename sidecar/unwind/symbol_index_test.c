/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of names of addresses: libdwfl finds them by a search through the whole table, and they
 * have to be the same.
 */
#include "sidecar/unwind/symbol_index.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "lib/macros.h"

#define BASE 0x10000000
#define CODE 0x1000
#define CODE_SIZE 0x400
#define SYMBOLS 120
#define LOCALS 60
#define NAME_SIZE 8
#define LIBRARIES 40

/* A library whose symbols overlap, have several names, or have no size. */
struct library {
	Elf64_Ehdr header;
	Elf64_Phdr load;
	Elf64_Shdr sections[4];
	Elf64_Sym symbols[SYMBOLS];
	char names[SYMBOLS][NAME_SIZE];
};

static unsigned int next_random(unsigned int *seed)
{
	*seed = *seed * 1103515245 + 12345;
	return *seed >> 16;
}

static void library_fill(struct library *l, unsigned int seed)
{
	*l = (struct library){
		.header = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT }, .e_type = ET_DYN,
			    .e_machine = EM_X86_64, .e_version = EV_CURRENT, .e_ehsize = sizeof(l->header), .e_phoff = offsetof(struct library, load),
			    .e_phentsize = sizeof(l->load), .e_phnum = 1, .e_shoff = offsetof(struct library, sections),
			    .e_shentsize = sizeof(l->sections[0]), .e_shnum = ARRAY_SIZE(l->sections), .e_shstrndx = 3 },
		.load = { .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_memsz = CODE + CODE_SIZE, .p_filesz = sizeof(*l), .p_align = 4096 },
		.sections = {
			[1] = { .sh_type = SHT_NOBITS, .sh_flags = SHF_ALLOC | SHF_EXECINSTR, .sh_addr = CODE, .sh_size = CODE_SIZE },
			[2] = { .sh_type = SHT_SYMTAB, .sh_offset = offsetof(struct library, symbols), .sh_size = sizeof(l->symbols), .sh_link = 3,
				.sh_info = LOCALS, .sh_entsize = sizeof(l->symbols[0]) },
			[3] = { .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct library, names), .sh_size = sizeof(l->names) },
		},
	};
	for (unsigned int i = 1; i < SYMBOLS; i++) {
		unsigned char binding = i < LOCALS	       ? STB_LOCAL :
					next_random(&seed) % 2 ? STB_GLOBAL :
								 STB_WEAK;

		snprintf(l->names[i], NAME_SIZE, "s%u", i);
		l->symbols[i] = (Elf64_Sym){
			.st_name = i * NAME_SIZE,
			.st_info =
				ELF64_ST_INFO(binding, next_random(&seed) % 8 ? STT_FUNC : STT_TLS),
			.st_shndx = 1,
			.st_value = CODE + next_random(&seed) % (CODE_SIZE - 32) / 4 * 4,
			.st_size = next_random(&seed) % 3 * 8,
		};
	}
}

static int debuginfo_find(Dwfl_Module *, void **, const char *, Dwarf_Addr, const char *,
			  const char *, GElf_Word, char **)
{
	return -1;
}

static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_build_id_find_elf,
					  .find_debuginfo = debuginfo_find };

static Dwfl_Module *library_open(unsigned int seed, Dwfl **ret_dwfl)
{
	struct library library;
	int fd = memfd_create("library", MFD_CLOEXEC);
	Dwfl_Module *mod;

	assert_return_code(fd, errno);
	library_fill(&library, seed);
	assert_int_equal(fd_write_all(fd, (const char *)&library, sizeof(library), NULL), 0);
	*ret_dwfl = dwfl_begin(&callbacks);
	assert_non_null(*ret_dwfl);
	mod = dwfl_report_elf(*ret_dwfl, "library", "library", fd, BASE, false);
	assert_non_null(mod);
	assert_int_equal(dwfl_report_end(*ret_dwfl, NULL, NULL), 0);
	assert_int_equal(dwfl_module_getsymtab(mod), SYMBOLS);
	return mod;
}

/* Returns the number of addresses that have a name. */
static size_t names_compare(struct symbol_index *index, unsigned int seed)
{
	Dwfl *dwfl;
	Dwfl_Module *mod = library_open(seed, &dwfl);
	size_t named = 0;

	for (uint64_t at = BASE + CODE; at < BASE + CODE + CODE_SIZE; at++) {
		const char *name = symbol_index_name(index, mod, at);
		GElf_Off offset;
		GElf_Sym sym = { 0 };
		const char *other = dwfl_module_addrinfo(mod, at, &offset, &sym, NULL, NULL, NULL);

		named += name != NULL;
		/*
		 * libdwfl takes a global label without a size rather than a local symbol that
		 * contains the address.
		 */
		if (name != other && !(name && other && sym.st_size == 0))
			fail_msg("seed %u, 0x%llx: %s, but libdwfl says %s", seed,
				 (unsigned long long)at, name ? name : "nothing",
				 other ? other : "nothing");
	}
	symbol_index_release(index);
	dwfl_end(dwfl);
	return named;
}

static void an_address_has_the_name_that_libdwfl_gives_it(void **state)
{
	(void)state;
	for (unsigned int seed = 1; seed <= LIBRARIES; seed++) {
		struct symbol_index index = { 0 };

		assert_in_range(names_compare(&index, seed), CODE_SIZE / 2, CODE_SIZE);
	}
}

static void what_is_beyond_the_limit_libdwfl_searches(void **state)
{
	struct symbol_index full = { .n_symbols = SYMBOL_INDEX_MAX - SYMBOLS + 1 },
			    index = { .n_symbols = SYMBOL_INDEX_MAX - SYMBOLS };
	Dwfl *dwfl;
	Dwfl_Module *mod = library_open(1, &dwfl);

	(void)state;
	assert_ptr_equal(symbol_index_name(&full, mod, BASE + CODE + 64),
			 symbol_index_name(&index, mod, BASE + CODE + 64));
	assert_null(full.modules[0].list);
	assert_non_null(index.modules[0].list);
	symbol_index_release(&full);
	symbol_index_release(&index);
	dwfl_end(dwfl);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_address_has_the_name_that_libdwfl_gives_it),
		cmocka_unit_test(what_is_beyond_the_limit_libdwfl_searches),
	};

	return cmocka_run_group_tests_name("symbol_index", tests, NULL, NULL);
}
