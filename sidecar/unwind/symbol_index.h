/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds names of addresses in the symbol table of a module.
 *
 * Theory of operation. libdwfl goes through the whole table for each address. Ray's library has
 * 94,000 symbols, and a process of Ray waits at some 60 addresses in it. So a table is read once
 * and sorted here. Where symbols overlap in part, libdwfl is asked. The name is always the one that
 * it gives, but a symbol that contains the address comes before a label without a size.
 */
#pragma once

#include <elfutils/libdwfl.h>
#include <stdint.h>

#define SYMBOL_INDEX_MODULES_MAX 64
/*
 * Symbols of all modules: 8 MiB of the 48 MiB that afterglow-unwind may have, and at most as much
 * again while they are sorted. Where there is no memory for them, or where there are more, libdwfl
 * searches.
 */
#define SYMBOL_INDEX_MAX 262144

struct indexed_symbol {
	uint64_t start, end; /* equal: it has no size */
	uint64_t reach; /* the highest end of the symbols up to this one */
	int number; /* in the module's table */
	int rank; /* the higher, the rather it is taken */
};

struct indexed_module {
	Dwfl_Module *mod;
	struct indexed_symbol *list; /* by start; NULL: it has no index */
	size_t n;
};

struct symbol_index {
	struct indexed_module modules[SYMBOL_INDEX_MODULES_MAX];
	size_t n_modules, n_symbols;
};

/*
 * Returns the name as the table has it, which belongs to libdwfl; NULL if there is none. The index
 * may be all zeros at first.
 */
const char *symbol_index_name(struct symbol_index *index, Dwfl_Module *mod, uint64_t address);
void symbol_index_release(struct symbol_index *index);
