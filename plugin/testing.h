/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the plugin's tests: JSON with single quotes, and checks of what a text contains. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "lib/json.h"
#include "lib/strbuf.h"
#include "lib/units.h"

#define AT_NOON "2026-11-22T12:00:00Z"
#define NOON_NS ((int64_t)1795348800 * NS_PER_SEC)

/* Parses text, in which ' stands for ". The caller owns the result. */
static inline cJSON *json_of(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);
	cJSON *json = NULL;
	struct err err = { 0 };

	for (char *c = copy; *c; c++)
		if (*c == '\'')
			*c = '"';
	if (json_parse(copy, strlen(copy), &json, &err) < 0)
		fail_msg("%s in %s", err.text, copy);
	return json;
}

static inline void has(const struct strbuf *out, const char *part)
{
	if (!strstr(strbuf_str(out), part))
		fail_msg("no \"%s\" in:\n%s", part, strbuf_str(out));
}

static inline void lacks(const struct strbuf *out, const char *part)
{
	if (strstr(strbuf_str(out), part))
		fail_msg("\"%s\" in:\n%s", part, strbuf_str(out));
}
