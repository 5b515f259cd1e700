/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failures of this pod so far, in short, and the last report of each of its
 * containers. Kept in the spool, so that both survive the sidecar.
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
#define JOURNAL_JSON_MAX (288 * 1024)
#define LAST_REPORT_MAX 3800 /* what is said again at the next start: one message */

#define FAILURE_ID_MAX 128
#define FAILURE_SUMMARY_MAX 2560 /* so that all of them stay below JOURNAL_JSON_MAX */

/* Where a failure's bundle is. */
enum place {
	PLACE_NOWHERE, /* only its number was kept, or not even that could be */
	PLACE_SPOOL, /* in the pod, on its way to `bundle` if there is a store */
	PLACE_STORE,
	PLACE_DROPPED, /* it had to go from the spool, for want of room */
	PLACE_COUNT
};

struct failure {
	char id[FAILURE_ID_MAX]; /* its own among those of the container, whichever sidecar reports it */
	int64_t ended_unix_ns;
	char container[64];
	enum failure_class class;
	enum confidence confidence;
	int exit_code; /* -1: not known */
	int signal; /* 0: none */
	bool container_lives; /* only a process died */
	int64_t held_until_unix_ns; /* the container is kept until then for a look at it; 0: it is not */
	char sentence[320];
	char signature[SIGNATURE_MAX]; /* "": a sidecar of before that did not make one */
	char bundle[512]; /* as the report says it, "" when nothing was kept */
	enum place place;
	/* With container_lives: JSON as in the termination message, which only an end has. NULL: none. Whose f is, frees it. */
	char *summary;
};

struct journal {
	int dirfd; /* -1: in memory only. Not owned */
	struct failure failures[JOURNAL_MAX]; /* oldest first */
	size_t n;
	uint64_t forgotten;
	uint64_t changes; /* counted, so that who asks often can tell whether to look again */
	uint64_t by_class[FAILURE_CLASS_COUNT]; /* read or added by this sidecar */
	struct {
		char container[64];
		char *text; /* NULL: free */
	} last[JOURNAL_NAMES_MAX];
};

/* Reads what is there; a journal that cannot be read is an empty one. */
void journal_open(struct journal *j, int dirfd);
void journal_close(struct journal *j);

/* Copies f. text: the whole report. The same failure twice is one. False: it was known. */
bool journal_add(struct journal *j, const struct failure *f, const char *text);

/* What became of that bundle. */
void journal_set_place(struct journal *j, const char *bundle, enum place place);

/* How that container ended the last time, cut to LAST_REPORT_MAX; NULL: none. Valid until the next journal_add. */
const char *journal_last_report(struct journal *j, const char *container);

void failure_of_report(const struct report *r, bool container_lives, struct failure *ret_failure);
void failure_release(struct failure *f);
#define _cleanup_failure_ _cleanup_(failure_release)
/*
 * From the fields of report.json, or of failure_to_json; false when it is no such
 * thing. Only the latter says whether the container lives and how long it is held.
 */
bool failure_of_json(const cJSON *json, struct failure *ret_failure);
/* Of a process whose report.json that is: the container lives. */
void failure_summarize(struct failure *f, const cJSON *report_json);
cJSON *failure_to_json(const struct failure *f);

/* {"failures": [...], "forgotten": N} */
cJSON *journal_to_json(const struct journal *j);

/* Lines for people, oldest first:. */
void journal_digest(const struct journal *j, struct strbuf *out);

#endif
