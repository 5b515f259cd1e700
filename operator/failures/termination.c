/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a container's termination message. */
#include "operator/failures/termination.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/oom.h"
#include "lib/printable.h"
#include "lib/termination_mark.h"
#include "lib/units.h"
#include "operator/failures/signature.h"

/*
 * cJSON prints 15 digits; a larger number would get an exponent, which the CRD does not take for an
 * integer.
 */
#define NUMBER_MAX 999999999999999.0

static const char *const memory_fields[] = {
	"limitBytes", "usageBytes", "peakBytes",   "anonBytes",
	"fileBytes",  "shmemBytes", "sampleAgeMs",
};
static const char *const process_numbers[] = { "pid", "rssBytes", "sharedBytes" };

void text_tame(const char *text, char *buf, size_t size)
{
	copy_printable(buf, size, text, strlen(text));
}

static void take_text(const cJSON *from, cJSON *to, const char *name, size_t max)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
	char buf[1024];

	if (!text || !*text)
		return;
	text_tame(text, buf, MIN(max + 1, sizeof(buf)));
	json_set_str(to, name, buf);
}

static void take_number(const cJSON *from, cJSON *to, const char *name, double min)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);

	if (!cJSON_IsNumber(item) || !(item->valuedouble >= min) ||
	    !(item->valuedouble <= NUMBER_MAX))
		return;
	json_set(to, name, cJSON_CreateNumber(trunc(item->valuedouble)));
}

static void take_time(const cJSON *from, cJSON *to, const char *name)
{
	const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, name));
	int64_t ns;

	if (text && strlen(text) < TIME_TEXT_MAX && time_parse(text, &ns, NULL) == 0 && ns > 0)
		json_set_str(to, name, TIME_TEXT(ns));
}

static void take_class(const cJSON *from, cJSON *to)
{
	const char *class = json_str(from, "class"), *confidence = json_str(from, "confidence");

	if (class && failure_class_from_name(class) >= 0)
		json_set_str(to, "class", class);
	if (confidence && confidence_from_name(confidence) >= 0)
		json_set_str(to, "confidence", confidence);
}

static void take_signal(const cJSON *from, cJSON *to)
{
	const char *text = json_str(from, "signal");

	for (int signo = 1; text && signo <= 64; signo++)
		if (strcmp(text, signal_name(signo)) == 0)
			json_set_str(to, "signal", text);
}

/*
 * Takes a signature only if it is valid, because a cut or changed one would be that of another
 * failure.
 */
static void take_signature(const cJSON *from, cJSON *to)
{
	const char *text = json_str(from, "signature");

	if (signature_is_good(text, json_str(from, "class")))
		json_set_str(to, "signature", text);
}

/*
 * Takes a text only if it is whole and has no other characters: a cut ID would be that of another.
 */
static void take_word(const cJSON *from, cJSON *to, const char *name, size_t max,
		      const char *charset)
{
	const char *text = json_str(from, name);
	size_t len = text ? strspn(text, charset) : 0;

	if (len > 0 && len <= max && !text[len])
		json_set_str(to, name, text);
}

#define HEX_DIGITS "0123456789abcdef"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define RAY_ID_DIGITS 56

/* Takes Ray's exception that ended a driver, and what it says had died. */
static void take_ray_error(const cJSON *from, cJSON *to)
{
	const cJSON *error = cJSON_GetObjectItemCaseSensitive(from, "rayError");
	_cleanup_json_ cJSON *taken = cJSON_CreateObject();

	take_word(error, taken, "name", 32, LETTERS);
	take_word(error, taken, "nodeID", RAY_ID_DIGITS, HEX_DIGITS);
	take_word(error, taken, "workerID", RAY_ID_DIGITS, HEX_DIGITS);
	take_word(error, taken, "actorID", RAY_ID_DIGITS, HEX_DIGITS);
	take_word(error, taken, "ip", 45, HEX_DIGITS ".:");
	take_number(error, taken, "pid", 1);
	if (json_int(taken, "pid", 0) > PID_MAX_LIMIT)
		cJSON_DeleteItemFromObjectCaseSensitive(taken, "pid");
	if (json_str(taken, "name"))
		json_set(to, "rayError", TAKE_PTR(taken));
}

/* Takes the process that ended first; a process without a name is dropped. */
static void take_first(const cJSON *from, cJSON *to)
{
	const cJSON *process = cJSON_GetObjectItemCaseSensitive(from, "process");
	_cleanup_json_ cJSON *taken = cJSON_CreateObject();

	if (!cJSON_IsObject(process))
		return;
	take_text(process, taken, "name", 63);
	take_number(process, taken, "pid", 1);
	take_signal(process, taken);
	take_number(process, taken, "exitCode", 0);
	take_word(process, taken, "workerID", RAY_ID_DIGITS, HEX_DIGITS);
	if (json_str(taken, "name"))
		json_set(to, "process", TAKE_PTR(taken));
}

