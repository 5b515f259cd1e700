/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failures of this pod so far, in short, and the last report of each of its
 * containers. Kept in the spool, so that both survive the recorder.
 */
#ifndef AFTERGLOW_SIDECAR_RECORD_JOURNAL_H
#define AFTERGLOW_SIDECAR_RECORD_JOURNAL_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"
#include "sidecar/report/report.h"

#define JOURNAL_MAX 64 /* failures; the oldest are forgotten, and counted */
#define JOURNAL_NAMES_MAX 32 /* containers with a last report */
#define JOURNAL_JSON_MAX (256 * 1024)
#define LAST_REPORT_MAX 3800 /* what is said again at the next start: one message */

struct failure {
	int64_t ended_unix_ns;
	char container[64];
	enum failure_class class;
	enum confidence confidence;
	int exit_code; /* -1: not known */
	int signal; /* 0: none */
	bool container_lives; /* only a process died */
	char sentence[320];
	char bundle[512]; /* as the report says it, "" when nothing was kept */
};

struct journal {
	int dirfd; /* -1: in memory only. Not owned */
	struct failure failures[JOURNAL_MAX]; /* oldest first */
	size_t n;
	uint64_t forgotten;
	uint64_t by_class[FAILURE_CLASS_COUNT]; /* read or added by this recorder */
	struct {
		char container[64];
		char *text; /* NULL: free */
	} last[JOURNAL_NAMES_MAX];
};

/* Reads what is there; a journal that cannot be read is an empty one. */
void journal_open(struct journal *j, int dirfd);
void journal_close(struct journal *j);

/* text: the whole report. The same failure twice is one. False: it was known. */
bool journal_add(struct journal *j, const struct failure *f, const char *text);

/* How that container ended the last time, cut to LAST_REPORT_MAX; NULL: none. Valid until the next journal_add. */
const char *journal_last_report(struct journal *j, const char *container);

void failure_of_report(const struct report *r, struct failure *ret_failure);
/* From the fields of report.json, or of failure_to_json; false when it is no such thing. */
bool failure_of_json(const cJSON *json, struct failure *ret_failure);
cJSON *failure_to_json(const struct failure *f);

/* {"failures": [...], "forgotten": N} */
cJSON *journal_to_json(const struct journal *j);

/* Lines for people, oldest first:. */
void journal_digest(const struct journal *j, struct strbuf *out);

#endif
