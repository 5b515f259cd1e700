/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the node's core pattern, and matches names against it. */
#include "sidecar/launch/core_pattern.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/macros.h"

/*
 * A pattern of many texts side by side ("%e%h%f") can match a name in many ways, so the number of
 * tries is limited.
 */
#define STEPS_MAX 20000

/*
 * The specifiers that the kernel replaces by digits, and those that it replaces by text. It drops
 * all others.
 */
#define NUMBERS "pPiIugdstcC"
#define TEXTS "hefE"

void core_pattern_parse(const char *text, bool uses_pid, bool sockets,
			struct core_pattern *ret_pattern)
{
	struct core_pattern p = { .target = CORE_TO_RELATIVE };
	size_t len = strcspn(text, "\n");

	if (len > CORE_PATTERN_MAX)
		len = CORE_PATTERN_MAX;
	if (len > 0 && text[0] == '|')
		p.target = CORE_TO_PIPE;
	else if (len > 0 && text[0] == '@' && sockets)
		p.target = CORE_TO_SOCKET;
	else if (len > 0 && text[0] == '/')
		p.target = CORE_TO_ABSOLUTE;
	if (p.target == CORE_TO_PIPE || p.target == CORE_TO_SOCKET) {
		text++;
		len--;
	}
	memcpy(p.text, text, len);
	if (uses_pid && !strstr(p.text, "%p") && p.target != CORE_TO_PIPE &&
	    p.target != CORE_TO_SOCKET)
		memcpy(p.text + len, ".%p", 4);
	else if (len == 0)
		p.target = CORE_TO_NOTHING;
	*ret_pattern = p;
}

static bool read_line(const char *proc, const char *name, char *line, size_t size)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/sys/kernel/%s", proc, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, line, size - 1);
	line[len < 0 ? 0 : len] = '\0';
	return len >= 0;
}

bool core_pattern_read(const char *proc, struct core_pattern *ret_pattern)
{
	char text[CORE_PATTERN_MAX + 2], uses_pid[16], modes[128];

	if (!read_line(proc, "core_pattern", text, sizeof(text)))
		return false;
	read_line(proc, "core_uses_pid", uses_pid, sizeof(uses_pid));
	/*
	 * The kernel lists what it can do since 6.17. Without the list, "@" is part of a file's
	 * name, as it was before 6.16.
	 */
	read_line(proc, "core_modes", modes, sizeof(modes));
	core_pattern_parse(text, uses_pid[0] == '1', strstr(modes, "socket") != NULL, ret_pattern);
	return true;
}

bool core_component_literal(const char *component, char ret_name[static CORE_PATTERN_MAX + 16])
{
	size_t n = 0;

	for (const char *p = component; *p; p++) {
		if (*p == '%') {
			p++;
			if (!*p)
				break; /* a '%' at the end is dropped */
			if (*p != '%' && strchr(NUMBERS TEXTS, *p))
				return false;
			if (*p != '%')
				continue; /* an unknown specifier is dropped */
		}
		if (n < CORE_PATTERN_MAX + 15)
			ret_name[n++] = *p;
	}
	ret_name[n] = '\0';
	return true;
}

struct matcher {
	struct core_name found;
	int steps;
};

static void take_number(struct core_name *found, char letter, const char *digits, size_t len)
{
	long value = len < 10 ? strtol(digits, NULL, 10) : 0;

	if (letter == 'p')
		found->pid = (pid_t)value;
	else if (letter == 'i')
		found->tid = (pid_t)value;
	else if (letter == 's')
		found->signal = value < 65 ? (int)value : 0;
}

static void take_comm(struct core_name *found, const char *text, size_t len)
{
	size_t n = 0;

	for (; n < len && n < CORE_COMM_MAX; n++)
		found->comm[n] = text[n] > ' ' && text[n] < 0x7f ? text[n] : '_';
	found->comm[n] = '\0';
}

static bool match(struct matcher *m, const char *pattern, const char *name);

/* Tries as many characters as the specifier can have, then fewer. */
static bool match_specifier(struct matcher *m, char letter, const char *rest, const char *name)
{
	bool number = strchr(NUMBERS, letter) != NULL;
	size_t max = number ? strspn(name, "0123456789") : strlen(name);
	struct core_name before = m->found;

	for (size_t len = max + 1; len-- > (number ? 1u : 0u);) {
		m->found = before;
		if (number)
			take_number(&m->found, letter, name, len);
		else if (letter == 'e')
			take_comm(&m->found, name, len);
		if (match(m, rest, name + len))
			return true;
	}
	m->found = before;
	return false;
}

static bool match(struct matcher *m, const char *pattern, const char *name)
{
	for (; *pattern; pattern++) {
		if (m->steps++ > STEPS_MAX)
			return false;
		if (*pattern == '%') {
			char letter = pattern[1];

			if (!letter)
				break;
			if (letter != '%' && strchr(NUMBERS TEXTS, letter))
				return match_specifier(m, letter, pattern + 2, name);
			pattern++;
			if (letter != '%')
				continue;
		}
		if (*name++ != *pattern)
			return false;
	}
	return *name == '\0';
}

bool core_component_match(const char *component, const char *name, struct core_name *ret_name)
{
	struct matcher m = { 0 };

	if (!match(&m, component, name))
		return false;
	*ret_name = m.found;
	return true;
}
