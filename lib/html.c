/* SPDX-License-Identifier: Apache-2.0 */
/* Adds untrusted text to HTML. */
#include "lib/html.h"

#include <stdint.h>
#include <string.h>

#include "lib/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Returns the length of the sequence "ESC [ digits and semicolons m" at p, or 0 if there is none.
 */
static size_t colour_length(const char *p, size_t len)
{
	size_t n = 2;

	if (len < 3 || p[0] != '\x1b' || p[1] != '[')
		return 0;
	while (n < len && n < 24 && strchr("0123456789;", p[n]) && p[n])
		n++;
	return n < len && p[n] == 'm' ? n + 1 : 0;
}

void html_add(struct strbuf *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len;) {
		uint32_t c = 0;
		size_t colour = colour_length(text + i, len - i);
		size_t n = utf8_character(text + i, len - i, &c);

		if (colour) {
			i += colour;
			continue;
		}
		if (n == 0 || (!utf8_is_printable(c) && c != '\n' && c != '\t'))
			strbuf_adds(out, REPLACEMENT);
		else if (c == '&')
			strbuf_adds(out, "&amp;");
		else if (c == '<')
			strbuf_adds(out, "&lt;");
		else if (c == '>')
			strbuf_adds(out, "&gt;");
		else if (c == '"')
			strbuf_adds(out, "&quot;");
		else if (c == '\'')
			strbuf_adds(out, "&#39;");
		else
			strbuf_add(out, text + i, n);
		i += n ? n : 1;
	}
}

void html_adds(struct strbuf *out, const char *text)
{
	html_add(out, text, strlen(text));
}

void html_add_in(struct strbuf *out, const char *before, const char *text, const char *after)
{
	strbuf_adds(out, before);
	html_adds(out, text);
	strbuf_adds(out, after);
}
