/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and mends UTF-8. */
#include "lib/utf8.h"

#include <string.h>

#define CHARACTER_MAX 4 /* bytes */

size_t utf8_character(const char *text, size_t max, uint32_t *ret_code)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	unsigned char first = max ? (unsigned char)*text : 0;
	size_t len = first < 0x80	    ? 1 :
		     (first & 0xe0) == 0xc0 ? 2 :
		     (first & 0xf0) == 0xe0 ? 3 :
		     (first & 0xf8) == 0xf0 ? 4 :
					      0;
	uint32_t code = len <= 1 ? first : first & (0xffU >> (len + 1));

	if (len == 0 || len > max)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (((unsigned char)text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	}
	if (code < least[len] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
		return 0;
	*ret_code = code;
	return len;
}

size_t utf8_cut(const char *text, size_t max)
{
	while (max > 0 && ((unsigned char)text[max] & 0xc0) == 0x80)
		max--;
	return max;
}

bool utf8_is_printable(uint32_t code)
{
	bool control = code < 0x20 || (code >= 0x7f && code < 0xa0);
	bool line_end_or_direction = code == 0x061c || code == 0x200e || code == 0x200f ||
				     (code >= 0x2028 && code <= 0x202e) ||
				     (code >= 0x2066 && code <= 0x206f);

	return !control && !line_end_or_direction && code != 0xfeff && code != 0xfffe &&
	       code != 0xffff;
}

void utf8_mend(char *text)
{
	size_t len;
	uint32_t code;

	for (; *text; text += len) {
		len = utf8_character(text, strnlen(text, CHARACTER_MAX), &code);
		if (len > 0 && utf8_is_printable(code))
			continue;
		len = len > 0 ? len : 1;
		for (size_t i = 0; i < len; i++)
			text[i] = '?';
	}
}

void utf8_escape_json(const char *json, struct strbuf *out)
{
	size_t len;
	uint32_t code;

	for (; *json; json += len) {
		len = utf8_character(json, strnlen(json, CHARACTER_MAX), &code);
		/* Below 0x20 are the line breaks and tabs between values. */
		if (len > 0 && (utf8_is_printable(code) || code < 0x20))
			strbuf_add(out, json, len);
		else
			strbuf_addf(out, "\\u%04x", len > 0 ? (unsigned)code : 0xfffdU);
		len = len > 0 ? len : 1;
	}
}
