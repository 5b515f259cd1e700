/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the fields of a trace event. */
#include "node/trace_format.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int trace_format_id(const char *text)
{
	const char *id = strncmp(text, "ID: ", 4) == 0 ? text : strstr(text, "\nID: ");
	char *end;

	if (!id)
		return -1;
	id = strchr(id, ':') + 2;
	long value = strtol(id, &end, 10);
	return end > id && *end == '\n' && value >= 0 && value <= UINT16_MAX ? (int)value : -1;
}

/*
 * Returns whether the declaration that ends at semicolon, such as "char comm[16]" or "int sig",
 * declares name.
 */
static bool trace_format_declares(const char *declaration, const char *semicolon, const char *name)
{
	const char *end = memchr(declaration, '[', (size_t)(semicolon - declaration));
	size_t len = strlen(name);

	/* "__data_loc char[] comm" has its brackets before the name. */
	if (!end || end[1] == ']')
		end = semicolon;
	return (size_t)(end - declaration) > len && memcmp(end - len, name, len) == 0 &&
	       end[-(ptrdiff_t)len - 1] == ' ';
}

struct trace_field trace_format_field(const char *text, const char *name)
{
	const char *p = text;
	unsigned int offset, size;

	while ((p = strstr(p, "field:"))) {
		p += strlen("field:");
		const char *semicolon = strchr(p, ';');
		if (!semicolon)
			break;
		if (trace_format_declares(p, semicolon, name) &&
		    sscanf(semicolon, "; offset:%5u; size:%5u;", &offset, &size) == 2 &&
		    offset <= UINT16_MAX && size <= UINT16_MAX)
			return (struct trace_field){ (uint16_t)offset, (uint16_t)size };
	}
	return (struct trace_field){ 0, 0 };
}

int64_t trace_integer(const unsigned char *data, size_t len, struct trace_field field,
		      int64_t absent)
{
	int16_t s;
	int32_t i;
	int64_t l;

	if (!field.size || (size_t)field.offset + field.size > len)
		return absent;
	switch (field.size) {
	case sizeof(s):
		memcpy(&s, data + field.offset, sizeof(s));
		return s;
	case sizeof(i):
		memcpy(&i, data + field.offset, sizeof(i));
		return i;
	case sizeof(l):
		memcpy(&l, data + field.offset, sizeof(l));
		return l;
	default:
		return absent;
	}
}
