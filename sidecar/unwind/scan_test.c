/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of recognizing call instructions, with encodings that assemblers make. */
#include "sidecar/unwind/scan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include <string.h>

static const struct {
	const char *name;
	uint8_t bytes[7];
	bool call;
} rows[] = {
	{ "call rel32", { 0x90, 0x90, 0xe8, 1, 2, 3, 4 }, true },
	{ "call *%rax", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0 }, true },
	{ "call *%r12", { 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4 }, true },
	{ "call *(%rax)", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x10 }, true },
	{ "call *8(%rax)", { 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8 }, true },
	{ "call *0x100(%rax)", { 0x90, 0xff, 0x90, 0, 1, 0, 0 }, true },
	{ "call *x(%rip)", { 0x90, 0xff, 0x15, 1, 2, 3, 4 }, true },
	{ "call *(%rsp)", { 0x90, 0x90, 0x90, 0x90, 0xff, 0x14, 0x24 }, true },
	{ "call *8(%rax,%rbx,4)", { 0x90, 0x90, 0x90, 0xff, 0x54, 0x98, 8 }, true },
	{ "call *0x100(%rax,%rbx,4)", { 0xff, 0x94, 0x98, 0, 1, 0, 0 }, true },
	{ "call *0x1000(,%rax,8)", { 0xff, 0x14, 0xc5, 0, 0x10, 0, 0 }, true },
	{ "jmp *%rax", { 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0 }, false },
	{ "jmp rel32", { 0x90, 0x90, 0xe9, 1, 2, 3, 4 }, false },
	{ "nothing", { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90 }, false },
	{ "ret", { 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xc3 }, false },
};

static void calls_are_distinguished_from_other_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (scan_is_call(rows[i].bytes, sizeof(rows[i].bytes)) != rows[i].call)
			fail_msg("%s", rows[i].name);
	for (size_t len = 0; len < 2; len++)
		assert_false(scan_is_call(rows[0].bytes, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(
		calls_are_distinguished_from_other_code) };

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
