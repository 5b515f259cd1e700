/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others into HTML, so that it stays text. */
#ifndef AFTERGLOW_LIB_HTML_H
#define AFTERGLOW_LIB_HTML_H

#include <stddef.h>

#include "lib/strbuf.h"

/*
 * Appends len bytes as character data, fit for elements and for attributes in
 * double quotes. Control characters but newline and tab, bytes that are no
 * UTF-8 and characters that turn the direction of text become U+FFFD; colours
 * of terminals (ESC [ ... m) are left out.
 */
void html_add(struct strbuf *out, const char *text, size_t len);
void html_adds(struct strbuf *out, const char *text);

#endif
