/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source line of a place in Python bytecode. */
#include "sidecar/unwind/python_lines.h"

#include <limits.h>
#include <stdbool.h>

/* Tables are hostile: lines stay numbers that one can print. */
static int add(int line, int64_t delta)
{
	int64_t sum = (int64_t)line + delta;

	return sum < 0 || sum > INT_MAX / 2 ? 0 : (int)sum;
}

/* Pairs: bytes of bytecode up to which the line holds, signed step to the next line. */
static int lnotab(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line = add(line, (int8_t)table[i + 1]);
	}
	return line;
}

#define NO_LINE (-128)

/* Pairs: bytes that this entry covers, signed step from the line of the one before. */
static int linetable(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line = add(line, delta);
		if (offset < end)
			return delta == NO_LINE ? 0 : line;
	}
	return 0;
}

/* Six bits a byte, low ones first, bit 6: more follow. Only bytes without bit 7 belong to it. */
static int64_t signed_varint(const uint8_t *table, size_t len, size_t i)
{
	uint64_t value = 0;
	bool more = true;

	for (unsigned int shift = 0; more && i < len && !(table[i] & 0x80) && shift < 36; i++, shift += 6) {
		value |= (uint64_t)(table[i] & 0x3f) << shift;
		more = table[i] & 0x40;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/* Entries begin with a byte with bit 7: kind in bits 3 to 6, length in code units less one in bits 0 to 2. */
static int locations(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i < len;) {
		unsigned int kind = (table[i] >> 3) & 0xf;

		end += 2 * ((table[i] & 7) + 1);
		if (kind >= 13 && kind <= 14)
			line = add(line, signed_varint(table, len, i + 1));
		else if (kind >= 10 && kind <= 12)
			line = add(line, kind - 10);
		if (offset < end)
			return kind == 15 ? 0 : line;
		do
			i++;
		while (i < len && !(table[i] & 0x80));
	}
	return 0;
}

int python_line(enum python_lines kind, const uint8_t *table, size_t len, int first, int64_t offset)
{
	if (first < 0 || offset < 0)
		return add(first, 0);
	switch (kind) {
	case PYTHON_LNOTAB:
		return lnotab(table, len, first, offset);
	case PYTHON_LINETABLE:
		return linetable(table, len, first, offset);
	default:
		return locations(table, len, first, offset);
	}
}
