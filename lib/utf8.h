/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text that others take: the API server refuses what it applies when it is not UTF-8, or has
 * characters that YAML does not allow, and whoever cuts a text may cut a character. Pure.
 */
#ifndef AFTERGLOW_LIB_UTF8_H
#define AFTERGLOW_LIB_UTF8_H

#include <stddef.h>
#include <stdint.h>

#include "lib/strbuf.h"

/*
 * The length of the character at text (1 to 4) and its code (0 for a NUL); 0: no UTF-8 begins there,
 * or it does not end within len bytes.
 */
size_t utf8_character(const char *text, size_t len, uint32_t *ret_code);

/* How many of the first max bytes of text are whole characters. A byte, or a NUL, follows them. */
size_t utf8_cut(const char *text, size_t max);

/*
 * Puts '?' for each byte that is no UTF-8, and of each character that is a control or none at all.
 * In place.
 */
void utf8_mend(char *text);

/*
 * Appends JSON text with escapes (\u....) for what utf8_mend would replace: then YAML readers take
 * it, too.
 */
void utf8_escape_json(const char *json, struct strbuf *out);

#endif
