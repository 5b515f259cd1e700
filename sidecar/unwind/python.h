/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds what the threads of a CPython interpreter (3.9 to 3.15) were running, from its
 * structures in the core. The core is not trusted: code and strings must have the
 * address of their type, lists have a largest length, and each read may fail.
 */
#pragma once

#include "sidecar/unwind/modules.h"
#include "sidecar/unwind/python_layout.h"

#define PYTHON_FRAMES_MAX 256
#define PYTHON_THREADS_MAX 4096

/* Addresses of the interpreter's own objects. */
struct python_symbols {
	uint64_t runtime, code_type, string_type, bytes_type;
};

struct python_thread {
	uint64_t native_id; /* 0 before 3.11 */
	uint64_t id; /* pthread_self() */
	uint64_t frame; /* innermost */
	/* false also where it is not known: a subinterpreter of 3.12 that shares the GIL */
	bool holds_gil;
};

struct python {
	struct modules *modules;
	struct python_layout layout;
	struct python_symbols symbols;
	struct python_thread *threads;
	size_t n_threads;
	bool finalizing; /* it was ending: modules were taken down, finalizers ran */
	char why[160]; /* why there are no Python frames; "" when there are */
};

struct python_frame {
	char file[192];
	char function[128];
	int line; /* 0: not known */
};

/*
 * Finds the threads of the interpreters. If there are no symbols or the version (0x030b07f0; 0:
 * only the minor number is known, from a file name) is not supported, why says so. python_release
 * must always be called.
 */
void python_open(struct python *py, struct modules *modules, const struct python_symbols *symbols,
		 unsigned int minor);
void python_release(struct python *py);

/*
 * Finds the frames of the Python thread that ran on this thread, the innermost first, at most max.
 * *ret_cut: there are more. Returns their number.
 */
size_t python_walk(const struct python *py, const struct core_thread *thread,
		   struct python_frame *out, size_t max, bool *ret_cut);

/* Returns the Python thread that ran on this thread; NULL: none, or there are no Python frames. */
const struct python_thread *python_thread_of(const struct python *py,
					     const struct core_thread *thread);

/*
 * The minor version in a file name like "libpython3.11.so.1.0" or
 * "x.cpython-311-x86_64-linux-gnu.so"; 0: none.
 */
unsigned int python_minor_in_name(const char *name);
