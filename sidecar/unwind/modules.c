/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the programs and libraries that were mapped when the process died, and opens their files.
 */
#include "sidecar/unwind/modules.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define HEADERS_MAX 64 /* program headers that are examined */
#define NOTE_MAX (64 << 10)
#define VDSO_MAX (64 << 10)

/* --- Finding --- */

/* Finds the GNU build id in a note section of len bytes at data. */
static size_t find_build_id(const uint8_t *data, size_t len, uint8_t *out)
{
	Elf64_Nhdr note;

	for (size_t at = 0; at + sizeof(note) <= len;) {
		size_t name_at = at + sizeof(note), data_at, next;

		memcpy(&note, data + at, sizeof(note));
		if (note.n_namesz > len || note.n_descsz > len)
			return 0;
		data_at = name_at + ((note.n_namesz + 3) & ~(size_t)3);
		next = data_at + ((note.n_descsz + 3) & ~(size_t)3);
		if (next > len)
			return 0;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    memcmp(data + name_at, "GNU", 4) == 0 && note.n_descsz > 0 &&
		    note.n_descsz <= BUILD_ID_MAX) {
			memcpy(out, data + data_at, note.n_descsz);
			return note.n_descsz;
		}
		at = next;
	}
	return 0;
}

static void modules_take_note(struct core *core, struct module *m, const Elf64_Phdr *p,
			      uint64_t bias)
{
	_cleanup_free_ uint8_t *data = NULL;

	if (m->build_id_len || p->p_filesz == 0 || p->p_filesz > NOTE_MAX ||
	    !(data = malloc(p->p_filesz)))
		return;
	size_t len = core_read(core, p->p_vaddr + bias, data, p->p_filesz);
	m->build_id_len = find_build_id(data, len, m->build_id);
}

/*
 * Reads the headers in the module's first page, which the core has if coredump_filter's bit 4 is
 * set. Returns false if it is missing.
 */
static bool read_headers(struct core *core, struct module *m)
{
	Elf64_Phdr headers[HEADERS_MAX];
	Elf64_Ehdr header;
	size_t n, i;

	if (core_read(core, m->start, &header, sizeof(header)) != sizeof(header) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	n = MIN((size_t)header.e_phnum, ARRAY_SIZE(headers));
	n = core_read(core, m->start + header.e_phoff, headers, n * sizeof(headers[0])) /
	    sizeof(headers[0]);
	for (i = 0; i < n && headers[i].p_type != PT_LOAD; i++)
		;
	if (i == n)
		return true;
	uint64_t bias = m->start - (headers[i].p_vaddr & -core->elf.page_size);
	m->low = bias + (headers[i].p_vaddr & -(headers[i].p_align ? headers[i].p_align : 1));
	for (i = 0; i < n; i++)
		if (headers[i].p_type == PT_NOTE)
			modules_take_note(core, m, &headers[i], bias);
	return true;
}

static bool has_code(struct core *core, const struct core_map *maps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct core_segment *s = core_segment_at(core, maps[i].start);

		if (s && s->executable)
			return true;
	}
	return false;
}

static struct module *modules_add(struct modules *modules)
{
	if (modules->n == MODULES_MAX) {
		modules->dropped++;
		return NULL;
	}
	struct module *m = &modules->list[modules->n++];
	*m = (struct module){ .fd = -1 };
	return m;
}

/*
 * Adds consecutive mappings of one path. Data files, of which nothing is executable, are skipped.
 */
static size_t add_mapped(struct modules *modules, size_t first)
{
	const struct core_map *maps = modules->core->maps;
	struct module *m;
	size_t n = 1;

	while (first + n < modules->core->n_maps &&
	       strcmp(maps[first].path, maps[first + n].path) == 0 && maps[first + n].offset != 0)
		n++;
	if (has_code(modules->core, maps + first, n) && (m = modules_add(modules))) {
		m->path = maps[first].path;
		m->start = m->low = maps[first].start;
		m->end = maps[first + n - 1].end;
		m->first_map = first;
		m->n_maps = n;
		read_headers(modules->core, m);
	}
	return n;
}

/* Adds the vDSO. It is in no file, but always in the core. */
static void add_vdso(struct modules *modules)
{
	const struct core_segment *s =
		modules->core->vdso ? core_segment_at(modules->core, modules->core->vdso) : NULL;
	uint64_t size = s ? s->end - s->start : 0;
	struct module *m;

	if (size == 0 || size > VDSO_MAX || !(m = modules_add(modules)))
		return;
	m->path = "[vdso]";
	m->start = m->low = s->start;
	m->end = s->end;
	m->memory = malloc(size);
	m->memory_len = m->memory ? core_read(modules->core, s->start, m->memory, size) : 0;
	read_headers(modules->core, m);
}

