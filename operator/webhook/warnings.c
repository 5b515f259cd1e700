/* SPDX-License-Identifier: Apache-2.0 */
/* Limits and cleans admission warnings. */
#include "operator/webhook/warnings.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/printable.h"
#include "lib/utf8.h"

static bool warnings_has(const cJSON *warnings, const char *text)
{
	json_each(item, warnings)
		if (cJSON_IsString(item) && strcmp(item->valuestring, text) == 0)
			return true;
	return false;
}

bool warnings_full(const cJSON *warnings)
{
	return cJSON_GetArraySize(warnings) >= WARNINGS_MAX;
}

void warnings_addf(cJSON *warnings, const char *fmt, ...)
{
	char text[WARNING_TEXT_MAX + 2];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strlen(text) > WARNING_TEXT_MAX)
		text[utf8_cut(text, WARNING_TEXT_MAX)] = '\0';
	mend_printable(text, strlen(text), "");
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
	copy_printable(buf, WARNING_NAME_MAX, name, strlen(name));
	return buf;
}
