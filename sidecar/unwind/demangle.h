/* SPDX-License-Identifier: Apache-2.0 */
/* Demangles names of C++ and Rust functions. */
#pragma once

#include <stddef.h>

/*
 * Writes the demangled symbol into out, or the symbol itself if it is not mangled,
 * cut to size and printable. A hostile symbol that grows without end when demangled
 * is cut too.
 */
void demangle(const char *symbol, char *out, size_t size);
