/* SPDX-License-Identifier: Apache-2.0 */
/* Finds names of addresses in the symbol table of a module. */
#include "sidecar/unwind/symbol_index.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

#define BUCKETS ((size_t)65536) /* for the symbols of a module */

/* Of symbols with the same bytes, the one that libdwfl prefers comes first. */
static int symbol_index_compare(const void *a, const void *b)
{
	const struct indexed_symbol *one = a, *other = b;

	if (one->start != other->start)
		return one->start < other->start ? -1 : 1;
	if (one->end != other->end)
		return one->end < other->end ? -1 : 1;
	return one->rank != other->rank ? other->rank - one->rank : one->number - other->number;
}

static size_t bucket_of(const struct indexed_symbol *s, GElf_Addr low, int shift)
{
	return s->start <= low ? 0 : MIN((s->start - low) >> shift, BUCKETS - 1);
}

/*
 * Sorts n symbols of list into to: first into BUCKETS by their place in the module, which compares
 * nothing, then in each of those, where few are.
 */
static void symbol_index_sort(Dwfl_Module *mod, const struct indexed_symbol *list, size_t n,
			      struct indexed_symbol *to)
{
	static uint32_t ends[BUCKETS + 1]; /* at first ends[i] is where bucket i begins */
	GElf_Addr low = 0, high = 0;
	int shift = 0;

	/* Absolute symbols are elsewhere. */
	dwfl_module_info(mod, NULL, &low, &high, NULL, NULL, NULL, NULL);
	while ((high - low) >> shift >= BUCKETS)
		shift++;
	memset(ends, 0, sizeof(ends));
	for (size_t i = 0; i < n; i++)
		ends[bucket_of(&list[i], low, shift) + 1]++;
	for (size_t i = 1; i < BUCKETS; i++)
		ends[i] += ends[i - 1];
	for (size_t i = 0; i < n; i++)
		to[ends[bucket_of(&list[i], low, shift)]++] = list[i];
	for (size_t i = 0, at = 0; i < BUCKETS; at = ends[i++])
		qsort(to + at, ends[i] - at, sizeof(*to), symbol_index_compare);
}

/* Takes the symbols that libdwfl may choose. Returns their number. */
static size_t symbol_index_read(Dwfl_Module *mod, int n, struct indexed_symbol *list)
{
	size_t taken = 0;

	for (int i = 1; i < n; i++) {
		GElf_Sym sym;
		GElf_Addr at;
		const char *name = dwfl_module_getsym_info(mod, i, &sym, &at, NULL, NULL, NULL);
		int type = name ? GELF_ST_TYPE(sym.st_info) : STT_FILE;

		if (type == STT_SECTION || type == STT_FILE || type == STT_TLS || !name[0] ||
		    sym.st_shndx == SHN_UNDEF)
			continue;
		int bind = GELF_ST_BIND(sym.st_info);
		int rank = bind == STB_GLOBAL ? 3 : bind == STB_WEAK ? 2 : bind != STB_LOCAL;
		GElf_Addr end = at + MIN(sym.st_size, UINT64_MAX - at);
		list[taken++] = (struct indexed_symbol){ at, end, 0, i, rank };
	}
	return taken;
}

static void symbol_index_add(struct symbol_index *index, Dwfl_Module *mod)
{
	struct indexed_module *m = &index->modules[index->n_modules++];
	int n = dwfl_module_getsymtab(mod);
	bool fits = n > 0 && (size_t)n <= SYMBOL_INDEX_MAX - index->n_symbols;
	_cleanup_free_ struct indexed_symbol *read = fits ? calloc((size_t)n, sizeof(*read)) : NULL;

	m->mod = mod;
	m->list = read ? calloc((size_t)n, sizeof(*m->list)) : NULL;
	if (!m->list)
		return;
	index->n_symbols += (size_t)n;
	m->n = symbol_index_read(mod, n, read);
	symbol_index_sort(mod, read, m->n, m->list);
	for (size_t i = 0; i < m->n; i++)
		m->list[i].reach = MAX(m->list[i].end, i ? m->list[i - 1].reach : 0);
}

const char *symbol_index_name(struct symbol_index *index, Dwfl_Module *mod, uint64_t address)
{
	size_t at = 0, low = 0, high, n = 0, found = 0;

	while (at < index->n_modules && index->modules[at].mod != mod)
		at++;
	if (at == index->n_modules && at < SYMBOL_INDEX_MODULES_MAX)
		symbol_index_add(index, mod);
	const struct indexed_symbol *s = at < index->n_modules ? index->modules[at].list : NULL;
	high = s ? index->modules[at].n : 0;
	while (low < high) {
		size_t middle = (low + high) / 2;

		if (s[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (size_t i = low; n < 2 && i-- > 0 && s[i].reach > address;)
		if (s[i].end > address) {
			n += !n || s[i].start != s[found].start || s[i].end != s[found].end;
			found = i;
		}
	if (n == 1)
		return dwfl_module_getsym(mod, s[found].number, &(GElf_Sym){ 0 }, NULL);
	/* A label without a size names what follows it, up to the next symbol. */
	if (!s || n || (low && s[low - 1].start == s[low - 1].reach))
		return dwfl_module_addrname(mod, address);
	return NULL;
}

void symbol_index_release(struct symbol_index *index)
{
	for (size_t i = 0; i < index->n_modules; i++)
		free(index->modules[i].list);
	*index = (struct symbol_index){ 0 };
}
