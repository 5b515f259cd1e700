/* SPDX-License-Identifier: Apache-2.0 */
/* Finds function names and source lines of an address. */
#include "sidecar/unwind/symbols.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/printable.h"
#include "sidecar/unwind/demangle.h"

static void set_source(char *out, size_t size, const char *file, int line)
{
	char text[1024];

	if (!file)
		return;
	if (line > 0)
		snprintf(text, sizeof(text), "%.900s:%d", file, line);
	else
		snprintf(text, sizeof(text), "%.900s", file);
	/* The end of a long path says more than its beginning. */
	copy_printable(out, size, strlen(text) < size ? text : text + strlen(text) - size + 1,
		       MIN(strlen(text), size - 1));
}

/* Takes the linker's name, or else that of the source. */
static void set_die_name(struct symbol *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	if (name)
		demangle(name, s->function, sizeof(s->function));
}

static int symbols_number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0 ||
	    value > 100000000)
		return 0;
	return (int)value;
}

/* Sets the place where an inlined function was called. */
static void set_call_site(struct symbol *s, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	int file = symbols_number_of(inlined, DW_AT_call_file),
	    line = symbols_number_of(inlined, DW_AT_call_line);
	Dwarf_Files *files;
	size_t n;

	s->source[0] = '\0';
	if (line > 0 && dwarf_getsrcfiles(unit, &files, &n) == 0 && (size_t)file < n)
		set_source(s->source, sizeof(s->source),
			   dwarf_filesrc(files, (size_t)file, NULL, NULL), line);
}

#define SCOPES_MAX 64 /* nested */
#define DIES_MAX 4000000 /* limit for one address */

enum scope { SCOPE_NONE, SCOPE_OF_CODE, SCOPE_OF_NAMES };

static enum scope scope_of(Dwarf_Die *die)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return SCOPE_OF_CODE;
	case DW_TAG_namespace:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type: /* in Rust these have methods */
		return SCOPE_OF_NAMES;
	default:
		return SCOPE_NONE;
	}
}

struct descent {
	Dwarf_Addr address;
	/* The functions that contain the address, outermost first, inlined ones included */
	Dwarf_Die *functions;
	size_t n;
	size_t looked_at;
};

/*
 * dwarf_getscopes() is not used, because for an inlined function it gives up if it cannot find the
 * function's own scopes, as with closures of Rust.
 */
static bool symbols_descend(struct descent *d, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth == SCOPES_MAX || dwarf_child(parent, &die) != 0)
		return false;
	do {
		enum scope scope = scope_of(&die);
		bool holds = scope == SCOPE_OF_CODE && dwarf_haspc(&die, d->address) > 0;

		if (++d->looked_at > DIES_MAX)
			return false;
		if (holds && dwarf_tag(&die) != DW_TAG_lexical_block && d->n <= SYMBOLS_INLINED_MAX)
			d->functions[d->n++] = die;
		/* Only one entry contains the address; the search continues inside of it. */
		if (holds) {
			symbols_descend(d, &die, depth + 1);
			return true;
		}
		if ((scope == SCOPE_OF_NAMES || (scope == SCOPE_OF_CODE && depth == 0)) &&
		    symbols_descend(d, &die, depth + 1))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

/* Replaces the symbol by those of the functions that contain the address. */
static size_t add_inlined(Dwarf_Die *unit, Dwarf_Addr address, struct symbol *out)
{
	Dwarf_Die functions[SYMBOLS_INLINED_MAX + 1];
	struct descent d = { .address = address, .functions = functions };
	size_t at = 0;

	symbols_descend(&d, unit, 0);
	while (d.n > 1 && at < SYMBOLS_INLINED_MAX) {
		Dwarf_Die *innermost = &functions[--d.n];

		if (dwarf_tag(innermost) != DW_TAG_inlined_subroutine)
			break;
		/*
		 * The symbol table has named the outermost function, so its entry moves outwards.
		 */
		out[at + 1] = out[at];
		out[at].function[0] = '\0';
		set_die_name(&out[at], innermost);
		out[at].inlined = true;
		set_call_site(&out[at + 1], unit, innermost);
		at++;
	}
	if (d.n > 0 && !out[at].function[0])
		set_die_name(&out[at], &functions[0]);
	return at + 1;
}

/*
 * Removes what linker and optimizer add: "pthread_create@@GLIBC_2.34", "f(int) [clone
 * .constprop.0]", "g.part.0".
 */
static void drop_suffix(char *function)
{
	static const char *const suffixes[] = { "@",	  " [clone ", ".constprop.", ".isra.",
						".part.", ".cold",    ".lto_priv.",  ".llvm." };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		char *at = strstr(function, suffixes[i]);

		if (at && at > function)
			*at = '\0';
	}
}

static size_t symbols_look_up(struct symbols *symbols, Dwarf_Addr address, struct symbol *out)
{
	Dwfl_Module *mod = unwinder_module(symbols->u, address);
	const struct module *m = modules_at(symbols->u->modules, address);
	Dwarf_Addr bias = 0;
	Dwarf_Die *unit;
	int number = 0;

	out[0] = (struct symbol){ 0 };
	if (!mod)
		return 1;
	/*
	 * Lines of the runtime do not help users, and reading them (libc6-dbg unpacks to 10 MiB)
	 * takes longer than everything else. Of a large program, debug information and the index
	 * may not both fit into memory. So the index comes last: without it libdwfl finds names.
	 */
	unit = m && !module_is_runtime(m) ? dwfl_module_addrdie(mod, address, &bias) : NULL;
	const char *name = symbol_index_name(&symbols->index, mod, address);
	if (name) {
		demangle(name, out[0].function, sizeof(out[0].function));
		drop_suffix(out[0].function);
	}
	if (!unit)
		return 1;
	Dwfl_Line *line = dwfl_module_getsrc(mod, address);
	name = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	set_source(out[0].source, sizeof(out[0].source), name, number);
	return add_inlined(unit, address - bias, out);
}

void symbols_init(struct symbols *symbols, const struct unwinder *u)
{
	*symbols = (struct symbols){ .u = u };
}

void symbols_release(struct symbols *symbols)
{
	for (size_t i = 0; i < SYMBOLS_CACHED; i++)
		free(symbols->cache[i].list);
	symbol_index_release(&symbols->index);
	*symbols = (struct symbols){ 0 };
}

size_t symbols_of(struct symbols *symbols, const struct frame *frame,
		  struct symbol out[static SYMBOLS_INLINED_MAX + 1])
{
	uint64_t address = frame->exact ? frame->pc : frame->pc - 1;
	__typeof__(&symbols->cache[0]) slot =
		&symbols->cache[(address ^ address >> 12) % SYMBOLS_CACHED];
	struct symbol *list;

	if (slot->list && slot->address == address) {
		memcpy(out, slot->list, slot->n * sizeof(*out));
		return slot->n;
	}
	size_t n = symbols_look_up(symbols, address, out);
	list = malloc(n * sizeof(*list));
	if (list) {
		memcpy(list, out, n * sizeof(*list));
		free(slot->list);
		slot->list = list;
		slot->address = address;
		slot->n = n;
	}
	return n;
}

uint64_t symbols_address(Dwfl_Module *mod, const char *name)
{
	int n = dwfl_module_getsymtab(mod);

	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		const char *found =
			dwfl_module_getsym_info(mod, i, &sym, &address, NULL, NULL, NULL);

		if (found && sym.st_shndx != SHN_UNDEF && strcmp(found, name) == 0)
			return address;
	}
	return 0;
}
