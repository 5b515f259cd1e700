/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the programs and libraries that were mapped when the process died: their
 * addresses, their build ids from the core, and their files, which are opened through
 * the container's root when they are first needed. A file with another build id than
 * in the core is not the program that crashed, and is not used.
 */
#pragma once

#include <libelf.h>

#include "sidecar/unwind/core.h"
#include "sidecar/unwind/files.h"

#define MODULES_MAX 8192
#define MODULES_OPEN_MAX 512 /* files open at a time */
#define BUILD_ID_MAX 32
#define BUILD_ID_TEXT_MAX (2 * BUILD_ID_MAX + 1)

enum module_state {
	MODULE_UNTOUCHED, /* its file was not needed yet */
	MODULE_VERIFIED, /* the file is open, and has the build id of the core */
	MODULE_UNVERIFIED, /* the file is open; the core or the file has no build id to compare */
	MODULE_UNUSABLE, /* there is no file to use; `why` gives the reason */
};

struct module {
	uint64_t start, end; /* of all its mappings */
	/*
	 * the address of its first PT_LOAD, aligned as that demands: libdwfl calls it the module's
	 * start
	 */
	uint64_t low;
	const char *path; /* the path of the mapping; owned by the core */
	size_t first_map, n_maps; /* in core->maps; none for the vdso */
	uint8_t build_id[BUILD_ID_MAX];
	size_t build_id_len; /* 0: the core does not hold it */
	enum module_state state;
	const char *why;
	Elf *elf; /* a caller that takes it must call elf_end */
	int fd;
	void *memory; /* of the vdso */
	size_t memory_len;
};

struct modules {
	struct module *list; /* by address, without overlaps */
	size_t n;
	size_t dropped; /* beyond MODULES_MAX */
	struct core *core;
	struct files *files;
	size_t opened;
};

/*
 * Finds the modules; opens nothing. files stays the caller's. modules_release must be called even
 * after a failure.
 */
int modules_find(struct modules *modules, struct core *core, struct files *files, struct err *err);
void modules_release(struct modules *modules);

/* The module that address belongs to, or NULL. */
struct module *modules_at(const struct modules *modules, uint64_t address);

/* Whether code is mapped at address. */
bool modules_is_code(const struct modules *modules, uint64_t address);

/*
 * Opens and checks the file, once; then module->elf is open until a caller takes it. False: there
 * is no file to use.
 */
bool module_open(struct modules *modules, struct module *module);

/*
 * Opens a separate file of debug information, by build id, below /usr/lib/debug of the container.
 * Returns a descriptor, or -1.
 */
int module_open_debug(const struct modules *modules, const struct module *module, char *path,
		      size_t size);

/* Reads memory from the core, or from the file where the core omits what the file has. */
size_t modules_read(struct modules *modules, uint64_t address, void *out, size_t len);

/*
 * Whether it is a library of the runtime of C or C++. Each abort goes through these, and no user
 * reads their lines.
 */
bool module_is_runtime(const struct module *module);

/* The path's last component; "[vdso]". */
const char *module_name(const struct module *module);

/* Writes the build id in hexadecimal; "" if it is not known. Returns text. */
const char *module_build_id(const struct module *module, char text[static BUILD_ID_TEXT_MAX]);

/* The module with the program headers of the process: its executable. NULL: not known. */
const struct module *modules_executable(const struct modules *modules);
