/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the CPython interpreter of a process. */
#include "sidecar/unwind/python_find.h"

#include <stdio.h>
#include <string.h>

#include "lib/printable.h"
#include "sidecar/unwind/symbols.h"

#define CANDIDATES_MAX 8

/*
 * Finds modules that may contain the interpreter. "libpython3.11.so.1.0" comes before "python3.11",
 * which may be a small program that links to it.
 */
static size_t python_candidates_find(const struct modules *modules,
				     const struct module *out[static CANDIDATES_MAX])
{
	static const char *const prefixes[] = { "libpython3", "python" };
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		for (size_t k = 0; k < modules->n && n < CANDIDATES_MAX; k++)
			if (strncmp(module_name(&modules->list[k]), prefixes[i],
				    strlen(prefixes[i])) == 0)
				out[n++] = &modules->list[k];
	return n;
}

/* Finds the version by Py_Version, which exists from 3.11 on, or else by file names. */
static unsigned int find_minor(const struct unwinder *u, const struct module *m, Dwfl_Module *mod)
{
	uint64_t at = symbols_address(mod, "Py_Version"), version = 0;
	unsigned int minor = 0;

	if (at && modules_read(u->modules, at, &version, sizeof(version)) == sizeof(version) &&
	    version >> 24 == 3)
		return (unsigned int)(version >> 16 & 0xff);
	minor = python_minor_in_name(module_name(m));
	for (size_t i = 0; i < u->modules->n && !minor; i++)
		minor = python_minor_in_name(module_name(&u->modules->list[i]));
	return minor;
}

static void open_module(struct python *py, const struct unwinder *u, const struct module *m,
			Dwfl_Module *mod, uint64_t runtime)
{
	const struct python_symbols symbols = {
		.runtime = runtime,
		.code_type = symbols_address(mod, "PyCode_Type"),
		.string_type = symbols_address(mod, "PyUnicode_Type"),
		.bytes_type = symbols_address(mod, "PyBytes_Type"),
	};

	python_open(py, u->modules, &symbols, find_minor(u, m, mod));
}

bool python_find(struct python *py, const struct unwinder *u)
{
	const struct module *candidates[CANDIDATES_MAX];
	size_t n = python_candidates_find(u->modules, candidates);
	char name[81];

	*py = (struct python){ 0 };
	for (size_t i = 0; i < n; i++) {
		Dwfl_Module *mod = unwinder_module(u, candidates[i]->start);
		uint64_t runtime = mod ? symbols_address(mod, "_PyRuntime") : 0;

		if (runtime) {
			open_module(py, u, candidates[i], mod, runtime);
			return true;
		}
		if (py->why[0])
			continue;
		copy_printable(name, sizeof(name), module_name(candidates[i]),
			       strlen(module_name(candidates[i])));
		snprintf(py->why, sizeof(py->why), "%s: %s", name,
			 mod		    ? "it has no symbol _PyRuntime" :
			 candidates[i]->why ? candidates[i]->why :
					      "cannot be read");
	}
	return n > 0;
}
