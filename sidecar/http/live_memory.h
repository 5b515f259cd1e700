/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the answer of /memory: the memory that the pod's containers use now, by process, task and
 * actor. Pure: time is an argument.
 *
 *	{"podUID": "...", "containers": [{"container", "processCount", "memory": as in report.json,
 *	"components": as there,
 *	 "otherProcesses": {"count", "bytes"}, "processes": as in report.json, without command lines,
 *	 "needs": what it has needed so far (sidecar/ending/memory_needs.h)}]}
 *
 * Every process that reaches the port can read it, so it has the names of processes and never their
 * command lines. components and otherProcesses together account for all processes of the last
 * sweep; processes lists the largest.
 */
#pragma once

#include <cjson/cJSON.h>

#include "sidecar/watch/observer.h"

#define LIVE_MEMORY_CONTAINERS_MAX 32 /* further containers are left out */
#define LIVE_MEMORY_NEEDS_MAX 4 /* containers that have "needs" */
#define LIVE_MEMORY_JSON_MAX ((size_t)2 << 20) /* bytes of the answer */

/*
 * Appends the container that o observes to the array. Does nothing if the array is full, if there
 * is no sample yet, or if a container of that name is there already: a launcher that reconnects may
 * have two connections for a moment. now_ns: CLOCK_BOOTTIME.
 */
void live_memory_add(cJSON *containers, const char *name, const struct observer *o, int64_t now_ns);
