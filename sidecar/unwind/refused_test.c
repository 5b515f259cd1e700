/* SPDX-License-Identifier: Apache-2.0 */
#include "sidecar/unwind/refused.h"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>

#include "lib/macros.h"
#include <elf.h>
#include <limits.h>
#include <string.h>

static const struct {
	uint16_t machine;
	int number;
	const char *expected;
} calls[] = {
	{ EM_X86_64, 425, "io_uring_setup" },
	{ EM_AARCH64, 425, "io_uring_setup" },
	{ EM_X86_64, 321, "bpf" },
	{ EM_AARCH64, 280, "bpf" },
	{ EM_AARCH64, 57, "57" },
	{ EM_AARCH64, -1, "-1" },
	{ EM_X86_64, INT_MIN, "-2147483648" },
	{ EM_X86_64, 39, "39" },
	{ EM_S390, 425, "425" },
};

static void a_system_call_has_its_machines_name_or_its_number(void **state)
{
	char text[REFUSED_TEXT_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		assert_string_equal(refused_system_call(calls[i].machine, calls[i].number, text),
				    calls[i].expected);
}

static const struct {
	struct core_code code;
	const char *begins;
} instructions[] = {
	{ { .at = { 0x62, 0xf2, 0x7f, 0x48, 0x52, 0x00 }, .n_at = 6 }, "an AVX-512" },
	{ { .at = { 0xc5, 0xfc, 0x28 }, .n_at = 3 }, "an instruction of AVX," },
	{ { .at = { 0xc4, 0xe2 }, .n_at = 2 }, "an instruction of AVX," },
	{ { .at = { 0x0f, 0x0b }, .n_at = 2 }, "ud2," },
	{ { .at = { 0x66, 0x0f, 0x38 }, .n_at = 3 }, NULL },
	{ { .at = { 0x62 }, .n_at = 1 }, NULL },
	{ { .n_at = 0 }, NULL },
};

static void an_instruction_is_named_by_its_first_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(instructions); i++) {
		const char *name = refused_instruction(&instructions[i].code);

		if (!instructions[i].begins)
			assert_null(name);
		else
			assert_memory_equal(name, instructions[i].begins,
					    strlen(instructions[i].begins));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_system_call_has_its_machines_name_or_its_number),
		cmocka_unit_test(an_instruction_is_named_by_its_first_bytes),
	};

	return cmocka_run_group_tests_name("refused", tests, NULL, NULL);
}
