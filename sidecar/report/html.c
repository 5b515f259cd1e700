/* SPDX-License-Identifier: Apache-2.0 */
/* Text of others into HTML. */
#include "sidecar/report/html.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Bytes of the valid UTF-8 character at p, 0 if there is none; its code point. */
static size_t decode(const unsigned char *p, size_t len, uint32_t *ret_code)
{
	size_t n = p[0] < 0x80 ? 1 : p[0] >= 0xf0 && p[0] < 0xf5 ? 4 : p[0] >= 0xe0 && p[0] < 0xf0 ? 3 : p[0] >= 0xc2 && p[0] < 0xe0 ? 2 : 0;
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t c;

	if (n == 0 || n > len)
		return 0;
	c = n == 1 ? p[0] : p[0] & (0x7fU >> n);
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[n] || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		return 0;
	*ret_code = c;
	return n;
}

static bool is_unwanted(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f || c == 0xfeff || (c & 0xfffe) == 0xfffe;
}

/* The length of "ESC [ digits and semicolons m" at p, 0 if it is none. */
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
		size_t n = decode((const unsigned char *)text + i, len - i, &c);

		if (colour) {
			i += colour;
			continue;
		}
		if (n == 0 || is_unwanted(c))
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
