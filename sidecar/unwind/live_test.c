/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of reading a dump, memory and mappings, which are made here as the launcher sends them and
 * as a hostile one would.
 */
#include "sidecar/unwind/live.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fileio.h"
#include "sidecar/launch/dump.h"

#define BASE 0x10000
#define STACK 0x12000
#define SP_X86 19

struct small_dump {
	struct dump_head head;
	struct dump_thread threads[4];
	char stack[256];
};

static const char maps_text[] =
	"00010000-00011000 r-xp 00003000 08:01 42                         /opt/lib/a b.so\n"
	"00011000-00014000 rw-p 00000000 00:00 0 \n"
	"00020000-00021000 rw-s 00000000 00:05 9                          /dev/gpu0\n";

static struct small_dump dump_new(void)
{
	struct small_dump d = {
		.head = { .magic = "", .machine = EM_X86_64, .pid = 7, .n_threads = 1, .threads_seen = 3, .auxv_len = 32, .command = "python3",
			  .auxv = { AT_PHDR, BASE, AT_NULL, 0 } },
		.threads = { { .tid = 7, .used_ns = 5, .age_ns = 50, .state = 'S', .name = "main", .stack_address = STACK,
			       .stack_offset = offsetof(struct small_dump, stack), .stack_len = 256, .registers = { [SP_X86] = STACK + 16 } } },
	};

	memcpy(d.head.magic, DUMP_MAGIC, sizeof(d.head.magic));
	memset(d.stack, 's', sizeof(d.stack));
	return d;
}

struct sources {
	int dump_fd, memory_fd, maps_fd;
};

static int file_of(const void *data, size_t len)
{
	int fd = memfd_create("source", MFD_CLOEXEC);

	assert_return_code(fd, errno);
	assert_int_equal(fd_write_all(fd, data, len, NULL), 0);
	return fd;
}

/* The memory has 'm' everywhere, up to address 0x30000. */
static struct sources sources_of(const struct small_dump *d, const char *maps)
{
	static char memory[0x30000];

	memset(memory, 'm', sizeof(memory));
	return (struct sources){ file_of(d, sizeof(*d)), file_of(memory, sizeof(memory)),
				 file_of(maps, strlen(maps)) };
}

static void sources_release(struct sources *s)
{
	closep(&s->dump_fd);
	closep(&s->memory_fd);
	closep(&s->maps_fd);
}

static int open_of(struct core *core, const struct small_dump *d, const char *maps,
		   struct sources *ret)
{
	struct err err = { 0 };

	*ret = sources_of(d, maps);
	return live_open(core, ret->dump_fd, ret->memory_fd, ret->maps_fd, &err);
}

static void stacks_come_from_the_dump_and_all_else_from_memory(void **state)
{
	const struct small_dump d = dump_new();
	struct sources s;
	struct core core;
	char text[8];

	(void)state;
	assert_int_equal(open_of(&core, &d, maps_text, &s), 0);
	assert_int_equal(core.n_threads, 1);
	assert_int_equal(core.threads_seen, 3);
	assert_int_equal(core.threads[0].used_ns, 5);
	assert_int_equal(core.threads[0].age_ns, 50);
	assert_int_equal(core.program_headers, BASE);
	assert_string_equal(core.command, "python3");
	assert_int_equal(core.n_maps, 2);
	assert_string_equal(core.maps[0].path, "/opt/lib/a b.so");
	assert_int_equal(core.maps[0].offset, 0x3000);
	assert_true(core_segment_at(&core, BASE)->executable);
	assert_int_equal(core_read(&core, STACK, text, 8), 8);
	assert_memory_equal(text, "ssssssss", 8);
	assert_int_equal(core_read(&core, STACK + 252, text, 8), 8);
	assert_memory_equal(text, "ssssmmmm", 8);
	assert_int_equal(core_read(&core, BASE, text, 8), 8);
	assert_memory_equal(text, "mmmmmmmm", 8);
	assert_int_equal(core_read(&core, 0x15000, text, 8), 0); /* nothing is mapped there */
	assert_int_equal(core_read(&core, 0x20000, text, 8), 0); /* a device is not read */
	core_close(&core);
	sources_release(&s);
}

static void the_file_of_a_thread_that_was_not_stopped_is_printable(void **state)
{
	struct small_dump d = dump_new();
	struct sources s;
	struct core core;

	(void)state;
	/* A path of all of its bytes has no end of its own. */
	memset(d.threads[0].file, '\x1b', sizeof(d.threads[0].file));
	d.threads[0].error = EBUSY;
	assert_int_equal(open_of(&core, &d, maps_text, &s), 0);
	assert_int_equal(strlen(core.threads[0].file), sizeof(core.threads[0].file) - 1);
	assert_int_equal(strspn(core.threads[0].file, "?"), sizeof(core.threads[0].file) - 1);
	assert_int_equal(core.threads[0].registers[SP_X86], 0);
	core_close(&core);
	sources_release(&s);
	d.threads[0].error = 0;
	assert_int_equal(open_of(&core, &d, maps_text, &s), 0);
	assert_string_equal(core.threads[0].file, "");
	core_close(&core);
	sources_release(&s);
}

