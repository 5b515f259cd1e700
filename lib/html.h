/* SPDX-License-Identifier: Apache-2.0 */
/* Adds untrusted text to HTML in such a way that it stays text. */
#pragma once

#include <stddef.h>

#include "lib/strbuf.h"

/*
 * Appends len bytes as character data, fit for elements and for attributes in
 * double quotes. Bytes that are not UTF-8, and characters that are not printable
 * (lib/utf8.h) except newline and tab, become U+FFFD; terminal colours (ESC [ ... m)
 * are left out.
 */
void html_add(struct strbuf *out, const char *text, size_t len);
void html_adds(struct strbuf *out, const char *text);
/* Does the same between two pieces of HTML: html_add_in(out, "<b>", text, "</b>"). */
void html_add_in(struct strbuf *out, const char *before, const char *text, const char *after);
