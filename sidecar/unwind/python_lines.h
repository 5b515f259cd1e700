/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the source line of a place in Python bytecode, from the tables of its code object. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum python_lines {
	PYTHON_LNOTAB, /* to 3.9: Objects/lnotab_notes.txt */
	PYTHON_LINETABLE, /* 3.10: the same file, PEP 626 */
	PYTHON_LOCATIONS, /* from 3.11: Objects/locations.md, PEP 657 */
};

/*
 * first is the line at which the function begins, offset is in bytes of bytecode. Returns 0 if no
 * line belongs to that place.
 */
int python_line(enum python_lines kind, const uint8_t *table, size_t len, int first,
		int64_t offset);
