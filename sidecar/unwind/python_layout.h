/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the offsets in CPython's structures that a traceback needs, by version (64 bit, default
 * builds).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/unwind/python_lines.h"

#define PYTHON_NONE UINT16_MAX /* this version has no such field */

/* Offsets in bytes, each in the structure that its name begins with. */
struct python_layout {
	unsigned int minor; /* of 3.minor */
	/* runtime_finalizing is 0 before 3.13: it is not looked for there */
	uint16_t runtime_interpreters, runtime_finalizing;
	uint16_t gil_holder, gil_locked; /* in the runtime before 3.12, then in an interpreter */
	uint16_t interpreter_next, interpreter_threads;
	uint16_t thread_next, thread_interpreter, thread_id, thread_native_id;
	/* the innermost frame, or with cframe_frame the _PyCFrame that holds it */
	uint16_t thread_frame;
	uint16_t cframe_frame;
	uint16_t frame_previous, frame_code, frame_instruction, frame_owner;
	uint16_t code_filename, code_name, code_first_line, code_lines, code_bytes;
	uint16_t ascii_size, compact_size; /* of the heads of strings; the characters follow */
	enum python_lines lines;
	/* frame_instruction is an index of units of so many bytes; 0: an address */
	uint8_t instruction_unit;
};

/* The table of 3.minor (to 3.12), or NULL. */
const struct python_layout *python_layout_of(unsigned int minor);

#define PYTHON_VERSIONS "3.9 to 3.15" /* that are known */
#define PYTHON_DEBUG_OFFSETS_SIZE 456 /* enough of _Py_DebugOffsets of 3.15 */

/*
 * From 3.13 on, the runtime begins with a table of its own offsets. Returns false, and
 * sets why, if data is not such a table, or is from a build that is not supported.
 */
bool python_layout_parse(const uint8_t data[static PYTHON_DEBUG_OFFSETS_SIZE],
			 struct python_layout *ret, const char **ret_why);
