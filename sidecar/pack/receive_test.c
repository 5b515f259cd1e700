/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of writing a core from a pipe to a file of bounded size. */
#include "sidecar/pack/receive.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"

#define PAGE 4096
#define MIB ((size_t)1 << 20)
#define NOTES_AT 1024
#define HEAP 0x10000000
#define SMALL_AT_ADDRESS 0x60000000
#define STACK 0x7f0000000000
#define HEAP_SIZE (32 * MIB)
#define STACK_SIZE (8 * MIB)
#define HEAP_AT PAGE
#define SMALL_AT (HEAP_AT + HEAP_SIZE)
#define STACK_AT (SMALL_AT + PAGE)
#define CORE_SIZE (STACK_AT + STACK_SIZE)
#define SP_PAGE 2000 /* the page of the stack that has the stack pointer */

/*
 * Makes a core with a heap full of 'H', a page of 'S' and a stack with 'T' from the page of the
 * stack pointer on and zeros below it. The caller frees it.
 */
static char *make_core(void)
{
	char *core = calloc(1, CORE_SIZE), prstatus[336] = { 0 };
	const Elf64_Ehdr header = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB,
						 EV_CURRENT },
				    .e_type = ET_CORE,
				    .e_machine = EM_X86_64,
				    .e_version = EV_CURRENT,
				    .e_phoff = sizeof(Elf64_Ehdr),
				    .e_ehsize = sizeof(Elf64_Ehdr),
				    .e_phentsize = sizeof(Elf64_Phdr),
				    .e_phnum = 4 };
	const Elf64_Nhdr note = { .n_namesz = 5,
				  .n_descsz = sizeof(prstatus),
				  .n_type = NT_PRSTATUS };
	const Elf64_Phdr segments[] = {
		{ .p_type = PT_NOTE, .p_offset = NOTES_AT, .p_filesz = sizeof(note) + 8 + sizeof(prstatus) },
		{ .p_type = PT_LOAD, .p_offset = HEAP_AT, .p_vaddr = HEAP, .p_filesz = HEAP_SIZE, .p_memsz = HEAP_SIZE },
		{ .p_type = PT_LOAD, .p_offset = SMALL_AT, .p_vaddr = SMALL_AT_ADDRESS, .p_filesz = PAGE, .p_memsz = PAGE },
		{ .p_type = PT_LOAD, .p_offset = STACK_AT, .p_vaddr = STACK, .p_filesz = STACK_SIZE, .p_memsz = STACK_SIZE },
	};
	const uint64_t sp = STACK + SP_PAGE * PAGE + 1000;

	assert_non_null(core);
	memcpy(prstatus + 112 + 19 * 8, &sp, sizeof(sp));
	memcpy(core, &header, sizeof(header));
	memcpy(core + sizeof(header), segments, sizeof(segments));
	memcpy(core + NOTES_AT, &note, sizeof(note));
	memcpy(core + NOTES_AT + sizeof(note), "CORE", 5);
	memcpy(core + NOTES_AT + sizeof(note) + 8, prstatus, sizeof(prstatus));
	memset(core + HEAP_AT, 'H', HEAP_SIZE);
	memset(core + SMALL_AT, 'S', PAGE);
	memset(core + STACK_AT + SP_PAGE * PAGE, 'T', STACK_SIZE - SP_PAGE * PAGE);
	return core;
}

/*
 * Writes the core from another process, as the kernel does, because a pipe holds only 64 KiB.
 * Returns the descriptor to read from.
 */
static int stream(const char *data, size_t len, pid_t *ret_pid)
{
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	*ret_pid = fork();
	assert_true(*ret_pid >= 0);
	if (*ret_pid == 0) {
		signal(SIGPIPE, SIG_IGN);
		close(fds[0]);
		fd_write_all(fds[1], data, len, NULL);
		_exit(0);
	}
	close(fds[1]);
	return fds[0];
}

static int receive(const char *data, size_t len, uint64_t max, int out, struct received *ret)
{
	pid_t pid;
	int in = stream(data, len, &pid), rc = receive_core(in, out, max, ret, NULL);

	close(in);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return rc;
}

