/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source line of a place in Python bytecode. */
#include "sidecar/unwind/python_lines.h"

#include <limits.h>
#include <stdbool.h>

/* Adds without leaving the range of line numbers, because the tables may be forged. */
static int python_lines_add(int line, int64_t delta)
{
	int64_t sum = (int64_t)line + delta;

	return sum < 0 || sum > INT_MAX / 2 ? 0 : (int)sum;
}

/*
 * The table has pairs: the bytes of bytecode up to which the line holds, and a signed step to the
 * next line.
 */
static int python_lines_lnotab(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t at = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		at += table[i];
		if (at > offset)
			break;
		line = python_lines_add(line, (int8_t)table[i + 1]);
	}
	return line;
}

#define NO_LINE (-128)

/*
 * The table has pairs: the bytes that this entry covers, and a signed step from the previous
 * entry's line.
 */
static int linetable(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i + 1 < len; i += 2) {
		int8_t delta = (int8_t)table[i + 1];

		end += table[i];
		if (delta != NO_LINE)
			line = python_lines_add(line, delta);
		if (offset < end)
			return delta == NO_LINE ? 0 : line;
	}
	return 0;
}

/*
 * Reads a number with six bits per byte, low bits first. Bit 6 says that more bytes follow. A byte
 * with bit 7 does not belong to it.
 */
static int64_t signed_varint(const uint8_t *table, size_t len, size_t i)
{
	uint64_t value = 0;
	bool more = true;

	for (unsigned int shift = 0; more && i < len && !(table[i] & 0x80) && shift < 36;
	     i++, shift += 6) {
		value |= (uint64_t)(table[i] & 0x3f) << shift;
		more = table[i] & 0x40;
	}
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

/*
 * Each entry begins with a byte that has bit 7, the kind in bits 3 to 6, and the length in code
 * units minus one in bits 0 to 2.
 */
static int locations(const uint8_t *table, size_t len, int line, int64_t offset)
{
	int64_t end = 0;

	for (size_t i = 0; i < len;) {
		unsigned int kind = (table[i] >> 3) & 0xf;

		end += 2 * ((table[i] & 7) + 1);
		if (kind >= 13 && kind <= 14)
			line = python_lines_add(line, signed_varint(table, len, i + 1));
		else if (kind >= 10 && kind <= 12)
			line = python_lines_add(line, kind - 10);
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
		return python_lines_add(first, 0);
	switch (kind) {
	case PYTHON_LNOTAB:
		return python_lines_lnotab(table, len, first, offset);
	case PYTHON_LINETABLE:
		return linetable(table, len, first, offset);
	default:
		return locations(table, len, first, offset);
	}
}
