/* SPDX-License-Identifier: Apache-2.0 */
/* Searches a stack for addresses that calls would return to. */
#include "sidecar/unwind/scan.h"

#include <elf.h>

#define CALL_LENGTH_MAX 7

/* Recognizes e8 rel32, and ff /2 with its ModRM byte, SIB byte and displacement. */
bool scan_is_call(const uint8_t *before, size_t len)
{
	const uint8_t *end = before + len;

	if (len >= 5 && end[-5] == 0xe8)
		return true;
	for (size_t n = 2; n <= CALL_LENGTH_MAX && n <= len; n++) {
		uint8_t modrm = end[-(ptrdiff_t)n + 1], mode = modrm >> 6, memory = modrm & 7;
		bool sib = mode != 3 && memory == 4;
		size_t displacement = mode == 1				      ? 1 :
				      mode == 2 || (mode == 0 && memory == 5) ? 4 :
										0;

		if (end[-(ptrdiff_t)n] != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		if (mode == 0 && sib && n >= 3 && (end[-(ptrdiff_t)n + 2] & 7) == 5)
			displacement = 4;
		if (n == 2 + (size_t)sib + displacement)
			return true;
	}
	return false;
}

static bool is_return_address(struct modules *modules, uint64_t address)
{
	uint8_t before[CALL_LENGTH_MAX];

	if (address < sizeof(before) || !modules_is_code(modules, address - 1) ||
	    !modules_at(modules, address - 1))
		return false;
	return modules_read(modules, address - sizeof(before), before, sizeof(before)) ==
		       sizeof(before) &&
	       scan_is_call(before, sizeof(before));
}

size_t scan_stack(struct modules *modules, uint64_t sp, uint64_t out[static SCAN_FOUND_MAX])
{
	uint64_t word;
	size_t n = 0;

	if (modules->core->machine->elf != EM_X86_64 || !sp)
		return 0;
	for (size_t i = 0; i < SCAN_WORDS && n < SCAN_FOUND_MAX; i++) {
		if (!core_read_u64(modules->core, sp + i * sizeof(word), &word))
			break;
		if (is_return_address(modules, word))
			out[n++] = word;
	}
	return n;
}
