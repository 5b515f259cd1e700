/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the memory of running Ray pods from the answers of their sidecars at /memory. The answers
 * are not trusted. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"

/* The most that is taken from one answer; the rest is left out. */
#define TOP_CONTAINERS_MAX 32
#define TOP_COMPONENTS_MAX 64
#define TOP_PROCESSES_MAX 32
/* Lines of components; another line sums up the smallest. */
#define TOP_LINES_MAX 40

/*
 * answers: an array of {"namespace", "pod", "memory": the sidecar's answer}. Appends a line for
 * each container, the fullest first, and then a line for each task, actor and part of Ray, summed
 * over all containers, the largest first. namespaces: add a column for the namespace. processes:
 * list the largest processes of each container.
 */
void top_text(const cJSON *answers, bool namespaces, bool processes, struct strbuf *out);
