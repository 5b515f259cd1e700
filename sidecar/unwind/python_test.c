/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the walk through an interpreter's memory, on small ones that were made for this: the
 * seeds of the fuzz target. Real interpreters crash in e2e/kernel/unwind_test.py.
 */
#include "sidecar/unwind/python.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <cmocka.h>

#include "lib/fileio.h"
#include "sidecar/unwind/core_machine.h"

#define BASE 0x10000
#define MEMORY_MAX 4096

static const struct python_symbols symbols = { BASE, BASE + 8, BASE + 16, BASE + 24 };

struct memory {
	char data[MEMORY_MAX];
	size_t len;
	struct core_segment segment;
	struct core core;
	struct modules modules;
};

/* Loads a seed: a byte for the version, then the memory. */
static void load(struct memory *m, unsigned int minor)
{
	_cleanup_strbuf_ struct strbuf seed = STRBUF_INIT(MEMORY_MAX);
	char path[128];

	snprintf(path, sizeof(path), "sidecar/unwind/testdata/fuzz/python/3.%u", minor);
	assert_int_equal(file_read(AT_FDCWD, path, &seed, NULL), 0);
	m->len = seed.len - 1;
	memcpy(m->data, seed.data + 1, m->len);
}

/* Starts again after changes to data. */
static void begin(struct memory *m, struct python *py, unsigned int minor)
{
	int fd = memfd_create("memory", MFD_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(fd_write_all(fd, m->data, m->len, NULL), 0);
	m->segment = (struct core_segment){ BASE, BASE + m->len, 0,	m->len, m->len,
					    true, true,		 false, false };
	m->core = (struct core){ .elf = { .fd = fd, .file_size = m->len },
				 .machine = core_machine_of(EM_X86_64),
				 .segments = &m->segment,
				 .n_segments = 1 };
	m->core.cache = malloc((size_t)CORE_CACHE_BLOCKS * CORE_CACHE_BLOCK);
	m->modules = (struct modules){ .core = &m->core };
	python_open(py, &m->modules, &symbols, minor);
}

static void end(struct memory *m, struct python *py)
{
	python_release(py);
	free(m->core.cache);
	close(m->core.elf.fd);
}

/* Walks the thread that is known by its number or, before 3.11, by its pthread_self(). */
static size_t walk(const struct python *py, struct python_frame *frames, size_t max, bool *ret_cut)
{
	const struct core_thread thread = { .tid = 5, .thread_pointer = 0x7f00 };

	return python_walk(py, &thread, frames, max, ret_cut);
}

static void frames_of_each_version_are_read(void **state)
{
	static const int lines[] = {
		[9] = 4, [10] = 7, [11] = 7, [12] = 7, [13] = 7, [14] = 7, [15] = 7
	};

	(void)state;
	for (unsigned int minor = 9; minor <= 15; minor++) {
		struct python_frame frames[8];
		struct memory m = { 0 };
		struct python py;
		bool cut;

		load(&m, minor);
		begin(&m, &py, minor);
		if (py.why[0] || walk(&py, frames, ARRAY_SIZE(frames), &cut) != 2)
			fail_msg("3.%u: %s", minor, py.why);
		assert_false(cut);
		for (size_t i = 0; i < 2; i++) {
			assert_string_equal(frames[i].function, "inner");
			assert_string_equal(frames[i].file, "/x/gr\xc3\xbc.py");
			assert_int_equal(frames[i].line, lines[minor]);
		}
		end(&m, &py);
	}
}

/* Offsets in the memory of the seed for 3.11. */
#define FRAME 0x600
#define SECOND_FRAME 0x680
#define PREVIOUS 48
#define CODE 0x700
#define NAME 0x820
#define THREAD 0x500

static void put(struct memory *m, size_t at, uint64_t value)
{
	memcpy(m->data + at, &value, sizeof(value));
}

static uint64_t word_at(const struct memory *m, uint64_t address)
{
	uint64_t value;

	assert_in_range(address, BASE, BASE + m->len - sizeof(value));
	memcpy(&value, m->data + address - BASE, sizeof(value));
	return value;
}

/* The places are those of offsetof() on the headers of each version. */
static void the_thread_that_holds_the_gil_is_known(void **state)
{
	static const struct {
		unsigned int minor;
		size_t holder;
	} rows[] = { { 9, 360 }, { 10, 360 }, { 11, 368 }, { 12, 1048 } };
	const struct core_thread thread = { .tid = 5, .thread_pointer = 0x7f00 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows) * 3; i++) {
		unsigned int minor = rows[i / 3].minor, locked = i % 3;
		const struct python_layout *l = python_layout_of(minor);
		struct memory m;
		struct python py;

		load(&m, minor);
		uint64_t interpreter = word_at(&m, BASE + l->runtime_interpreters);
		uint64_t at = (minor < 12 ? 0 : interpreter - BASE) + rows[i / 3].holder;
		uint64_t holder = word_at(&m, interpreter + l->interpreter_threads);
		m.len = MAX(m.len, at + 16);
		put(&m, at, holder);
		put(&m, at + 8, locked);
		begin(&m, &py, minor);
		const struct python_thread *t = python_thread_of(&py, &thread);
		if (!t || t->holds_gil != (locked == 1))
			fail_msg("3.%u, locked %u", minor, locked);
		end(&m, &py);
	}
}

