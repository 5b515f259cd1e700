/* SPDX-License-Identifier: Apache-2.0 */
/* Where an event of tracefs has its fields: reads events/SYSTEM/NAME/format, which differs between kernels. Pure. */
#ifndef AFTERGLOW_NODE_TRACE_FORMAT_H
#define AFTERGLOW_NODE_TRACE_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_field {
	uint16_t offset, size; /* size 0: the event has no such field */
};

/* The number of the event, which each of its records begins with; -1: text is no such file. */
int trace_format_id(const char *text);

/* The field of that name, without what its type adds: "comm" for "char comm[16]". */
struct trace_field trace_format_field(const char *text, const char *name);

/* An integer of 2, 4 or 8 bytes, signed; absent where the record is too short or has no such field. */
int64_t trace_integer(const unsigned char *data, size_t len, struct trace_field field, int64_t absent);

#endif
