/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of running Ray pods, from what their sidecars answer at /memory. Pure. A pod may answer anything. */
#ifndef AFTERGLOW_PLUGIN_TOP_H
#define AFTERGLOW_PLUGIN_TOP_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"

/* Of one answer; more are left out. */
#define TOP_CONTAINERS_MAX 32
#define TOP_COMPONENTS_MAX 64
#define TOP_PROCESSES_MAX 32
/* Lines of components; the smallest are summed up in another one. */
#define TOP_LINES_MAX 40

/*
 * answers: an array of {"namespace", "pod", "memory": what the sidecar answered}. Prints a line for each container, the fullest first, then a
 * line for each kind and name of task, actor and part of Ray in all of them, the largest first. With namespaces there is a column for
 * the namespace; with processes the largest processes of each container follow.
 */
void top_text(const cJSON *answers, bool namespaces, bool processes, struct strbuf *out);

#endif
