/* SPDX-License-Identifier: Apache-2.0 */
/* Parses a line of /proc/PID/mountinfo. */
#include "sidecar/sample/mountinfo.h"

#include <string.h>

/* Returns the byte for "ooo" at p, or -1. sscanf would accept fewer digits and read further. */
static int octal_byte(const char *p)
{
	int value = 0;

	for (int i = 0; i < 3; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		value = value * 8 + p[i] - '0';
	}
	return value & 0xff;
}

/*
 * mountinfo writes blank, tab, newline and backslash as \ooo. Unescapes the field at *p into buf.
 */
static void take_field(const char **p, char *buf, size_t size)
{
	size_t n = 0;

	while (**p == ' ')
		(*p)++;
	while (**p && **p != ' ' && **p != '\n') {
		int byte = **p == '\\' ? octal_byte(*p + 1) : -1;
		char c = byte >= 0 ? (char)byte : **p;

		if (byte >= 0)
			*p += 3;
		(*p)++;
		if (n + 1 < size)
			buf[n++] = c;
	}
	buf[n] = '\0';
}

bool mount_parse(const char *line, struct mount *m)
{
	char skip[MOUNT_FIELD_MAX];

	for (int i = 0; i < 2; i++)
		take_field(&line, skip, sizeof(skip));
	take_field(&line, m->device, sizeof(m->device));
	take_field(&line, m->root, sizeof(m->root));
	take_field(&line, m->point, sizeof(m->point));
	take_field(&line, m->options, sizeof(m->options));
	do {
		take_field(&line, skip, sizeof(skip));
	} while (skip[0] && strcmp(skip, "-") != 0);
	take_field(&line, m->type, sizeof(m->type));
	take_field(&line, skip, sizeof(skip));
	take_field(&line, m->super_options, sizeof(m->super_options));
	return m->super_options[0] != '\0';
}
