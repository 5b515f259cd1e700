/* SPDX-License-Identifier: Apache-2.0 */
/* Collects notes about a cluster, by topic. */
#include "operator/podspec/notes.h"

#include <stdarg.h>
#include <stdio.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/utf8.h"

#define NOTES_MAX 32
#define NOTES_TEXT_MAX 8192 /* a condition's message may have 32768 */

static const struct {
	const char *condition, *good_reason;
} topics[NOTE_TOPIC_COUNT] = {
	[NOTE_SPEC_VALID] = { "afterglow.dev/SpecValid", "Valid" },
	[NOTE_MEMORY_SAFE] = { "afterglow.dev/MemorySafe", "WithinLimits" },
	[NOTE_HEAD_STABLE] = { "afterglow.dev/HeadStable", "Stable" },
	[NOTE_WORKERS_STABLE] = { "afterglow.dev/WorkersStable", "Stable" },
	[NOTE_RECORDING] = { "afterglow.dev/Recording", "Configured" },
};

const char *note_topic_condition(enum note_topic t)
{
	return topics[t].condition;
}

const char *note_topic_good_reason(enum note_topic t)
{
	return topics[t].good_reason;
}

void notes_addf(cJSON *notes, enum note_topic topic, const char *reason, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	/* A tenant's spec may have tens of thousands of mistakes. */
	if (cJSON_GetArraySize(notes) >= NOTES_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	utf8_mend(text); /* the text may be a tenant's, and may have been cut */
	if (json_find(notes, "text", text))
		return;
	cJSON *note = cJSON_CreateObject();
	json_set_int(note, "topic", topic);
	json_set_str(note, "reason", reason);
	json_set_str(note, "text", text);
	json_append(notes, note);
}

const char *notes_reason(const cJSON *notes, enum note_topic topic)
{
	json_each(note, notes)
		if (json_int(note, "topic", -1) == (int64_t)topic)
			return json_str(note, "reason");
	return NULL;
}

bool notes_have(const cJSON *notes, enum note_topic topic)
{
	return notes_reason(notes, topic) != NULL;
}

char *notes_text(const cJSON *notes, enum note_topic topic)
{
	_cleanup_strbuf_ struct strbuf sb = STRBUF_INIT(NOTES_TEXT_MAX);

	json_each(note, notes)
		if (json_int(note, "topic", -1) == (int64_t)topic)
			strbuf_addf(&sb, "%s%s", sb.len ? "; " : "", json_str(note, "text"));
	sb.failed = false; /* the part that fits is enough */
	return strbuf_detach(&sb);
}
