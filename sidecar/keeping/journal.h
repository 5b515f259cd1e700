/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the failures of this pod so far, in short form, and the last report of each of its
 * containers. Both are in files, so that they survive the sidecar.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"
#include "sidecar/report/report.h"

#define JOURNAL_MAX 64 /* failures; the oldest are forgotten, and counted */
#define JOURNAL_NAMES_MAX 32 /* containers with a last report */
#define JOURNAL_JSON_MAX (288 * 1024)
/* bytes of the report that is printed again at the next start; they fit into one message */
#define LAST_REPORT_MAX 3800

#define FAILURE_ID_MAX 128
#define FAILURE_SUMMARY_MAX 2560 /* so that all of them stay below JOURNAL_JSON_MAX */

/* Where a failure's bundle is. */
enum place {
	/* there is no bundle: the failure was only counted, or the bundle could not be written */
	PLACE_NOWHERE,
	PLACE_SPOOL, /* in the pod, on its way to `bundle` if there is a store */
	PLACE_STORE,
	PLACE_DROPPED, /* it was removed from the spool to make room */
	PLACE_COUNT
};

struct failure {
	/*
	 * Unique among the failures of the container, and the same for each sidecar that reports
	 * it.
	 */
	char id[FAILURE_ID_MAX];
	int64_t ended_unix_ns;
	char container[64];
	enum failure_class class;
	enum confidence confidence;
	int exit_code; /* -1: not known */
	int signal; /* 0: none */
	bool container_lives; /* only a process died */
	/* the container is kept until then for a look at it; 0: it is not */
	int64_t held_until_unix_ns;
	char sentence[320];
	char signature
		[SIGNATURE_MAX]; /* "": an older sidecar reported the failure without a signature */
	char bundle[512]; /* as in the report; "" if no bundle was kept */
	enum place place;
	/*
	 * With container_lives: the summary in JSON that a container's end has in its termination
	 * message. NULL: none. The owner of the failure frees it.
	 */
	char *summary;
};

struct journal {
	int dirfd; /* -1: in memory only. Not owned */
	struct failure failures[JOURNAL_MAX]; /* oldest first */
	size_t n;
	uint64_t forgotten;
	/* a count of changes, so that callers can see whether there is anything new */
	uint64_t changes;
	uint64_t by_class[FAILURE_CLASS_COUNT]; /* read or added by this sidecar */
	struct {
		char container[64];
		char *text; /* NULL: free */
	} last[JOURNAL_NAMES_MAX];
};

/* Reads the journal in dirfd. If it cannot be read, the journal starts empty. */
void journal_open(struct journal *j, int dirfd);
void journal_close(struct journal *j);

/*
 * Adds a copy of f, unless the journal has that failure already: then returns false. text: the
 * whole report.
 */
bool journal_add(struct journal *j, const struct failure *f, const char *text);

/* Notes that the bundle at that path is now at `place`. */
void journal_set_place(struct journal *j, const char *bundle, enum place place);

/*
 * The report of that container's last end, cut to LAST_REPORT_MAX; NULL: none. Valid until the next
 * journal_add.
 */
const char *journal_last_report(struct journal *j, const char *container);

void failure_of_report(const struct report *r, bool container_lives, struct failure *ret_failure);
void failure_release(struct failure *f);
#define _cleanup_failure_ _cleanup_(failure_release)
/*
 * Reads a failure from the fields of report.json, or from a failure of journal_to_json; returns
 * false if json is neither. Only the latter says whether the container lives and how long it is
 * held.
 */
bool failure_of_json(const cJSON *json, struct failure *ret_failure);
/* Sets f->summary from the report.json of a process that died while its container lives. */
void failure_summarize(struct failure *f, const cJSON *report_json);

/* {"failures": [...], "forgotten": N} */
cJSON *journal_to_json(const struct journal *j);

/* Adds a line for people to out for each failure, the oldest first. */
void journal_digest(const struct journal *j, struct strbuf *out);
