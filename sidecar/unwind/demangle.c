/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles names of C++ and Rust functions with libiberty. */
#include "sidecar/unwind/demangle.h"

#include <libiberty/demangle.h>
#undef ARRAY_SIZE /* libiberty and we define it alike */
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/printable.h"

#define SYMBOL_MAX 4096 /* bytes; the demanglers' stack grows with the length */
#define TEXT_MAX 1024

struct text {
	char data[TEXT_MAX];
	size_t len;
	jmp_buf full;
};

/*
 * Collects output. If there is no room it calls longjmp, because the demanglers cannot be stopped
 * otherwise. They own nothing that would have to be freed.
 */
static void demangle_collect(const char *part, size_t len, void *arg)
{
	struct text *t = arg;
	size_t n = MIN(len, sizeof(t->data) - t->len);

	memcpy(t->data + t->len, part, n);
	t->len += n;
	if (n < len)
		longjmp(t->full, 1);
}

static bool demangled(const char *symbol, struct text *t)
{
	const int options = DMGL_PARAMS | DMGL_ANSI;

	t->len = 0;
	if (setjmp(t->full))
		return true;
	if (rust_demangle_callback(symbol, options, demangle_collect, t))
		return true;
	t->len = 0;
	return symbol[0] == '_' && symbol[1] == 'Z' &&
	       cplus_demangle_v3_callback(symbol, options, demangle_collect, t);
}

void demangle(const char *symbol, char *out, size_t size)
{
	size_t len = strnlen(symbol, SYMBOL_MAX);
	struct text t;

	if (symbol[0] == '_' && len < SYMBOL_MAX && demangled(symbol, &t) && t.len > 0)
		copy_printable(out, size, t.data, t.len);
	else
		copy_printable(out, size, symbol, len);
}
