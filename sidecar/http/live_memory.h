/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /memory: what the containers of the pod hold now, by processes, tasks and actors. Pure; time is an argument.
 *
 *	{"podUID": "...", "containers": [{"container", "processCount", "memory": as in report.json, "components": as there,
 *	 "otherProcesses": {"count", "bytes"}, "processes": as in report.json, without command lines}]}
 *
 * Everybody who reaches the port reads it, so it has the names of processes and never their command lines. components and
 * otherProcesses account for all processes of the last sweep; processes are the largest.
 */
#ifndef AFTERGLOW_SIDECAR_HTTP_LIVE_MEMORY_H
#define AFTERGLOW_SIDECAR_HTTP_LIVE_MEMORY_H

#include <cjson/cJSON.h>

#include "sidecar/record/observer.h"

#define LIVE_MEMORY_CONTAINERS_MAX 32 /* more are left out */
#define LIVE_MEMORY_JSON_MAX ((size_t)1 << 20)

/*
 * Appends the container to the array, unless one of that name is there (the old connection of a launcher that came back), the array
 * is full, or nothing was sampled yet. now_ns: CLOCK_BOOTTIME.
 */
void live_memory_add(cJSON *containers, const char *name, const struct observer *o, int64_t now_ns);

#endif
