/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the termination message, which `kubectl describe pod` shows and the operator reads. */
#include <string.h>

#include "lib/digest/report_mac.h"
#include "lib/json.h"
#include "lib/termination_mark.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "sidecar/report/report_json.h"

#define TERMINATION_TOP 5

/*
 * Diagnosis and advice may take this part of a summary's room, so that the text for people is not
 * cut for them.
 */
#define WORDS_ROOM(max) ((max) / 4 * 3)

static cJSON *build_summary(const struct report *r, bool final, bool with_words, size_t n_top)
{
	const struct verdict *v = &r->verdict;
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "class", final ? failure_class_name(v->class) : NULL);
	json_set_str(json, "confidence", final ? confidence_name(v->confidence) : NULL);
	json_set_str(json, "sentence", v->sentence);
	json_set(json, "exitCode", report_json_number(final ? v->exit_code : -1));
	json_set_str(json, "signal", final ? signal_name(v->signal) : NULL);
	if (final && v->process.name[0])
		json_set(json, "process", report_json_process(r, true));
	if (final && r->signature[0])
		json_set_str(json, "signature", r->signature);
	json_set(json, "startedAt", report_json_time(r->started_unix_ns));
	json_set(json, "endedAt", report_json_time(final ? r->ended_unix_ns : 0));
	json_set(json, "memory", report_json_memory(&r->memory, r->sample_age_ns));
	json_set(json, "processes", report_json_processes(r->top, n_top, false));
	if (r->crash.known)
		json_set(json, "crash", report_json_crash(&r->crash, true));
	json_set(json, "evidence", report_json_evidence(v));
	json_set(json, "missing", report_json_missing(v));
	json_set_str(json, "bundle", r->bundle[0] ? r->bundle : NULL);
	report_json_add_ray(r, json);
	if (final && with_words && r->diagnosis[0])
		json_set_str(json, "diagnosis", r->diagnosis);
	if (final && with_words && r->advice[0])
		json_set_str(json, "advice", r->advice);
	json_set(json, "final", cJSON_CreateBool(final));
	return json;
}

/* Leaves out more and more processes until the line fits. Returns NULL if it never does. */
static char *summary_of_size(const struct report *r, bool final, bool with_words, size_t max)
{
	for (size_t n = MIN(r->n_top, (size_t)TERMINATION_TOP);; n--) {
		_cleanup_json_ cJSON *json = build_summary(r, final, with_words, n);
		_cleanup_free_ char *text = cJSON_PrintUnformatted(json);

		if (!text)
			return NULL;
		/* the API server would replace what is not UTF-8, and the MAC would not hold */
		utf8_mend(text);
		if (strlen(text) <= max)
			return TAKE_PTR(text);
		if (n == 0)
			return NULL;
	}
}

static char *summary_that_fits(const struct report *r, bool final, size_t max)
{
	char *summary = summary_of_size(r, final, true, WORDS_ROOM(max));

	return summary ? summary : summary_of_size(r, final, false, max);
}

/* Cuts the text between characters, to at most max bytes including the final newline. */
static void cut_text(struct strbuf *text, size_t max)
{
	strbuf_truncate(text, utf8_cut(text->data, max ? max - 1 : 0));
	if (max)
		strbuf_addc(text, '\n');
}

char *report_summary(const struct report *r, size_t max)
{
	return summary_that_fits(r, true, max);
}

void report_to_termination_message(const struct report *r, bool final, size_t max,
				   struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	const size_t frame =
		strlen(TERMINATION_MARK) + 1 + (r->id.report_key ? REPORT_MAC_ROOM : 0);
	_cleanup_free_ char *summary =
		max > frame ? summary_that_fits(r, final, max - frame) : NULL;
	size_t room = max - (summary ? strlen(summary) + frame : 0);
	char own[SIZE_TEXT_MAX];

	strbuf_addf(&text, "%s\n", r->verdict.sentence);
	for (size_t i = 0; i < MIN(r->n_top, (size_t)3); i++)
		strbuf_addf(&text, "  PID %d  %s  %s\n", (int)r->top[i].pid,
			    size_format((uint64_t)MAX(process_own(&r->top[i]), 0), own),
			    r->top[i].name);
	if (r->diagnosis[0])
		strbuf_addf(&text, "  %s\n", r->diagnosis);
	if (text.len > room)
		cut_text(&text, room);
	strbuf_add(out, strbuf_str(&text), text.len);
	if (!summary)
		return;
	strbuf_adds(out, TERMINATION_MARK);
	report_mac_append(r->id.report_key, REPORT_MAC_TERMINATION, summary, out);
	strbuf_addc(out, '\n');
}
