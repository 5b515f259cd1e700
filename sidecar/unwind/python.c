/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what the threads of a CPython interpreter were running. */
#include "sidecar/unwind/python.h"

#include <stdio.h>
#include <string.h>

#include "lib/printable.h"

#define OBJECT_TYPE 8 /* ob_type, in default builds */
#define VAR_SIZE 16 /* ob_size */
#define BYTES_DATA 32 /* ob_sval */
#define STRING_LENGTH 16
#define STRING_STATE 32
#define LINES_MAX (64 << 10) /* bytes of a line table; longer ones are cut */
/* from 3.12 on, and 4 in 3.14: a frame that only marks a call from C */
#define OWNED_BY_INTERPRETER 3
#define TAG_BITS ((uint64_t)3) /* of references in frames, from 3.14 on */
#define INTERPRETERS_MAX 64

static bool read_u64(const struct python *py, uint64_t address, uint64_t *ret)
{
	return modules_read(py->modules, address, ret, sizeof(*ret)) == sizeof(*ret);
}

static bool is_a(const struct python *py, uint64_t object, uint64_t type)
{
	uint64_t have;

	return object && read_u64(py, object + OBJECT_TYPE, &have) && have == type;
}

/* --- Strings --- */

static size_t put_utf8(char *out, uint32_t c)
{
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | (c >> 18 & 7));
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}

/* Converts n characters of width bytes each at data to UTF-8. */
static void python_to_text(const uint8_t *data, size_t n, unsigned int width, char *out,
			   size_t size)
{
	char text[4 * 256];
	size_t len = 0;

	for (size_t i = 0; i < n && len + 4 <= sizeof(text); i++) {
		uint32_t c = 0;

		/* Little-endian, as on all machines that we support */
		memcpy(&c, data + i * width, width);
		len += put_utf8(text + len, c);
	}
	copy_printable(out, size, text, len);
}

/* Reads a compact string (PEP 393). The others are of subclasses, and no code object has these. */
static bool python_read_string(const struct python *py, uint64_t object, char *out, size_t size)
{
	uint64_t length, at;
	uint32_t state = 0;
	uint8_t data[4 * 256];

	if (!is_a(py, object, py->symbols.string_type) ||
	    !read_u64(py, object + STRING_LENGTH, &length) ||
	    modules_read(py->modules, object + STRING_STATE, &state, sizeof(state)) !=
		    sizeof(state))
		return false;
	unsigned int kind = state >> 2 & 7; /* interned:2 kind:3 compact:1 ascii:1 */
	if (!(state >> 5 & 1) || (kind != 1 && kind != 2 && kind != 4))
		return false;
	at = object + (state >> 6 & 1 ? py->layout.ascii_size : py->layout.compact_size);
	/* The end of a long path says more than its beginning. */
	size_t skip = length > size - 1 && size > 150 ?
			      (size_t)MIN(length - (size - 1), (uint64_t)1 << 32) :
			      0;
	size_t n = (size_t)MIN(length - skip, (uint64_t)MIN(size - 1, (size_t)255));
	if (modules_read(py->modules, at + (uint64_t)skip * kind, data, n * kind) != n * kind)
		return false;
	python_to_text(data, n, kind, out, size);
	return true;
}

/* --- Frames --- */

/*
 * Returns the offset in bytes of the instruction at which a frame was; -1 if the frame had not
 * begun.
 */
static int64_t bytecode_offset(const struct python *py, uint64_t frame, uint64_t code)
{
	const struct python_layout *l = &py->layout;
	uint64_t instruction;
	int32_t index = -1;

	if (l->instruction_unit) {
		modules_read(py->modules, frame + l->frame_instruction, &index, sizeof(index));
		return index < 0 ? -1 : (int64_t)index * l->instruction_unit;
	}
	if (!read_u64(py, frame + l->frame_instruction, &instruction) ||
	    instruction < code + l->code_bytes)
		return -1;
	return (int64_t)MIN(instruction - (code + l->code_bytes), (uint64_t)INT32_MAX);
}

