/* SPDX-License-Identifier: Apache-2.0 */
/* Finds function names and source lines of an address. */
#pragma once

#include "sidecar/unwind/stack.h"
#include "sidecar/unwind/symbol_index.h"

#define SYMBOLS_INLINED_MAX 16
#define FUNCTION_TEXT_MAX 384
#define SOURCE_TEXT_MAX 256

struct symbol {
	char function[FUNCTION_TEXT_MAX]; /* demangled; "" when not known */
	char source[SOURCE_TEXT_MAX]; /* "boom.cc:12"; "" without debug information */
	bool inlined; /* it is inlined into the next symbol of the list */
};

/*
 * The number of addresses in the cache. Many threads wait in the same few places, and for each of
 * these debug information is searched and a name demangled.
 */
#define SYMBOLS_CACHED 512

struct symbols {
	const struct unwinder *u;
	struct symbol_index index;
	struct {
		uint64_t address;
		struct symbol *list;
		size_t n;
	} cache[SYMBOLS_CACHED];
};

void symbols_init(struct symbols *symbols, const struct unwinder *u);
void symbols_release(struct symbols *symbols);

/*
 * Finds the functions at a frame: those that are inlined there, the innermost first,
 * and last the function that contains them. The result is at least one.
 */
size_t symbols_of(struct symbols *symbols, const struct frame *frame,
		  struct symbol out[static SYMBOLS_INLINED_MAX + 1]);

/* The address of an object or function that the module's symbol table names; 0 when it does not. */
uint64_t symbols_address(Dwfl_Module *mod, const char *name);
