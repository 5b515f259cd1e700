/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of putting equal stacks together. */
#include "sidecar/stack_groups.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

#define WAITS "  Python, innermost first:\n     train.py:88 in all_reduce\n"
#define LOADS "  Python, innermost first:\n     data.py:40 in next\n"

static const char *written(const char *answer, size_t processes, struct strbuf *out)
{
	char text[4096];

	*out = STRBUF_INIT(65536);
	assert_true(strlen(answer) < sizeof(text));
	memcpy(text, answer, strlen(answer) + 1);
	assert_int_equal(stack_groups_write(text, out), processes);
	return strbuf_str(out);
}

static void the_stack_that_differs_comes_first(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	assert_string_equal(written("target 5 rank 0\nprocess 5 stopped for 900 us, threads: 2\nthread 5 S still python3\n" WAITS
				    "thread 6 S still grpc\n  native, innermost first:\n     poll (libc.so.6)\n"
				    "target 7 rank 1\nprocess 7 stopped for 1500 us, threads: 1\nthread 7 R moved python3\n" LOADS
				    "target 8 rank 2\nprocess 8 stopped for 100 us, threads: 1\nthread 8 S still python3\n" WAITS "end\n",
				    3, &out),
			    "3 processes, 4 threads; a process stood still for at most 1.5 ms\n"
			    "\nMain thread of 1 of 3 processes:\n"
			    "  PID 7 rank 1: ran, and has gone on since: Python's lines may be later\n" LOADS
			    "\nMain thread of 2 of 3 processes:\n"
			    "  PID 5 rank 0: waits\n  PID 8 rank 2: waits\n" WAITS
			    "\n1 other thread:\n"
			    "  PID 5 rank 0, thread 6 grpc: waits\n"
			    "  native, innermost first:\n     poll (libc.so.6)\n");
}

static void what_could_not_be_seen_is_said(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	assert_string_equal(written("target 5 a b\nfailed it has ended\ntarget 6 c\nprocess 6 stopped for 0 us, threads: 1\n"
				    "note Python's frames are not seen: x\nthread 6 D moved c\n  native: not seen\nend\n",
				    2, &out),
			    "PID 5 a b: no stacks: it has ended\n"
			    "PID 6: Python's frames are not seen: x\n"
			    "2 processes, 1 thread; a process stood still for at most 0.0 ms\n"
			    "\nMain thread of 1 of 2 processes:\n"
			    "  PID 6 c: in the kernel, uninterruptible\n"
			    "  native: not seen\n");
}

static void an_answer_that_is_cut_or_forged_harms_nobody(void **state)
{
	static const char *const rows[] = {
		"", "\n", "end\n", "thread\n", "thread 1\n", "thread x S still\n", "  a stack without a thread\n", "process\n",
		"thread 1 S still a", "failed \n", "note \n", "thread 1 S stillstillstill a\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out;

		written(rows[i], 0, &out);
	}
}

/* Whoever runs a program chooses the names of its files, and any user may listen where root asks. */
static void names_drive_no_terminal(void **state)
{
	_cleanup_strbuf_ struct strbuf out;

	(void)state;
	written("target 5 a\x1b]0;owned\x07\nprocess 5 stopped for 0 us, threads: 1\n"
		"note Python's frames are not seen: python3\x1b[2J: no symbol\nfailed \xc2\x9b" "2J\n"
		"thread 5 S still b\x1b[31m\n  native, innermost first:\n     f\x1b[8m (lib\r.so)\nend\n", 1, &out);
	assert_null(strpbrk(strbuf_str(&out), "\x1b\x07\x9b\r"));
	assert_non_null(strstr(strbuf_str(&out), "python3?[2J: no symbol\n"));
	assert_non_null(strstr(strbuf_str(&out), "     f?[8m (lib?.so)\n"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_stack_that_differs_comes_first),
		cmocka_unit_test(what_could_not_be_seen_is_said),
		cmocka_unit_test(an_answer_that_is_cut_or_forged_harms_nobody),
		cmocka_unit_test(names_drive_no_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
