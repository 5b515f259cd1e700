/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a script in front of a container's command. */
#include "operator/injection/launch_command.h"

#include <string.h>

#include "lib/json.h"

static bool runs_by(const cJSON *command, const char *name)
{
	const char *program = cJSON_GetStringValue(command ? command->child : NULL),
		   *slash = program ? strrchr(program, '/') : NULL;

	return program && strcmp(slash ? slash + 1 : program, name) == 0;
}

/*
 * Returns whether the shell is bash. It is if the command starts with bash, as KubeRay's and ours
 * do, because then the image has it. Otherwise it is any shell.
 */
static bool needs_bash(const cJSON *command)
{
	return TEXT_IS_ONE_OF(cJSON_GetStringValue(command->child), "/bin/bash", "bash");
}

/* The words of the command become the arguments of the script. */
static void put_in_front(cJSON *container, const char *script)
{
	cJSON *command = json_get(container, "command"), *args = cJSON_Duplicate(command, true),
	      *item;
	bool bash = needs_bash(command);

	cJSON_ArrayForEach(item, json_get(container, "args"))
		json_append(args, cJSON_Duplicate(item, true));
	command = cJSON_CreateArray();
	json_append_str(command, bash ? "/bin/bash" : "/bin/sh");
	/*
	 * Else bash would run the file that BASH_ENV names, once more than the command's own shell
	 * does.
	 */
	if (bash)
		json_append_str(command, "--posix");
	json_append_str(command, "-c");
	json_append_str(command, script);
	json_append_str(command, "afterglow"); /* becomes $0 */
	json_set(container, "command", command);
	json_set(container, "args", args);
}

bool launch_command_wrap(cJSON *container, const struct launch_script *script)
{
	const cJSON *command = json_get(container, "command");
	_cleanup_free_ char *text = NULL;

	if (!cJSON_IsArray(command) || !command->child)
		return false;
	text = launch_script(script);
	if (text)
		put_in_front(container, text);
	return text;
}

bool launch_command_wait(cJSON *container, const char *port)
{
	const cJSON *command = json_get(container, "command");
	_cleanup_free_ char *script = NULL;

	if (!runs_by(command, "bash") && !runs_by(command, "sh"))
		return false;
	script = wait_script(port);
	if (script)
		put_in_front(container, script);
	return script;
}
