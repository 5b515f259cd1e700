/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of report.json that other JSON documents share. */
#ifndef AFTERGLOW_SIDECAR_REPORT_REPORT_JSON_H
#define AFTERGLOW_SIDECAR_REPORT_REPORT_JSON_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "sidecar/ray/ray_tally.h"
#include "sidecar/report/report.h"

/* Each returns a new value for the caller, NULL when memory ran out. Absent facts are null, never 0. */
cJSON *report_json_memory(const struct memory *m, int64_t sample_age_ns);
cJSON *report_json_processes(const struct process *top, size_t n, bool with_command);
cJSON *report_json_evidence(const struct verdict *v);
/*
 * What a core shows; null without a core. The short form omits what only report.json has room for.
 */
cJSON *report_json_crash(const struct crash_info *c, bool in_few_words);
/* The process that ended first: {name, pid, signal, exitCode, lastLines}, or null. The short form has no lastLines. */
cJSON *report_json_process(const struct report *r, bool in_few_words);
cJSON *report_json_missing(const struct verdict *v);
cJSON *report_json_number(int64_t value_or_absent); /* negative: null */
cJSON *report_json_time(int64_t unix_ns); /* 0: null */

/* Fields of the sidecar's log lines: a snapshot of a running container; a verdict. */
cJSON *report_json_of_snapshot(const struct report *r);
cJSON *report_json_of_verdict(const struct report *r);
/* The verdict on a worker of which Ray tells; the workers of the last minute, text being the line for people. */
cJSON *report_json_of_worker(const struct report *r, const struct ray_said *said);
cJSON *report_json_of_workers(const struct ray_summary *s, const char *text);

#endif
