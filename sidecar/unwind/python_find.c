/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a process had a CPython interpreter, and where. */
#include "sidecar/unwind/python_find.h"

#include <stdio.h>
#include <string.h>

#include "sidecar/unwind/symbols.h"

/* "libpython3.11.so.1.0" before "python3.11", which may be but a small program that links it. */
static const struct module *find_module(const struct modules *modules)
{
	static const char *const prefixes[] = { "libpython3", "python" };

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		for (size_t k = 0; k < modules->n; k++)
			if (strncmp(module_name(&modules->list[k]), prefixes[i], strlen(prefixes[i])) == 0)
				return &modules->list[k];
	return NULL;
}

/* Py_Version is there from 3.11 on; before, file names tell. */
static unsigned int find_minor(const struct unwinder *u, const struct module *m, Dwfl_Module *mod)
{
	uint64_t at = symbols_address(mod, "Py_Version"), version = 0;
	unsigned int minor = 0;

	if (at && modules_read(u->modules, at, &version, sizeof(version)) == sizeof(version) && version >> 24 == 3)
		return (unsigned int)(version >> 16 & 0xff);
	minor = python_minor_in_name(module_name(m));
	for (size_t i = 0; i < u->modules->n && !minor; i++)
		minor = python_minor_in_name(module_name(&u->modules->list[i]));
	return minor;
}

bool python_find(struct python *py, const struct unwinder *u)
{
	const struct module *m = find_module(u->modules);
	Dwfl_Module *mod = m ? unwinder_module(u, m->start) : NULL;
	struct python_symbols symbols;

	*py = (struct python){ 0 };
	if (!m)
		return false;
	if (!mod) {
		snprintf(py->why, sizeof(py->why), "%.80s: %s", module_name(m), m->why ? m->why : "cannot be read");
		return true;
	}
	symbols = (struct python_symbols){
		.runtime = symbols_address(mod, "_PyRuntime"),
		.code_type = symbols_address(mod, "PyCode_Type"),
		.string_type = symbols_address(mod, "PyUnicode_Type"),
		.bytes_type = symbols_address(mod, "PyBytes_Type"),
	};
	python_open(py, u->modules, &symbols, find_minor(u, m, mod));
	return true;
}
