/* SPDX-License-Identifier: Apache-2.0 */
/* The signature of a failure. */
#include "operator/failures/signature.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"

#define VERSION "v1:"
#define PART_MAX 64

/* Of docs/signatures.md: they need no quoting anywhere. */
static bool is_plain(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr(".:_/+-=,@#~?", c));
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
	const char *process, *detail;
	size_t len = class ? strlen(class) : 0;

	if (!text || !len || strlen(text) > SIGNATURE_MAX || !is_all_plain(text) || strncmp(text, VERSION, strlen(VERSION)) != 0)
		return false;
	process = text + strlen(VERSION);
	if (strncmp(process, class, len) != 0 || process[len] != ':')
		return false;
	process += len + 1;
	detail = strchr(process, ':');
	return detail && detail != process;
}

/* One part between the colons: what a signature may not have, or another colon, becomes '_'. */
static void add_part(const char *from, char buf[static PART_MAX])
{
	size_t n = 0;

	for (; *from && n < PART_MAX - 1; from++)
		buf[n++] = (char)(is_plain(*from) && *from != ':' ? *from : '_');
	buf[n] = '\0';
}

static const char *text_or(const cJSON *spec, const char *path, const char *otherwise)
{
	const char *text = json_str(spec, path);

	return text && *text ? text : otherwise;
}

/* How it ended, as far as that is a trait of the cause: the sender, a process's own signal, the container's, its exit code. */
static void add_detail(const cJSON *spec, char buf[static PART_MAX])
{
	static const char *const paths[] = { "endedBy.kind", "process.signal", "signal" };
	char code[32] = "";

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		if (*text_or(spec, paths[i], "")) {
			add_part(json_str(spec, paths[i]), buf);
			return;
		}
	if (json_get(spec, "exitCode"))
		snprintf(code, sizeof(code), "exit=%" PRId64, json_int(spec, "exitCode", 0));
	add_part(*code ? code : text_or(spec, "kubernetesReason", ""), buf);
}

void signature_set(const char *told, cJSON *spec)
{
	const char *class = text_or(spec, "class", "Unknown");
	/* How is known, and not why: two such ends may have different causes. */
	static const char *const unexplained[] = { "ApplicationError", "Killed", "Terminated", "Unknown" };
	char process[PART_MAX], detail[PART_MAX], made[SIGNATURE_MAX + 1];
	const char *mark = "";

	for (size_t i = 0; i < ARRAY_SIZE(unexplained); i++)
		if (strcmp(class, unexplained[i]) == 0)
			mark = "?";
	add_part(text_or(spec, "process.name", text_or(spec, "container", "?")), process);
	add_detail(spec, detail);
	snprintf(made, sizeof(made), VERSION "%.40s:%s:%s%s", class, process, detail, mark);
	json_set_str(spec, "signature", signature_is_good(told, class) ? told : made);
}
