/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the names of processes with those of a kernel log. */
#include "sidecar/kernel/kernel_question.h"

#include <string.h>

#define COMM_MAX 15 /* TASK_COMM_LEN without the NUL */

bool kernel_suspect_is_named(const struct kernel_suspect *s, const char *comm)
{
	size_t n = strlen(comm);

	if (n == 0 || strncmp(s->name, comm, n) != 0)
		return false;
	return s->name[n] == '\0' || s->name[n] == ' ' || n == COMM_MAX;
}
