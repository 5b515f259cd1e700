/* SPDX-License-Identifier: Apache-2.0 */
/* What can be found out about an OOM kill: whether it came, and which memory ran out. */
#pragma once

#include <stdbool.h>

#include "lib/failure_class.h"

enum oom {
	OOM_NO, /* the OOM killer is ruled out */
	OOM_UNKNOWN, /* nothing shows whether it came */
	OOM_PROVED,
	OOM_PROBABLE,
	/* it took a process shortly before, but something else most likely ended the container */
	OOM_BEFORE,
};

#define OOM_CLAUSE_MAX 200

struct oom_cause {
	enum failure_class class; /* the class of a container that this kill ended */
	bool proved; /* false: it is only the most probable cause */
	/* a clause about the container: "it reached its memory limit of 4.0 GiB" */
	char clause[OOM_CLAUSE_MAX];
};
