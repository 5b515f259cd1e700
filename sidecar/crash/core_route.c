/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why there is no core. */
#include "sidecar/crash/core_route.h"

#include <stdio.h>
#include <string.h>

/* Returns the length of the program's path, without its arguments. */
static int program_length(const char *command)
{
	size_t blanks = strspn(command, " ");

	return (int)(blanks + strcspn(command + blanks, " "));
}

void core_route_needs(const struct core_pattern *pattern, bool capturing, bool status_known,
		      bool dumped, char *text, size_t size)
{
	if (!capturing)
		snprintf(text, size, "--cores summary or full (Helm: recording.coreDumps)");
	else if (!pattern)
		snprintf(text, size, "a readable /proc/sys/kernel/core_pattern");
	else if (pattern->target == CORE_TO_PIPE && strstr(pattern->text, "/afterglow-core"))
		snprintf(
			text, size,
			"the node agent to have brought it: its program on the node takes cores, and the sidecar got none of this "
			"process. In a pod with hostPID, or one that is older than the agent, it cannot reach the sidecar");
	else if (pattern->target == CORE_TO_PIPE)
		snprintf(
			text, size,
			"a node that writes cores to files: its kernel.core_pattern pipes them to %.*s, outside of all "
			"containers; sysctl kernel.core_pattern=core on the node, or the node agent, changes that",
			program_length(pattern->text), pattern->text);
	else if (pattern->target == CORE_TO_SOCKET)
		snprintf(
			text, size,
			"a node that writes cores to files: its kernel.core_pattern sends them to the socket %s of the "
			"node; sysctl kernel.core_pattern=core on the node changes that",
			pattern->text + (pattern->text[0] == '@'));
	else if (pattern->target == CORE_TO_NOTHING)
		snprintf(text, size,
			 "a kernel.core_pattern on the node: it is empty, so no core is written");
	else if (status_known && !dumped)
		snprintf(
			text, size,
			"the kernel to write one: the core limit was 0 (ulimit -c; by itself the launcher asks "
			"for none in a filesystem in memory), the process was not dumpable, or %s could not be "
			"written to",
			pattern->target == CORE_TO_ABSOLUTE ? pattern->text :
							      "its working directory");
	else if (pattern->target == CORE_TO_ABSOLUTE)
		snprintf(
			text, size,
			"the core that the node's kernel.core_pattern puts at %s in the container: it was not found there",
			pattern->text);
	else
		snprintf(
			text, size,
			"the core \"%s\" in the process's working directory: it was not found there",
			pattern->text);
}
