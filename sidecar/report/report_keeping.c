/* SPDX-License-Identifier: Apache-2.0 */
/* Describes what happened to the bundles. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/units.h"
#include "sidecar/report/report.h"

/* Formats 1st, 2nd, 3rd, 11th, 21st. */
static const char *ordinal(uint64_t n)
{
	static const char *const ends[] = { "th", "st", "nd", "rd" };

	return n % 100 / 10 == 1 || n % 10 > 3 ? "th" : ends[n % 10];
}

const char *report_repeats(const struct keeping *k, char text[static REPORT_LINE_MAX])
{
	char since[TIME_TEXT_MAX];

	text[0] = '\0';
	if (k->repeats < 2)
		return text;
	time_format(k->repeats_since_unix_ns, since);
	snprintf(text, REPORT_LINE_MAX, "%s for the %" PRIu64 "%s time since %.10s %.8s UTC%s%s",
		 k->alike_only ? "it ended like this" : "the same crash", k->repeats,
		 ordinal(k->repeats), since, since + 11,
		 k->alike_only ? ", perhaps of different causes" : "",
		 k->report_only ? "; only this report is kept of it, more of the first" : "");
	return text;
}

static void add_count(char *text, uint64_t n, const char *one, const char *many)
{
	size_t len = strlen(text);

	if (n)
		snprintf(text + len, REPORT_LINE_MAX - len, "%s%" PRIu64 " %s", len ? ", " : "", n,
			 n == 1 ? one : many);
}

const char *report_dropped(const struct keeping *k, char text[static REPORT_LINE_MAX])
{
	text[0] = '\0';
	add_count(text, k->dropped_cores, "core", "cores");
	add_count(text, k->dropped_files, "set of logs", "sets of logs");
	add_count(text, k->dropped_bundles, "bundle", "bundles");
	size_t len = strlen(text);
	if (len)
		snprintf(text + len, REPORT_LINE_MAX - len,
			 " of earlier failures, for want of room in the spool");
	return text;
}

const char *report_cores_prefix(const struct report *r)
{
	return r->bundle[0] && r->crash.known && !r->keeping.report_only ? r->cores_prefix : NULL;
}

const char *report_core_place(const struct report *r, char text[static REPORT_LINE_MAX])
{
	const char *prefix = report_cores_prefix(r);

	text[0] = '\0';
	if (prefix)
		snprintf(text, REPORT_LINE_MAX,
			 "below %s of the same store, if one is kept; MANIFEST.json names its path",
			 prefix);
	return text;
}
