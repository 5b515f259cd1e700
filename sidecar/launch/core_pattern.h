/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the node's /proc/sys/kernel/core_pattern, which says where the kernel puts
 * cores, and decides whether a file's name can be that of a core (core(5)).
 *
 * The kernel expands the pattern for each process that dumps. The launcher does not
 * know which process that will be, so it matches names against the pattern instead:
 * each specifier matches what it can expand to, and the match gives its value.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#define CORE_PATTERN_MAX 127 /* bytes; the kernel keeps no more */
#define CORE_COMM_MAX 63

enum core_target {
	CORE_TO_NOTHING, /* an empty pattern: no core anywhere */
	CORE_TO_RELATIVE, /* in the working directory of the process, or below it */
	CORE_TO_ABSOLUTE, /* in a directory below the process's own root */
	CORE_TO_PIPE, /* a program on the node, outside of every container */
	CORE_TO_SOCKET, /* a socket of the node (Linux 6.16) */
};

struct core_pattern {
	enum core_target target;
	char text[CORE_PATTERN_MAX + 16]; /* without '|' and '@'; with what core_uses_pid adds */
};

/* What the name of a core shows. Members are 0 or "" if the pattern has no such specifier. */
struct core_name {
	pid_t pid; /* %p: of the container's namespace */
	pid_t tid; /* %i */
	int signal; /* %s */
	char comm[CORE_COMM_MAX + 1]; /* %e, "" or printable without blanks */
};

/* Parses a pattern. sockets: the kernel supports '@' (kernel/core_modes lists it). Pure. */
void core_pattern_parse(const char *text, bool uses_pid, bool sockets,
			struct core_pattern *ret_pattern);

/* Reads the pattern from PROC/sys/kernel. Returns false if it cannot be read. */
bool core_pattern_read(const char *proc, struct core_pattern *ret_pattern);

/*
 * Whether a component of the pattern is a plain name, without specifiers. If so, ret_name is that
 * name, unescaped.
 */
bool core_component_literal(const char *component, char ret_name[static CORE_PATTERN_MAX + 16]);

/*
 * Whether the kernel can expand this component of a pattern to name. If so, ret_name is what the
 * name shows. The work is bounded for any name.
 */
bool core_component_match(const char *component, const char *name, struct core_name *ret_name);
