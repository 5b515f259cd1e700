/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums up what the tasks, actors and pods of a cluster have needed, from the sidecars' "needs"
 * (sidecar/ending/memory_needs.h), and says what to set, each with the sum it comes from. The
 * answers are not trusted. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/strbuf.h"

/* Of all together. Tasks that need less are "all others"; groups that come later are left out. */
#define MEMORY_NAMES_MAX 1000
#define MEMORY_COUNTS_MAX \
	128 /* more than there are sizes of runs (TASK_BUCKETS of sidecar/sample/task_memory.h) */
#define MEMORY_GROUPS_MAX 100

/*
 * answers: an array of {"group", "needs", "ofCommand"}, one for each container, or for each command
 * without Kubernetes. Returns a new value that the caller frees, NULL if there is no memory:
 *
 *	{"kind": "MemoryNeeds", "schemaVersion": 1, "since", "ofCommands": whether the first answer
 *	is of a command,
 *	 "tasks": [{"name", "runs", "atOnce", "medianBytes", "p95Bytes", "peakBytes"}], the one
 *	 that needs most first "groups": [{"name", "containers", "limitBytes", "cpus",
 *	 "memoryBytes", "objectStoreBytes", "workingSetBytes", "anonBytes",
 *	  "fileBytes", "shmemBytes", "kernelBytes", "besideTasksBytes", "task": the one that needs
 *	  most there, "taskBytes"}],
 *	 "advice": [{"of": a task or a group, "set", "because"}]}
 *
 * Absent facts are null. A group has the largest of its containers' numbers, and the smallest
 * limit.
 */
cJSON *memory_advice(const cJSON *answers);

/*
 * Prints it as tables and lines. before: an earlier one to compare with, perhaps untrusted; NULL:
 * none.
 */
void memory_advice_text(const cJSON *now, const cJSON *before, struct strbuf *out);
