/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the offsets in CPython's structures that a traceback needs. They are offsetof() on the
 * headers of each version.
 */
#include "sidecar/unwind/python_layout.h"

#include <string.h>

#include "lib/macros.h"

/* clang-format off */
static const struct python_layout layouts[] = {
	{
		.minor = 9,
		.gil_holder = 360, .gil_locked = 368,
		.runtime_interpreters = 32, .interpreter_next = 0, .interpreter_threads = 8,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 176, .thread_native_id = PYTHON_NONE,
		.thread_frame = 24, .cframe_frame = PYTHON_NONE,
		.frame_previous = 24, .frame_code = 32, .frame_instruction = 104, .frame_owner = PYTHON_NONE,
		.code_filename = 104, .code_name = 112, .code_first_line = 40, .code_lines = 120, .code_bytes = PYTHON_NONE,
		.ascii_size = 48, .compact_size = 72, .lines = PYTHON_LNOTAB, .instruction_unit = 1,
	},
	{
		.minor = 10,
		.gil_holder = 360, .gil_locked = 368,
		.runtime_interpreters = 32, .interpreter_next = 0, .interpreter_threads = 8,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 176, .thread_native_id = PYTHON_NONE,
		.thread_frame = 24, .cframe_frame = PYTHON_NONE,
		.frame_previous = 24, .frame_code = 32, .frame_instruction = 96, .frame_owner = PYTHON_NONE,
		.code_filename = 104, .code_name = 112, .code_first_line = 40, .code_lines = 120, .code_bytes = PYTHON_NONE,
		.ascii_size = 48, .compact_size = 72, .lines = PYTHON_LINETABLE, .instruction_unit = 2,
	},
	{
		.minor = 11,
		.gil_holder = 368, .gil_locked = 376,
		.runtime_interpreters = 40, .interpreter_next = 0, .interpreter_threads = 16,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 152, .thread_native_id = 160,
		.thread_frame = 56, .cframe_frame = 8,
		.frame_previous = 48, .frame_code = 32, .frame_instruction = 56, .frame_owner = 69,
		.code_filename = 112, .code_name = 128, .code_first_line = 72, .code_lines = 136, .code_bytes = 184,
		.ascii_size = 48, .compact_size = 72, .lines = PYTHON_LOCATIONS,
	},
	{
		.minor = 12,
		.gil_holder = 1048, .gil_locked = 1056,
		.runtime_interpreters = 40, .interpreter_next = 0, .interpreter_threads = 72,
		.thread_next = 8, .thread_interpreter = 16, .thread_id = 136, .thread_native_id = 144,
		.thread_frame = 56, .cframe_frame = 0,
		.frame_previous = 8, .frame_code = 0, .frame_instruction = 56, .frame_owner = 70,
		.code_filename = 112, .code_name = 128, .code_first_line = 68, .code_lines = 136, .code_bytes = 192,
		.ascii_size = 40, .compact_size = 56, .lines = PYTHON_LOCATIONS,
	},
};
/* clang-format on */

const struct python_layout *python_layout_of(unsigned int minor)
{
	for (size_t i = 0; i < ARRAY_SIZE(layouts); i++)
		if (layouts[i].minor == minor)
			return &layouts[i];
	return NULL;
}

/*
 * Words of _Py_DebugOffsets (Include/internal/pycore_debug_offsets.h; 3.13: pycore_runtime.h), by
 * version from 3.13 on.
 */
#define WORD_VERSION 1
#define WORD_FREE_THREADED 2
#define OFFSETS_FIRST 13
#define OFFSETS_VERSIONS 3

static const struct {
	uint8_t words[OFFSETS_VERSIONS];
	size_t field;
} offsets[] = {
	{ { 4, 4, 4 }, offsetof(struct python_layout, runtime_finalizing) },
	{ { 5, 5, 5 }, offsetof(struct python_layout, runtime_interpreters) },
	{ { 8, 8, 8 }, offsetof(struct python_layout, interpreter_next) },
	{ { 9, 9, 9 }, offsetof(struct python_layout, interpreter_threads) },
	{ { 18, 19, 19 }, offsetof(struct python_layout, gil_holder) },
	{ { 17, 18, 18 }, offsetof(struct python_layout, gil_locked) },
	{ { 21, 24, 24 }, offsetof(struct python_layout, thread_next) },
	{ { 22, 25, 25 }, offsetof(struct python_layout, thread_interpreter) },
	{ { 23, 26, 26 }, offsetof(struct python_layout, thread_frame) },
	{ { 24, 27, 30 }, offsetof(struct python_layout, thread_id) },
	{ { 25, 28, 31 }, offsetof(struct python_layout, thread_native_id) },
	{ { 29, 32, 40 }, offsetof(struct python_layout, frame_previous) },
	{ { 30, 33, 41 }, offsetof(struct python_layout, frame_code) },
	{ { 31, 34, 42 }, offsetof(struct python_layout, frame_instruction) },
	{ { 33, 36, 44 }, offsetof(struct python_layout, frame_owner) },
	{ { 35, 40, 48 }, offsetof(struct python_layout, code_filename) },
	{ { 37, 42, 50 }, offsetof(struct python_layout, code_name) },
	{ { 38, 43, 51 }, offsetof(struct python_layout, code_lines) },
	{ { 39, 44, 52 }, offsetof(struct python_layout, code_first_line) },
	{ { 43, 48, 56 }, offsetof(struct python_layout, code_bytes) },
};

bool python_layout_parse(const uint8_t data[static PYTHON_DEBUG_OFFSETS_SIZE],
			 struct python_layout *ret, const char **ret_why)
{
	struct python_layout layout = { .cframe_frame = PYTHON_NONE,
					.ascii_size = 40,
					.compact_size = 56,
					.lines = PYTHON_LOCATIONS };
	uint64_t words[PYTHON_DEBUG_OFFSETS_SIZE / 8];

	memcpy(words, data, sizeof(words));
	*ret_why = "its table of offsets is not there";
	if (memcmp(data, "xdebugpy", 8) != 0)
		return false;
	*ret_why = "this version is not known to Afterglow (" PYTHON_VERSIONS " are)";
	layout.minor = words[WORD_VERSION] >> 16 & 0xff;
	if (words[WORD_VERSION] >> 24 != 3 || layout.minor < OFFSETS_FIRST ||
	    layout.minor >= OFFSETS_FIRST + OFFSETS_VERSIONS)
		return false;
	*ret_why = "free-threaded builds are not known to Afterglow";
	if (words[WORD_FREE_THREADED])
		return false;
	*ret_why = "its table of offsets is damaged";
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		uint64_t word = words[offsets[i].words[layout.minor - OFFSETS_FIRST]];
		uint16_t offset = (uint16_t)word;

		if (word >= PYTHON_NONE)
			return false;
		memcpy((char *)&layout + offsets[i].field, &offset, sizeof(offset));
	}
	*ret = layout;
	return true;
}