/* libdwfl requires that each address belongs to one module only. */
static void drop_overlaps(struct modules *modules)
{
	size_t kept = 0;

	for (size_t i = 0; i < modules->n; i++) {
		struct module *m = &modules->list[i];
		uint64_t before = kept ? modules->list[kept - 1].end : 0;

		if (m->start < before) {
			free(m->memory);
			continue;
		}
		if (m->low > m->start || m->low < before)
			m->low = m->start;
		modules->list[kept++] = *m;
	}
	modules->n = kept;
}

int modules_find(struct modules *modules, struct core *core, struct files *files, struct err *err)
{
	size_t room = MIN(core->n_maps + 1, (size_t)MODULES_MAX);

	*modules = (struct modules){ .core = core,
				     .files = files,
				     .list = calloc(room, sizeof(struct module)) };
	if (!modules->list)
		return err_set(err, ENOMEM, "%zu modules", room);
	add_vdso(modules);
	for (size_t i = 0; i < core->n_maps;)
		i += add_mapped(modules, i);
	qsort(modules->list, modules->n, sizeof(*modules->list), core_compare_starts);
	drop_overlaps(modules);
	return 0;
}

void modules_release(struct modules *modules)
{
	for (size_t i = 0; i < modules->n; i++) {
		struct module *m = &modules->list[i];

		if (m->elf)
			elf_end(m->elf);
		closep(&m->fd);
		free(m->memory);
	}
	free(modules->list);
	*modules = (struct modules){ 0 };
}

/* --- Looking up --- */

struct module *modules_at(const struct modules *modules, uint64_t address)
{
	size_t low = 0, high = modules->n;

	while (low < high) {
		size_t middle = (low + high) / 2;
		struct module *m = &modules->list[middle];

		if (address < m->start)
			high = middle;
		else if (address >= m->end)
			low = middle + 1;
		else
			return m;
	}
	return NULL;
}

bool module_is_runtime(const struct module *module)
{
	static const char *const names[] = {
		"libc.so",  "libc-2.",	    "libpthread",  "ld-linux", "libc.musl-",
		"ld-musl-", "libstdc++.so", "libgcc_s.so", "libc++",   "libunwind",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strncmp(module_name(module), names[i], strlen(names[i])) == 0)
			return true;
	return false;
}

bool modules_is_code(const struct modules *modules, uint64_t address)
{
	const struct core_segment *s = core_segment_at(modules->core, address);

	return s && s->executable;
}

const struct module *modules_executable(const struct modules *modules)
{
	return modules->core->program_headers ?
		       modules_at(modules, modules->core->program_headers) :
		       NULL;
}

const char *module_name(const struct module *module)
{
	const char *slash = strrchr(module->path, '/');

	return slash && slash[1] ? slash + 1 : module->path;
}

const char *module_build_id(const struct module *module, char text[static BUILD_ID_TEXT_MAX])
{
	text[0] = '\0';
	for (size_t i = 0; i < module->build_id_len; i++)
		snprintf(text + 2 * i, 3, "%02x", module->build_id[i]);
	return text;
}

/* --- Opening --- */

/*
 * Opens the file of "/x/boom.so (deleted)", which was replaced while it was mapped. The build id
 * will show whether the present file is the same.
 */
static int open_mapped(struct files *files, const char *mapped, const char **ret_why)
{
	static const char deleted[] = " (deleted)";
	size_t len = strlen(mapped), suffix = sizeof(deleted) - 1;
	char path[FILES_PATH_MAX];

	if (len >= sizeof(path) || mapped[0] != '/') {
		*ret_why = "not a path";
		return -1;
	}
	if (len > suffix && strcmp(mapped + len - suffix, deleted) == 0)
		len -= suffix;
	snprintf(path, sizeof(path), "%.*s", (int)len, mapped);
	return files_open(files, path, ret_why);
}

static bool modules_is_for(Elf *elf, const struct core_machine *machine)
{
	const char *ident = elf ? elf_getident(elf, NULL) : NULL;
	const Elf64_Ehdr *header =
		ident && ident[EI_CLASS] == ELFCLASS64 ? elf64_getehdr(elf) : NULL;

	return header && elf_kind(elf) == ELF_K_ELF && header->e_machine == machine->elf &&
	       (header->e_type == ET_EXEC || header->e_type == ET_DYN);
}

