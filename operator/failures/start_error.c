/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out why a container could not be started. */
#include "operator/failures/start_error.h"

#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/sidecar_names.h"
#include "operator/failures/termination.h"

/* Adds a hint that the image has no shell, and that the webhook has put one before the command. */
static void add_shell_hint(const cJSON *pod, const char *message, char *sentence, size_t size)
{
	size_t len = strlen(sentence);

	if (!json_find(json_get(pod, "spec.containers"), "name", SIDECAR_CONTAINER) ||
	    (!strstr(message, "exec: \"/bin/sh\"") && !strstr(message, "exec: \"/bin/bash\"")))
		return;
	snprintf(sentence + len, size - len,
		 " (Afterglow starts the command by that shell; annotation afterglow.dev/inject: \"false\" leaves it as it is)");
}

/* The last one in the runtime's chain of causes is the cause itself. */
void start_error_add(const cJSON *pod, const char *message, char *sentence, size_t size)
{
	static const char runtime[] = "unable to start container process: ";
	size_t len = strlen(sentence);

	if (!message || !*message || len + 16 > size)
		return;
	const char *cause = strstr(message, runtime);
	memcpy(sentence + len, ": ", 3);
	text_tame(cause ? cause + strlen(runtime) : message, sentence + len + 2, MIN(size - len - 2, (size_t)200));
	add_shell_hint(pod, message, sentence, size);
}