static int python_line_of(const struct python *py, uint64_t frame, uint64_t code)
{
	_cleanup_free_ uint8_t *table = NULL;
	uint64_t bytes, len;
	int32_t first = 0;

	if (modules_read(py->modules, code + py->layout.code_first_line, &first, sizeof(first)) !=
	    sizeof(first))
		return 0;
	if (!read_u64(py, code + py->layout.code_lines, &bytes) ||
	    !is_a(py, bytes, py->symbols.bytes_type) || !read_u64(py, bytes + VAR_SIZE, &len))
		return first > 0 ? first : 0;
	len = MIN(len, (uint64_t)LINES_MAX);
	table = malloc(len ? len : 1);
	if (!table || modules_read(py->modules, bytes + BYTES_DATA, table, len) != len)
		return first > 0 ? first : 0;
	return python_line(py->layout.lines, table, len, first, bytecode_offset(py, frame, code));
}

static bool marks_a_call(const struct python *py, uint64_t frame)
{
	uint8_t owner = 0;

	return py->layout.minor >= 12 &&
	       modules_read(py->modules, frame + py->layout.frame_owner, &owner, 1) == 1 &&
	       owner >= OWNED_BY_INTERPRETER;
}

static bool read_frame(const struct python *py, uint64_t frame, struct python_frame *out)
{
	uint64_t code, name, file;

	*out = (struct python_frame){ 0 };
	if (!read_u64(py, frame + py->layout.frame_code, &code) ||
	    !is_a(py, code &= ~TAG_BITS, py->symbols.code_type) ||
	    !read_u64(py, code + py->layout.code_name, &name) ||
	    !read_u64(py, code + py->layout.code_filename, &file) ||
	    !python_read_string(py, name, out->function, sizeof(out->function)) ||
	    !python_read_string(py, file, out->file, sizeof(out->file)))
		return false;
	out->line = python_line_of(py, frame, code);
	return true;
}

const struct python_thread *python_thread_of(const struct python *py,
					     const struct core_thread *thread)
{
	if (py->why[0])
		return NULL;
	for (size_t i = 0; i < py->n_threads; i++)
		if (py->threads[i].native_id && py->threads[i].native_id == (uint64_t)thread->tid)
			return &py->threads[i];
	for (size_t i = 0; i < py->n_threads; i++)
		if (thread->thread_pointer && py->threads[i].id == thread->thread_pointer)
			return &py->threads[i];
	return NULL;
}

size_t python_walk(const struct python *py, const struct core_thread *thread,
		   struct python_frame *out, size_t max, bool *ret_cut)
{
	const struct python_thread *t = python_thread_of(py, thread);
	uint64_t frame = t ? t->frame : 0;
	size_t n = 0, steps = 0;

	*ret_cut = false;
	/* Frames that only mark calls from C are not shown, but their number is limited, too. */
	for (; frame && n < max && steps < 2 * max; steps++) {
		if (!marks_a_call(py, frame)) {
			if (!read_frame(py, frame, &out[n]))
				return n;
			n++;
		}
		if (!read_u64(py, frame + py->layout.frame_previous, &frame))
			return n;
	}
	*ret_cut = frame != 0;
	return n;
}

/* --- Interpreters and threads --- */

static bool read_thread(const struct python *py, uint64_t at, uint64_t interpreter,
			struct python_thread *out)
{
	const struct python_layout *l = &py->layout;
	uint64_t owner;

	*out = (struct python_thread){ 0 };
	if (!read_u64(py, at + l->thread_interpreter, &owner) || owner != interpreter ||
	    !read_u64(py, at + l->thread_id, &out->id) ||
	    !read_u64(py, at + l->thread_frame, &out->frame))
		return false;
	if (l->thread_native_id != PYTHON_NONE &&
	    !read_u64(py, at + l->thread_native_id, &out->native_id))
		return false;
	if (l->cframe_frame != PYTHON_NONE &&
	    (!out->frame || !read_u64(py, out->frame + l->cframe_frame, &out->frame)))
		out->frame = 0; /* a thread that is just being created */
	return true;
}

/*
 * Returns the address of the thread that holds the GIL of the interpreter, or of all; 0: none, or
 * it is not known.
 */
