/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the names of a process: its name, its command line, and the component that follows from
 * them. They are in one block of memory that is as long as the texts, because a node has
 * thousands of processes and most names are short.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/sample/components.h"

struct process_title {
	enum component_kind kind;
	uint8_t command, label; /* where these texts begin */
	char text[]; /* name, command line, component's label, each with its final NUL */
};

/* Makes a title, which the caller frees with free. NULL: there is no memory. */
struct process_title *process_title_new(const char name[static PROCESS_NAME_MAX],
					const char command[static PROCESS_COMMAND_MAX]);

bool process_title_is(const struct process_title *t, const char *name, const char *command);

static inline const char *process_title_name(const struct process_title *t)
{
	return t->text;
}

static inline const char *process_title_command(const struct process_title *t)
{
	return t->text + t->command;
}

static inline const char *process_title_label(const struct process_title *t)
{
	return t->text + t->label;
}