static void an_interpreter_that_was_ending_is_known_from_3_13_on(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < 6; i++) {
		const unsigned int minor = 13 + i / 2, ending = i % 2;
		struct memory m;
		struct python py;

		load(&m, minor);
		const size_t at = (m.len + 7) / 8 * 8;
		m.len = at + 8;
		put(&m, 32, at); /* _Py_DebugOffsets.runtime_state.finalizing */
		put(&m, at, ending ? BASE : 0);
		begin(&m, &py, minor);
		if (py.why[0] || py.finalizing != ending)
			fail_msg("3.%u, ending %u: %s", minor, ending, py.why);
		end(&m, &py);
	}
}

static void frames_in_a_circle_end(void **state)
{
	struct python_frame frames[8];
	struct memory m;
	struct python py;
	bool cut;

	(void)state;
	load(&m, 11);
	put(&m, SECOND_FRAME + PREVIOUS, BASE + FRAME);
	begin(&m, &py, 11);
	assert_int_equal(walk(&py, frames, ARRAY_SIZE(frames), &cut), ARRAY_SIZE(frames));
	assert_true(cut);
	end(&m, &py);
}

static void threads_in_a_circle_end(void **state)
{
	struct memory m;
	struct python py;

	(void)state;
	load(&m, 11);
	put(&m, THREAD + 8, BASE + THREAD);
	begin(&m, &py, 11);
	assert_int_equal(py.n_threads, PYTHON_THREADS_MAX);
	end(&m, &py);
}

static void code_that_is_none_is_not_believed(void **state)
{
	struct python_frame frames[8];
	struct memory m;
	struct python py;
	bool cut;

	(void)state;
	load(&m, 11);
	put(&m, CODE + 8, BASE + 16);
	begin(&m, &py, 11);
	assert_int_equal(walk(&py, frames, ARRAY_SIZE(frames), &cut), 0);
	end(&m, &py);
	load(&m, 11);
	put(&m, NAME + 16, UINT64_MAX); /* its length */
	begin(&m, &py, 11);
	walk(&py, frames, ARRAY_SIZE(frames), &cut);
	assert_in_range(strlen(frames[0].function), 0, sizeof(frames[0].function) - 1);
	end(&m, &py);
}

static const struct {
	const char *name;
	unsigned int minor;
	size_t at;
	uint64_t value;
	const char *why;
} refused[] = {
	{ "a version before", 8, 0, 0, "Python 3.8 is not known" },
	{ "no version", 0, 0, 0, "version is not to be found" },
	{ "a version to come", 13, 8, 0x031000f0, "this version is not known" },
	{ "a runtime that never ran", 11, 40, 0, "was not running" },
	{ "an interpreter outside the memory", 11, 40, 0x99990000, "not where Python 3.11 keeps them" },
	{ "threads of another interpreter", 11, THREAD + 16, 0x1234, "not where Python 3.11 keeps them" },
	{ "no table of offsets", 13, 0, 0, "its table of offsets is not there" },
	{ "free-threaded", 13, 16, 1, "free-threaded" },
	{ "an offset out of any structure", 13, 5 * 8, 1 << 20, "damaged" },
};

static void what_is_not_understood_is_reported(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		struct memory m;
		struct python py;

		load(&m, refused[i].minor >= 9 && refused[i].minor <= 13 ? refused[i].minor : 11);
		put(&m, refused[i].at, refused[i].value);
		begin(&m, &py, refused[i].minor);
		if (!strstr(py.why, refused[i].why))
			fail_msg("%s: \"%s\"", refused[i].name, py.why);
		end(&m, &py);
	}
}

static void versions_stand_in_file_names(void **state)
{
	(void)state;
	assert_int_equal(python_minor_in_name("libpython3.10.so.1.0"), 10);
	assert_int_equal(python_minor_in_name("python3.9"), 9);
	assert_int_equal(python_minor_in_name("_ssl.cpython-312-x86_64-linux-gnu.so"), 12);
	assert_int_equal(python_minor_in_name("python3"), 0);
	assert_int_equal(python_minor_in_name("libpython3.so"), 0);
	assert_int_equal(python_minor_in_name("python3.99999999999999999999"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_of_each_version_are_read),
		cmocka_unit_test(the_thread_that_holds_the_gil_is_known),
		cmocka_unit_test(an_interpreter_that_was_ending_is_known_from_3_13_on),
		cmocka_unit_test(frames_in_a_circle_end),
		cmocka_unit_test(threads_in_a_circle_end),
		cmocka_unit_test(code_that_is_none_is_not_believed),
		cmocka_unit_test(what_is_not_understood_is_reported),
		cmocka_unit_test(versions_stand_in_file_names),
	};

	return cmocka_run_group_tests_name("python", tests, NULL, NULL);
}