static uint64_t gil_holder(const struct python *py, uint64_t interpreter)
{
	const struct python_layout *l = &py->layout;
	uint64_t base = l->minor < 12 ? py->symbols.runtime : interpreter, holder = 0;
	int32_t locked = 0;

	if (modules_read(py->modules, base + l->gil_locked, &locked, sizeof(locked)) !=
		    sizeof(locked) ||
	    locked != 1 || !read_u64(py, base + l->gil_holder, &holder))
		return 0;
	return holder;
}

/* Returns false if the memory there is no list of threads of this interpreter. */
static bool read_threads(struct python *py, uint64_t interpreter)
{
	uint64_t at, holder = gil_holder(py, interpreter);

	if (!read_u64(py, interpreter + py->layout.interpreter_threads, &at))
		return false;
	while (at && py->n_threads < PYTHON_THREADS_MAX) {
		if (!read_thread(py, at, interpreter, &py->threads[py->n_threads]))
			return false;
		py->threads[py->n_threads++].holds_gil = at == holder;
		if (!read_u64(py, at + py->layout.thread_next, &at))
			return false;
	}
	return true;
}

static void read_interpreters(struct python *py)
{
	uint64_t interpreter, thread = 0;

	py->finalizing =
		py->layout.runtime_finalizing &&
		read_u64(py, py->symbols.runtime + py->layout.runtime_finalizing, &thread) &&
		thread;
	if (!read_u64(py, py->symbols.runtime + py->layout.runtime_interpreters, &interpreter) ||
	    !interpreter) {
		snprintf(py->why, sizeof(py->why),
			 "its runtime was not running, or its memory is not in the core");
		return;
	}
	for (size_t i = 0; interpreter && i < INTERPRETERS_MAX; i++) {
		if (!read_threads(py, interpreter) ||
		    !read_u64(py, interpreter + py->layout.interpreter_next, &interpreter)) {
			/* The threads that were found so far are complete. */
			if (py->n_threads == 0)
				snprintf(
					py->why, sizeof(py->why),
					"its threads are not where Python 3.%u keeps them: another build, or damaged memory",
					py->layout.minor);
			return;
		}
	}
}

static void choose_layout(struct python *py, unsigned int minor)
{
	const struct python_layout *table = python_layout_of(minor);
	uint8_t offsets[PYTHON_DEBUG_OFFSETS_SIZE];
	const char *why;

	if (table)
		py->layout = *table;
	else if (minor < 13)
		snprintf(py->why, sizeof(py->why),
			 minor ? "Python 3.%u is not known to Afterglow (" PYTHON_VERSIONS " are)" :
				 "its version is not to be found",
			 minor);
	else if (modules_read(py->modules, py->symbols.runtime, offsets, sizeof(offsets)) !=
		 sizeof(offsets))
		snprintf(py->why, sizeof(py->why), "its runtime's memory is not in the core");
	else if (!python_layout_parse(offsets, &py->layout, &why))
		snprintf(py->why, sizeof(py->why), "Python 3.%u: %s", minor, why);
}

void python_open(struct python *py, struct modules *modules, const struct python_symbols *symbols,
		 unsigned int minor)
{
	*py = (struct python){ .modules = modules, .symbols = *symbols };
	if (!symbols->runtime || !symbols->code_type || !symbols->string_type ||
	    !symbols->bytes_type)
		snprintf(py->why, sizeof(py->why), "its symbols are not to be found");
	else
		choose_layout(py, minor);
	if (py->why[0])
		return;
	py->threads = calloc(PYTHON_THREADS_MAX, sizeof(*py->threads));
	if (py->threads)
		read_interpreters(py);
	else
		snprintf(py->why, sizeof(py->why), "no memory");
}

void python_release(struct python *py)
{
	free(py->threads);
	*py = (struct python){ 0 };
}

unsigned int python_minor_in_name(const char *name)
{
	static const char *const marks[] = { "python3.", "cpython-3" };

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++) {
		const char *at = strstr(name, marks[i]);
		unsigned long minor = at ? strtoul(at + strlen(marks[i]), NULL, 10) : 0;

		if (minor > 0 && minor < 100)
			return (unsigned int)minor;
	}
	return 0;
}