static enum module_state modules_verify(const struct module *m, Elf *elf)
{
	const void *bits = NULL;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &bits);

	if (!m->build_id_len || len <= 0)
		return m->build_id_len && m->n_maps ? MODULE_UNUSABLE : MODULE_UNVERIFIED;
	return (size_t)len == m->build_id_len && memcmp(bits, m->build_id, (size_t)len) == 0 ?
		       MODULE_VERIFIED :
		       MODULE_UNUSABLE;
}

/*
 * Takes the name of .eh_frame away where the linker put it before .eh_frame_hdr, as gold does, with
 * which Ray is linked. libdw, which goes by the names first, would not see the latter's table then,
 * and read the former entry by entry: up to 0.8 s for a frame of raylet. Without the name it goes
 * by the program headers. The name is in memory of ours, also with ELF_C_READ_MMAP.
 */
static void modules_prefer_table(Elf *elf)
{
	Elf_Scn *frames = NULL, *s = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) < 0)
		return;
	while ((s = elf_nextscn(elf, s)) && gelf_getshdr(s, &header)) {
		const char *name = elf_strptr(elf, names, header.sh_name) ?: "";

		if (strcmp(name, ".eh_frame") == 0)
			frames = s;
		else if (strcmp(name, ".eh_frame_hdr") == 0)
			break;
	}
	if (s && frames && gelf_getshdr(frames, &header)) {
		header.sh_name = 0;
		gelf_update_shdr(frames, &header);
	}
}

static bool modules_use(struct modules *modules, struct module *m, Elf *elf)
{
	if (!modules_is_for(elf, modules->core->machine))
		m->why = "no ELF file for this machine";
	else if ((m->state = modules_verify(m, elf)) == MODULE_UNUSABLE)
		m->why = "not used: its build id is not the core's, the file was replaced since";
	else {
		modules_prefer_table(elf);
		m->elf = elf;
		return true;
	}
	elf_end(elf);
	return false;
}

bool module_open(struct modules *modules, struct module *m)
{
	if (m->state != MODULE_UNTOUCHED)
		return m->state != MODULE_UNUSABLE;
	m->state = MODULE_UNUSABLE;
	if (m->n_maps == 0) {
		m->why = "not in the core";
		return m->memory_len > 0 &&
		       modules_use(modules, m, elf_memory(m->memory, m->memory_len));
	}
	if (modules->opened == MODULES_OPEN_MAX) {
		m->why = "too many modules";
		return false;
	}
	m->fd = open_mapped(modules->files, m->path, &m->why);
	if (m->fd < 0)
		return false;
	modules->opened++;
	/*
	 * Where possible the file is mapped for reading, which uses the page cache and no memory of
	 * ours.
	 */
	return modules_use(modules, m, elf_begin(m->fd, ELF_C_READ_MMAP, NULL));
}

int module_open_debug(const struct modules *modules, const struct module *module, char *path,
		      size_t size)
{
	char id[BUILD_ID_TEXT_MAX];
	const char *why;

	if (module->build_id_len < 2)
		return -1;
	module_build_id(module, id);
	snprintf(path, size, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
	return files_open(modules->files, path, &why);
}

/* Reads from the file of a module what the core left out because the process had not changed it. */
static size_t read_from_file(struct modules *modules, uint64_t address, void *out, size_t len)
{
	struct module *m = modules_at(modules, address);

	if (!m || m->n_maps == 0 || !module_open(modules, m))
		return 0;
	for (size_t i = m->first_map; i < m->first_map + m->n_maps; i++) {
		const struct core_map *map = &modules->core->maps[i];

		if (address < map->start || address >= map->end)
			continue;
		ssize_t n = pread(m->fd, out, (size_t)MIN((uint64_t)len, map->end - address),
				  (off_t)(map->offset + (address - map->start)));
		return n > 0 ? (size_t)n : 0;
	}
	return 0;
}

size_t modules_read(struct modules *modules, uint64_t address, void *out, size_t len)
{
	size_t n = core_read(modules->core, address, out, len);
	const struct core_segment *s =
		n == len ? NULL : core_segment_at(modules->core, address + n);

	/*
	 * Reads the file only where the core says that it left the memory out. What is missing from
	 * a truncated core must not be replaced.
	 */
	if (!s || address + n - s->start < s->promised)
		return n;
	return n + read_from_file(modules, address + n, (uint8_t *)out + n, len - n);
}
