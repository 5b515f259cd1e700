/* SPDX-License-Identifier: Apache-2.0 */
/* The backtrace as text for people, its summary as one line of JSON. */
#ifndef AFTERGLOW_SIDECAR_UNWIND_RENDER_H
#define AFTERGLOW_SIDECAR_UNWIND_RENDER_H

#include "lib/strbuf.h"
#include "sidecar/unwind/python.h"
#include "sidecar/unwind/symbols.h"

/* What happened, from the core and, where a handler raised the signal again, from the frame of that handler. */
struct crash {
	struct core_siginfo info;
	bool has_info;
	bool handled; /* info and registers are those of the first fault, behind a signal handler */
	const uint64_t *registers;
	bool jumped; /* to where no code is; symbol and pc are the caller's */
	struct symbol symbol; /* of the frame to blame */
	uint64_t pc;
	char python[sizeof(struct python_frame) + 32]; /* "crash.py:12 in f", or "" */
	bool truncated; /* the core, or what we say of it */
};

/* "SIGSEGV at address 0x0 in deref_null (boom.so), thread 1234 of 9". */
void render_headline(struct strbuf *out, const struct modules *modules, const struct crash *crash);

/* Signal, process, completeness, registers. */
void render_facts(struct strbuf *out, const struct modules *modules, const struct crash *crash);

/* A thread's frames: its heading, native and Python ones. */
void render_thread(struct strbuf *out, struct symbols *symbols, const struct python *py, const struct core_thread *thread,
		   const struct stack *stack, const char *remark);

/* Addresses, build id, path of each, and what was amiss with its file. */
void render_modules(struct strbuf *out, const struct modules *modules);

/* One line of JSON, with its line end. */
void render_summary(struct strbuf *out, const struct modules *modules, const struct crash *crash);

#endif