static void what_fits_is_as_it_came(void **state)
{
	_cleanup_free_ char *core = make_core(), *back = malloc(CORE_SIZE);
	_cleanup_close_ int out = memfd_create("out", 0);
	struct received r;

	(void)state;
	/*
	 * One large segment takes at most a quarter of the quarter that is reserved for large
	 * segments.
	 */
	assert_int_equal(receive(core, CORE_SIZE, 1024 * MIB, out, &r), 0);
	assert_int_equal(r.bytes_in, CORE_SIZE);
	assert_int_equal(r.left_out, 0);
	assert_int_equal(lseek(out, 0, SEEK_END), CORE_SIZE);
	assert_int_equal(pread(out, back, CORE_SIZE, 0), CORE_SIZE);
	assert_memory_equal(back, core, CORE_SIZE);
}

static void stacks_and_small_parts_come_before_the_heap(void **state)
{
	_cleanup_free_ char *core = make_core(), *back = malloc(CORE_SIZE);
	_cleanup_close_ int out = memfd_create("out", 0);
	struct received r;
	struct stat st;

	(void)state;
	assert_int_equal(receive(core, CORE_SIZE, 4 * MIB, out, &r), 0);
	assert_true(r.left_out > 30 * MIB);
	assert_true(r.bytes_out <= 4 * MIB);
	assert_int_equal(fstat(out, &st), 0);
	assert_int_equal(st.st_size, CORE_SIZE);
	assert_true(st.st_blocks * 512 <= (blkcnt_t)(5 * MIB));
	assert_int_equal(pread(out, back, CORE_SIZE, 0), CORE_SIZE);
	assert_memory_equal(back, core, HEAP_AT);
	assert_memory_equal(back + SMALL_AT, core + SMALL_AT, CORE_SIZE - SMALL_AT);
}

static void a_stream_that_ends_early_is_kept_as_far_as_it_came(void **state)
{
	_cleanup_free_ char *core = make_core(), *back = malloc(CORE_SIZE);
	_cleanup_close_ int out = memfd_create("out", 0);
	const size_t len = HEAP_AT + 3 * PAGE + 17;
	struct received r;

	(void)state;
	assert_int_equal(receive(core, len, 1024 * MIB, out, &r), 0);
	assert_int_equal(r.bytes_in, len);
	assert_int_equal(lseek(out, 0, SEEK_END), len);
	assert_int_equal(pread(out, back, len, 0), len);
	assert_memory_equal(back, core, len);
}

static void a_hole_at_the_end_counts(void **state)
{
	_cleanup_free_ char *core = make_core();
	_cleanup_close_ int out = memfd_create("out", 0);
	struct received r;

	(void)state;
	memset(core + STACK_AT, 0, STACK_SIZE);
	assert_int_equal(receive(core, CORE_SIZE, 1024 * MIB, out, &r), 0);
	assert_int_equal(lseek(out, 0, SEEK_END), CORE_SIZE);
}

static void what_does_not_begin_as_a_core_is_refused(void **state)
{
	_cleanup_free_ char *core = make_core();
	Elf64_Phdr *notes = (Elf64_Phdr *)(core + sizeof(Elf64_Ehdr));
	Elf64_Ehdr *header = (Elf64_Ehdr *)core;
	const Elf64_Ehdr whole = *header;
	struct received r;

	(void)state;
	for (int i = 0; i < 7; i++) {
		_cleanup_close_ int out = memfd_create("out", 0);
		size_t len = i == 0 ? 0 : i == 1 ? 20 : i == 2 ? 100 : CORE_SIZE;

		*header = whole;
		if (i == 3)
			header->e_ident[0] = 'x';
		if (i == 4)
			header->e_phoff = UINT64_MAX - 8;
		if (i == 5)
			header->e_phnum = PN_XNUM;
		if (i == 6)
			notes->p_filesz = UINT64_MAX - NOTES_AT + 1;
		assert_true(receive(core, len, 4 * MIB, out, &r) < 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_fits_is_as_it_came),
		cmocka_unit_test(stacks_and_small_parts_come_before_the_heap),
		cmocka_unit_test(a_stream_that_ends_early_is_kept_as_far_as_it_came),
		cmocka_unit_test(a_hole_at_the_end_counts),
		cmocka_unit_test(what_does_not_begin_as_a_core_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
