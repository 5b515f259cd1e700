/* SPDX-License-Identifier: Apache-2.0 */
/* Text that others made, fit for a line, a terminal and a JSON document. */
#include "lib/printable.h"

#include <stdint.h>
#include <string.h>

#include "lib/macros.h"

/* Bytes of the UTF-8 character at p, of which len bytes are there; 0 if it is none that belongs into a line. */
static size_t utf8_length(const char *p, size_t len)
{
	const unsigned char *u = (const unsigned char *)p;
	size_t n = u[0] < 0x80 ? 1 : u[0] >= 0xf0 && u[0] < 0xf5 ? 4 : u[0] >= 0xe0 ? 3 : u[0] >= 0xc2 ? 2 : 0;
	uint32_t c;

	if (n == 0 || n > len || u[0] >= 0xf5)
		return 0;
	c = n == 1 ? u[0] : u[0] & (0x7f >> n);
	for (size_t i = 1; i < n; i++) {
		if ((u[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (u[i] & 0x3f);
	}
	/* Overlong forms, surrogates, beyond Unicode. */
	if ((n == 3 && (c < 0x800 || (c >= 0xd800 && c < 0xe000))) || (n == 4 && (c < 0x10000 || c > 0x10ffff)))
		return 0;
	/* Controls of both kinds, line ends, and what turns the direction of the text around it. */
	if (c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069))
		return 0;
	return n;
}

void copy_printable(char *to, size_t size, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		size_t character = utf8_length(from + i, len - i);

		if (n + MAX(character, (size_t)1) >= size)
			break;
		if (character)
			memcpy(to + n, from + i, character);
		else
			to[n] = from[i] ? '?' : ' ';
		character = MAX(character, (size_t)1);
		n += character;
		i += character;
	}
	to[n] = '\0';
}
