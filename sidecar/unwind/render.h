/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the backtrace as text for people, and its summary as a line of JSON. */
#pragma once

#include "lib/strbuf.h"
#include "sidecar/unwind/python.h"
#include "sidecar/unwind/refused.h"
#include "sidecar/unwind/symbols.h"

/*
 * What happened, from the core and, where a handler raised the signal again, from the frame of that
 * handler.
 */
struct crash {
	struct core_siginfo info;
	bool has_info;
	bool handled; /* info and registers are those of the first fault, behind a signal handler */
	/*
	 * The system call or the kind of instruction that was refused, "its stack is full", or ""
	 */
	char refused[REFUSED_TEXT_MAX];
	char message[200]; /* what glibc wrote before it aborted, or "" */
	const uint64_t *registers;
	/* it jumped to an address without code; symbol and pc are those of the caller */
	bool jumped;
	bool finalizing; /* while Python ended */
	/* by another process: info.sender, or one outside of the PID namespace if that is 0 */
	bool sent;
	bool caller_unknown; /* it aborted, and the frames that are certain do not show for whom */
	struct symbol symbol; /* of the frame that blame() found */
	uint64_t pc;
	char python[sizeof(struct python_frame) + 32]; /* "crash.py:12 in f", or "" */
	bool truncated; /* the core was cut, or the backtrace is not complete */
};

/*
 * Writes a headline such as "SIGSEGV at address 0x0 in deref_null (boom.so), thread 1234 (one of
 * 9)". The only thread of a process is not named.
 */
void render_headline(struct strbuf *out, const struct modules *modules, const struct crash *crash);

/* Writes signal, process, completeness and registers. */
void render_facts(struct strbuf *out, const struct modules *modules, const struct crash *crash);

/* Writes a thread: a heading, its native frames and its Python frames. */
void render_thread(struct strbuf *out, struct symbols *symbols, const struct python *py,
		   const struct core_thread *thread, const struct stack *stack, const char *remark);

/* Writes the Python frames of a thread, innermost first; nothing if it has none. */
void render_python(struct strbuf *out, const struct python *py, const struct core_thread *thread);

/* Writes addresses, build id and path of each module, and what was wrong with its file. */
void render_modules(struct strbuf *out, const struct modules *modules);

/* Writes the summary as a line of JSON, with its line end. */
void render_summary(struct strbuf *out, const struct modules *modules, const struct crash *crash);