static void take_memory(const cJSON *from, cJSON *to)
{
	const cJSON *memory = cJSON_GetObjectItemCaseSensitive(from, "memory");

	if (!cJSON_IsObject(memory))
		return;
	cJSON *taken = json_object_at(to, "memory");
	for (size_t i = 0; i < ARRAY_SIZE(memory_fields); i++)
		take_number(memory, taken, memory_fields[i], 0);
}

/*
 * Takes at most max members of the array `from`. The function `take` fills each. A member without
 * its identifying field is dropped.
 */
static void take_array(const cJSON *from, cJSON *to, const char *name, const char *telling, int max,
		       void (*take)(const cJSON *from, cJSON *to))
{
	const cJSON *array = cJSON_GetObjectItemCaseSensitive(from, name);

	if (!cJSON_IsArray(array))
		return;
	cJSON *taken = json_array_at(to, name);
	json_each(item, array) {
		if (!cJSON_IsObject(item) || cJSON_GetArraySize(taken) >= max)
			continue;
		cJSON *entry = cJSON_CreateObject();
		take(item, entry);
		if (json_get(entry, telling))
			json_append(taken, entry);
		else
			cJSON_Delete(entry);
	}
}

static void take_process(const cJSON *from, cJSON *to)
{
	for (size_t i = 0; i < ARRAY_SIZE(process_numbers); i++)
		take_number(from, to, process_numbers[i], 0);
	take_number(from, to, "growthBytesPerSecond", -NUMBER_MAX);
	take_text(from, to, "name", 128);
}

static void take_evidence(const cJSON *from, cJSON *to)
{
	take_text(from, to, "source", 64);
	take_text(from, to, "text", 512);
}

static void take_missing(const cJSON *from, cJSON *to)
{
	take_text(from, to, "what", 256);
	take_text(from, to, "needs", 256);
}

/*
 * Finds the last line that begins with the mark, because other programs may have written below it.
 */
const char *termination_line(const char *text, size_t len, size_t *ret_len)
{
	const char *found = NULL, *line = text, *end = text + len;

	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		size_t line_len = (size_t)((next ? next : end) - line);

		if (line_len > strlen(TERMINATION_MARK) &&
		    memcmp(line, TERMINATION_MARK, strlen(TERMINATION_MARK)) == 0) {
			found = line + strlen(TERMINATION_MARK);
			*ret_len = line_len - strlen(TERMINATION_MARK);
		}
		if (!next)
			break;
		line = next + 1;
	}
	return found;
}

static cJSON *take_all(const cJSON *from)
{
	cJSON *to = cJSON_CreateObject();

	take_class(from, to);
	take_text(from, to, "sentence", 512);
	take_number(from, to, "exitCode", 0);
	take_signal(from, to);
	take_time(from, to, "startedAt");
	take_time(from, to, "endedAt");
	take_text(from, to, "bundle", 768);
	take_signature(from, to);
	take_first(from, to);
	take_ray_error(from, to);
	take_word(from, to, "rayNodeID", RAY_ID_DIGITS, HEX_DIGITS);
	take_text(from, to, "diagnosis", 512);
	take_text(from, to, "advice", 512);
	take_memory(from, to);
	take_array(from, to, "processes", "pid", TERMINATION_PROCESSES_MAX, take_process);
	take_array(from, to, "evidence", "text", TERMINATION_NOTES_MAX, take_evidence);
	take_array(from, to, "missing", "what", TERMINATION_NOTES_MAX, take_missing);
	json_set(to, "final", cJSON_CreateBool(json_bool(from, "final", false)));
	return to;
}

int termination_take(const cJSON *json, cJSON **ret_report, struct err *err)
{
	size_t lost = oom_count();

	if (!cJSON_IsObject(json))
		return err_set(err, EPROTO, "the sidecar's summary is no object");
	cJSON *report = take_all(json);
	if (!report || oom_count() != lost) {
		cJSON_Delete(report);
		return err_set(err, ENOMEM, "the sidecar's summary");
	}
	*ret_report = report;
	return 0;
}

int termination_parse(const char *text, size_t len, cJSON **ret_report, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	size_t line_len = 0;

	if (len > TERMINATION_MESSAGE_MAX)
		return err_set(err, EPROTO, "a termination message of %zu bytes", len);
	const char *line = termination_line(text, len, &line_len);
	if (!line)
		return err_set(err, ENOENT, "no line of the sidecar in the termination message");
	int r = json_parse(line, line_len, &json, err);
	if (r == 0)
		r = termination_take(json, ret_report, err);
	return r < 0 ? err_wrap(err, "termination message") : 0;
}
