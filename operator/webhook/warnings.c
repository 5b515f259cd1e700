/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and cleans admission warnings. */
#include "operator/webhook/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"

static bool warnings_has(const cJSON *warnings, const char *text)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, warnings)
		if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
			return true;
	return false;
}

bool warnings_full(const cJSON *warnings)
{
	return cJSON_GetArraySize(warnings) >= WARNINGS_MAX;
}

/* A character of UTF-8 that the end cuts is removed, too. */
static void warnings_tidy(char *text, size_t max)
{
	size_t len = strnlen(text, max), start = len;

	text[len] = '\0';
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = '?';
	if (len < max)
		return;
	while (start > 0 && ((unsigned char)text[start - 1] & 0xc0) == 0x80)
		start--;
	if (start > 0 && (unsigned char)text[start - 1] >= 0xc0)
		text[start - 1] = '\0';
}

void warnings_addf(cJSON *warnings, const char *fmt, ...)
{
	char text[WARNING_TEXT_MAX + 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	warnings_tidy(text, WARNING_TEXT_MAX);
	if (!warnings_full(warnings) && !warnings_has(warnings, text))
		json_append(warnings, cJSON_CreateString(text));
}

void warnings_drop_known(cJSON *warnings, const cJSON *known)
{
	cJSON *item = warnings ? warnings->child : NULL;

	while (item) {
		cJSON *next = item->next;

		if (warnings_has(known, item->valuestring))
			cJSON_Delete(cJSON_DetachItemViaPointer(warnings, item));
		item = next;
	}
}

const char *warning_name(const char *name, char buf[static WARNING_NAME_MAX])
{
	snprintf(buf, WARNING_NAME_MAX, "%s", name);
	warnings_tidy(buf, WARNING_NAME_MAX - 1);
	return buf;
}
