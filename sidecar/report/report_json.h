/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the parts of report.json that other JSON documents share. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "sidecar/ray/ray_tally.h"
#include "sidecar/report/report.h"

/*
 * Each function returns a new value that the caller frees, or NULL if memory ran out. Absent facts
 * are null, never 0.
 */
cJSON *report_json_memory(const struct memory *m, int64_t sample_age_ns);
cJSON *report_json_processes(const struct process *top, size_t n, bool with_command);
/* Memory by tasks, actors and Ray's own parts, the largest first. */
cJSON *report_json_components(const struct components *c);
cJSON *report_json_evidence(const struct verdict *v);
/*
 * What a core shows; null without a core. The short form omits what only report.json has room for.
 */
cJSON *report_json_crash(const struct crash_info *c, bool in_few_words);
/*
 * The process that ended first: {name, pid, signal, exitCode, lastLines}, or null. The short form
 * has no lastLines.
 */
cJSON *report_json_process(const struct report *r, bool in_few_words);
/*
 * Adds rayNodeID, and rayError {name, nodeID, workerID, actorID, ip, pid} of a driver; each is
 * absent if it is not known.
 */
void report_json_add_ray(const struct report *r, cJSON *json);
cJSON *report_json_missing(const struct verdict *v);
cJSON *report_json_number(int64_t value_or_absent); /* negative: null */
cJSON *report_json_time(int64_t unix_ns); /* 0: null */

/*
 * Make the fields of the sidecar's log lines about a snapshot of a running container, and about a
 * verdict.
 */
cJSON *report_json_of_snapshot(const struct report *r);
cJSON *report_json_of_verdict(const struct report *r);
/*
 * Make the fields of a verdict on a worker that Ray's logs name, and of the workers of the last
 * minute; text is for people.
 */
cJSON *report_json_of_worker(const struct report *r, const struct ray_finding *finding);
cJSON *report_json_of_workers(const struct ray_summary *s, const char *text);
