/* SPDX-License-Identifier: Apache-2.0 */
/* Names of C++ and Rust functions as their authors wrote them. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_DEMANGLE_H
#define AFTERGLOW_SIDECAR_UNWIND_DEMANGLE_H

#include <stddef.h>

/*
 * Writes the demangled symbol into out, or the symbol itself when it is not
 * mangled, cut to size and printable. A symbol made to grow without end when
 * demangled stops at the size.
 */
void demangle(const char *symbol, char *out, size_t size);

#endif
