/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the names of a process in as little memory as possible. */
#include "sidecar/sample/process_title.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(PROCESS_NAME_MAX + PROCESS_COMMAND_MAX <= UINT8_MAX,
	       "the label begins where a byte can say");

struct process_title *process_title_new(const char name[static PROCESS_NAME_MAX],
					const char command[static PROCESS_COMMAND_MAX])
{
	char label[PROCESS_NAME_MAX];
	enum component_kind kind = component_of(name, command, label);
	size_t name_size = strnlen(name, PROCESS_NAME_MAX - 1) + 1,
	       command_size = strnlen(command, PROCESS_COMMAND_MAX - 1) + 1;
	size_t label_size = strlen(label) + 1;
	struct process_title *t = calloc(1, sizeof(*t) + name_size + command_size + label_size);

	if (!t)
		return NULL;
	t->kind = kind;
	t->command = (uint8_t)name_size;
	t->label = (uint8_t)(name_size + command_size);
	memcpy(t->text, name, name_size - 1);
	memcpy(t->text + t->command, command, command_size - 1);
	memcpy(t->text + t->label, label, label_size - 1);
	return t;
}

bool process_title_is(const struct process_title *t, const char *name, const char *command)
{
	return strcmp(process_title_name(t), name) == 0 &&
	       strcmp(process_title_command(t), command) == 0;
}
