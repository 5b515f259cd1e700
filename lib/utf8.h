/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes text that the API server accepts: it refuses to apply an object with text that is not UTF-8
 * or has characters that YAML does not allow. Also says which characters a reader must not be shown
 * as they are, and cuts text between characters. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/strbuf.h"

/*
 * Returns the length of the character at text (1 to 4) and sets its code (0 for a NUL); returns 0
 * if no UTF-8 begins there, or it does not end within len bytes.
 */
size_t utf8_character(const char *text, size_t len, uint32_t *ret_code);

/*
 * Returns false for what drives a terminal, ends a line or changes the direction of text around it,
 * and for what YAML does not allow (c-printable of YAML 1.2, without the byte order mark).
 */
bool utf8_is_printable(uint32_t code);

/*
 * Returns how many of the first max bytes of text are whole characters. text[max] must be readable.
 */
size_t utf8_cut(const char *text, size_t max);

/*
 * Replaces each byte that is not UTF-8, and each byte of a character that is not printable, by '?',
 * in place.
 */
void utf8_mend(char *text);

/*
 * Appends JSON text with escapes (\u....) for what utf8_mend would replace, so that YAML parsers
 * accept it too.
 */
void utf8_escape_json(const char *json, struct strbuf *out);
