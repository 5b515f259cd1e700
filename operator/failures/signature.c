/* SPDX-License-Identifier: Apache-2.0 */
/* Makes and checks the signature of a failure. */
#include "operator/failures/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

#define VERSION "v1:"
#define PART_MAX 64

/* The characters of docs/signatures.md. They need no quoting anywhere. */
static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (c && strchr(".:_/+-=,@#~?", c));
}

static bool is_all_plain(const char *text)
{
	for (; *text; text++)
		if (!is_plain(*text))
			return false;
	return true;
}

bool signature_is_good(const char *text, const char *class)
{
	size_t len = class ? strlen(class) : 0;

	if (!text || !len || strlen(text) > SIGNATURE_MAX || !is_all_plain(text) ||
	    strncmp(text, VERSION, strlen(VERSION)) != 0)
		return false;
	const char *process = text + strlen(VERSION);
	if (strncmp(process, class, len) != 0 || process[len] != ':')
		return false;
	process += len + 1;
	const char *detail = strchr(process, ':');
	return detail && detail != process;
}

/*
 * Writes one part between the colons. A character that a signature may not have, and a colon,
 * becomes '_'.
 */
static void add_part(const char *from, char buf[static PART_MAX])
{
	size_t n = 0;

	for (; *from && n < PART_MAX - 1; from++)
		buf[n++] = (char)(is_plain(*from) && *from != ':' ? *from : '_');
	buf[n] = '\0';
}

static const char *text_or(const char *text, const char *otherwise)
{
	return text && *text ? text : otherwise;
}

/*
 * Adds how it ended, as far as that is typical for the cause: the sender, the process's own signal,
 * the container's signal, or the exit code.
 */
static void add_detail(const struct signature_parts *parts, char buf[static PART_MAX])
{
	const char *const texts[] = { parts->ended_by, parts->process_signal, parts->signal };
	char code[32] = "";

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (*text_or(texts[i], "")) {
			add_part(texts[i], buf);
			return;
		}
	if (parts->has_exit_code)
		snprintf(code, sizeof(code), "exit=%" PRId64, parts->exit_code);
	add_part(*code ? code : text_or(parts->reason, ""), buf);
}

void signature_make(const struct signature_parts *parts, char buf[static SIGNATURE_MAX + 1])
{
	const char *class = text_or(parts->class, "Unknown");

	/* The operator knows how it ended, but not why: two such ends may have different causes. */
	const char *mark =
		TEXT_IS_ONE_OF(class, "ApplicationError", "Killed", "Terminated", "Unknown") ? "?" :
											       "";
	char process[PART_MAX], detail[PART_MAX];

	add_part(text_or(parts->process, text_or(parts->container, "?")), process);
	add_detail(parts, detail);
	snprintf(buf, SIGNATURE_MAX + 1, VERSION "%.40s:%s:%s%s", class, process, detail, mark);
}

void signature_set(const char *reported, cJSON *spec)
{
	const struct signature_parts parts = {
		.class = text_or(json_str(spec, "class"), "Unknown"),
		.process = json_str(spec, "process.name"),
		.container = json_str(spec, "container"),
		.ended_by = json_str(spec, "endedBy.kind"),
		.process_signal = json_str(spec, "process.signal"),
		.signal = json_str(spec, "signal"),
		.has_exit_code = json_get(spec, "exitCode"),
		.exit_code = json_int(spec, "exitCode", 0),
		.reason = json_str(spec, "kubernetesReason"),
	};
	char made[SIGNATURE_MAX + 1];

	if (!signature_is_good(reported, parts.class)) {
		signature_make(&parts, made);
		reported = made;
	}
	json_set_str(spec, "signature", reported);
}
