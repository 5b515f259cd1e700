/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the verdict on a command that was never executed. */
#include "sidecar/verdict/unstarted.h"

#include <errno.h>
#include <string.h>

#define COMMAND_SHOWN 120

void unstarted_verdict(const struct observation *o, struct verdict *v)
{
	const struct unstarted *u = o->unstarted;
	const char *name = strerrorname_np(u->error), *words = strerror(u->error);

	v->class = u->error == ENOENT && !u->there ? FAILURE_COMMAND_NOT_FOUND : FAILURE_COMMAND_NOT_EXECUTABLE;
	v->confidence = CONFIDENCE_CERTAIN;
	verdict_add_evidence(v, "launcher", "execve of %.*s gave %s (%s)", COMMAND_SHOWN, u->command, name ? name : "an error", words);
	if (u->error == ENOENT && u->there)
		verdict_say(v, "Container %.63s could not start its command %.*s: the file is there, but not the interpreter or loader that it names.",
			    o->container, COMMAND_SHOWN, u->command);
	else
		verdict_say(v, "Container %.63s could not start its command %.*s: %s.", o->container,
			    COMMAND_SHOWN, u->command[0] ? u->command : "\"\"", words);
}
