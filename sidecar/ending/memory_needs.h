/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a container and its tasks and actors have needed so far, as JSON: "needs" in an answer of
 * /memory, and task-memory.json of a bundle. The sum of the containers that have ended is the
 * sidecar's own termination message (lib/memory_needs.h).
 *
 *	{"since": time,
 *	 "node": {"head", "cpus", "memoryBytes", "objectStoreBytes"},  what Ray was given; null:
 *	 not known "limitBytes", "peaks": {"workingSetBytes", "anonBytes", "fileBytes",
 *	 "shmemBytes", "kernelBytes", "besideTasksBytes"}, "tasks": [{"name", "runs", "atOnce",
 *	 "peakBytes", "runsByPeak": [[bytes, runs], ...]}], "otherTasks": the same without a name;
 *	 null: there are none}
 *
 * peaks are the most that samples since then have seen, each at its own time. runsByPeak counts the
 * runs by the most that each has held: so many had no more than these bytes, and more than those
 * before. The rules are those of sidecar/sample/task_memory.h. A sidecar that starts again begins
 * anew.
 */
#pragma once

#include <cjson/cJSON.h>

#include "sidecar/watch/observer.h"

/* Returns a new value that the caller frees; null if nothing was sampled. */
cJSON *memory_needs_json(const struct observer *o);
