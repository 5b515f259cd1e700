/* SPDX-License-Identifier: Apache-2.0 */
/* Function names and source lines of an address. */
#include "sidecar/unwind/symbols.h"

#include <dwarf.h>
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
	/* Of a long path the end says more. */
	copy_printable(out, size, strlen(text) < size ? text : text + strlen(text) - size + 1, MIN(strlen(text), size - 1));
}

/* The name that the linker knows, else the source's own. */
static void set_die_name(struct symbol *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		name = dwarf_formstring(&attr);
	if (!name)
		name = dwarf_diename(die);
	if (name)
		demangle(name, s->function, sizeof(s->function));
}

static int number_of(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	if (!dwarf_attr(die, name, &attr) || dwarf_formudata(&attr, &value) != 0 || value > 100000000)
		return 0;
	return (int)value;
}

/* Where an inlined function was called. */
static void set_call_site(struct symbol *s, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	int file = number_of(inlined, DW_AT_call_file), line = number_of(inlined, DW_AT_call_line);
	Dwarf_Files *files;
	size_t n;

	s->source[0] = '\0';
	if (line > 0 && dwarf_getsrcfiles(unit, &files, &n) == 0 && (size_t)file < n)
		set_source(s->source, sizeof(s->source), dwarf_filesrc(files, (size_t)file, NULL, NULL), line);
}

/* Replaces the one symbol by those of the scopes around the address. */
static size_t add_inlined(Dwarf_Die *unit, Dwarf_Addr address, struct symbol *out)
{
	_cleanup_free_ Dwarf_Die *innermost = NULL, *scopes = NULL;
	int n = dwarf_getscopes(unit, address, &innermost);
	size_t at = 0;

	/* Those around the innermost one; dwarf_getscopes goes on where an inlined function was defined instead. */
	n = n > 0 ? dwarf_getscopes_die(&innermost[0], &scopes) : 0;
	for (int i = 0; i < n && at < SYMBOLS_INLINED_MAX; i++) {
		int tag = dwarf_tag(&scopes[i]);

		if (tag == DW_TAG_subprogram) {
			if (!out[at].function[0])
				set_die_name(&out[at], &scopes[i]);
			return at + 1;
		}
		if (tag != DW_TAG_inlined_subroutine)
			continue;
		/* What the symbol table said is the outer function: it moves outwards. */
		out[at + 1] = out[at];
		out[at].function[0] = '\0';
		set_die_name(&out[at], &scopes[i]);
		out[at].inlined = true;
		set_call_site(&out[at + 1], unit, &scopes[i]);
		at++;
	}
	return at + 1;
}

/* "pthread_create@@GLIBC_2.34": the version is the linker's business. */
static void drop_version(char *function)
{
	char *at = strchr(function, '@');

	if (at && at > function)
		*at = '\0';
}

size_t symbols_of(const struct unwinder *u, const struct frame *frame, struct symbol out[static SYMBOLS_INLINED_MAX + 1])
{
	Dwarf_Addr address = frame->exact ? frame->pc : frame->pc - 1, bias = 0;
	Dwfl_Module *mod = unwinder_module(u, address);
	const char *name;
	GElf_Off offset;
	GElf_Sym sym;
	Dwfl_Line *line;
	Dwarf_Die *unit;
	int number = 0;

	out[0] = (struct symbol){ 0 };
	if (!mod)
		return 1;
	name = dwfl_module_addrinfo(mod, address, &offset, &sym, NULL, NULL, NULL);
	if (name) {
		demangle(name, out[0].function, sizeof(out[0].function));
		drop_version(out[0].function);
	}
	unit = dwfl_module_addrdie(mod, address, &bias);
	if (!unit)
		return 1;
	line = dwfl_module_getsrc(mod, address);
	name = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	set_source(out[0].source, sizeof(out[0].source), name, number);
	return add_inlined(unit, address - bias, out);
}

uint64_t symbols_address(Dwfl_Module *mod, const char *name)
{
	int n = dwfl_module_getsymtab(mod);

	for (int i = 0; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr address;
		const char *found = dwfl_module_getsym_info(mod, i, &sym, &address, NULL, NULL, NULL);

		if (found && sym.st_shndx != SHN_UNDEF && strcmp(found, name) == 0)
			return address;
	}
	return 0;
}
