/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the fields of a trace event by the text of events/SYSTEM/NAME/format in tracefs, because
 * their places differ between kernels. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_field {
	uint16_t offset, size; /* bytes; size 0: the event has no such field */
};

/*
 * The event's ID, with which each of its records begins; -1: text is not the text of a format file.
 */
int trace_format_id(const char *text);

/* Finds a field by its name without the array's brackets: "comm" for "char comm[16]". */
struct trace_field trace_format_field(const char *text, const char *name);

/*
 * Reads a signed integer of 2, 4 or 8 bytes from the record data. Returns absent if the record is
 * too short or has no such field.
 */
int64_t trace_integer(const unsigned char *data, size_t len, struct trace_field field,
		      int64_t absent);