static void a_stack_that_changes_shows_that_its_thread_ran(void **state)
{
	const struct small_dump d = dump_new();
	struct sources s;
	struct core core;

	(void)state;
	assert_int_equal(open_of(&core, &d, maps_text, &s), 0);
	assert_false(live_is_unmoved(&core, &core.threads[0], STACK + 100));
	assert_int_equal(pwrite(s.memory_fd, d.stack, sizeof(d.stack), STACK), sizeof(d.stack));
	assert_true(live_is_unmoved(&core, &core.threads[0], STACK + 100));
	/* What is below the stack pointer may change. */
	assert_int_equal(pwrite(s.memory_fd, "x", 1, STACK + 15), 1);
	assert_true(live_is_unmoved(&core, &core.threads[0], STACK + 100));
	assert_int_equal(pwrite(s.memory_fd, "x", 1, STACK + 99), 1);
	assert_false(live_is_unmoved(&core, &core.threads[0], STACK + 100));
	/* Not all of it was copied. */
	assert_false(live_is_unmoved(&core, &core.threads[0], STACK + 257));
	core_close(&core);
	sources_release(&s);
}

static void a_dump_that_is_none_is_refused(void **state)
{
	struct small_dump d = dump_new();
	struct sources s;
	struct core core;

	(void)state;
	d.head.magic[7]++;
	assert_int_equal(open_of(&core, &d, maps_text, &s), -EPROTO);
	sources_release(&s);
	d = dump_new();
	d.head.machine = EM_386;
	assert_int_equal(open_of(&core, &d, maps_text, &s), -ENOTSUP);
	sources_release(&s);
	d = dump_new();
	d.head.n_threads = 0;
	assert_int_equal(open_of(&core, &d, maps_text, &s), -ENODATA);
	sources_release(&s);
	d = dump_new();
	assert_int_equal(open_of(&core, &d, "", &s), -ENODATA);
	sources_release(&s);
}

static void numbers_that_lie_are_bounded(void **state)
{
	static const struct dump_thread rows[] = {
		{ .stack_address = STACK, .stack_offset = UINT64_MAX, .stack_len = 16 },
		{ .stack_address = STACK, .stack_offset = sizeof(struct small_dump) - 8, .stack_len = 16 },
		{ .stack_address = STACK, .stack_offset = 0, .stack_len = UINT64_MAX },
		{ .stack_address = UINT64_MAX - 4, .stack_offset = 0, .stack_len = 16 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct small_dump d = dump_new();
		struct sources s;
		struct core core;

		d.threads[0] = rows[i];
		d.head.n_threads = d.head.threads_seen = d.head.auxv_len = UINT32_MAX;
		assert_int_equal(open_of(&core, &d, maps_text, &s), 0);
		assert_int_equal(core.n_copies, 0);
		assert_true(core.n_threads <= DUMP_THREADS_MAX);
		core_close(&core);
		sources_release(&s);
	}
}

static void mappings_that_lie_are_left_out(void **state)
{
	static const char *const rows[] = {
		"x\n", "\n\n\n", "00010000\n", "00020000-00010000 r-xp 0 0:0 0 /a\n", "7fffffffffffffff-ffffffffffffffff r-xp 0 0:0 0 /a\n",
		"00010000-00020000 r-xp 0 0:0 0 /not ended",
	};
	const struct small_dump d = dump_new();
	struct sources s;
	struct core core;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(open_of(&core, &d, rows[i], &s), 0);
		assert_int_equal(core.n_segments, 0);
		core_close(&core);
		sources_release(&s);
	}
	/* Of those that overlap the first counts. */
	assert_int_equal(
		open_of(&core, &d,
			"00018000-00028000 rw-p 0 0:0 0 \n00010000-00020000 r-xp 0 0:0 0 /a\n", &s),
		0);
	assert_int_equal(core_segment_at(&core, 0x19000)->start, 0x10000);
	assert_null(core_segment_at(&core, 0x21000));
	core_close(&core);
	sources_release(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_come_from_the_dump_and_all_else_from_memory),
		cmocka_unit_test(the_file_of_a_thread_that_was_not_stopped_is_printable),
		cmocka_unit_test(a_stack_that_changes_shows_that_its_thread_ran),
		cmocka_unit_test(a_dump_that_is_none_is_refused),
		cmocka_unit_test(numbers_that_lie_are_bounded),
		cmocka_unit_test(mappings_that_lie_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
