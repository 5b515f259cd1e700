/* SPDX-License-Identifier: Apache-2.0 */
/* Makes untrusted text fit for a line, a terminal and a JSON document. */
#include "lib/printable.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/macros.h"
#include "lib/utf8.h"

/*
 * Returns the bytes of the UTF-8 character at p, of which len bytes are there; 0 if a line may not
 * contain it.
 */
static size_t printable_length(const char *p, size_t len)
{
	uint32_t c = 0;
	size_t n = utf8_character(p, len, &c);

	return utf8_is_printable(c) ? n : 0;
}

void copy_printable(char *to, size_t size, const char *from, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len;) {
		size_t character = printable_length(from + i, len - i);

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

void mend_printable(char *text, size_t len, const char *keep)
{
	for (size_t i = 0, n; i < len; i += MAX(n, (size_t)1)) {
		n = printable_length(text + i, len - i);
		if (n == 0 && !text[i])
			text[i] = ' ';
		else if (n == 0 && !strchr(keep, text[i]))
			text[i] = '?';
	}
}

static bool is_continuation(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

void copy_ends(char *to, size_t size, const char *from, size_t len)
{
	static const char gap[] = " ... ";
	size_t room = size - sizeof(gap), head = room / 2, tail = room - head;

	if (len < size) {
		memcpy(to, from, len);
		to[len] = '\0';
		return;
	}
	while (head > 0 && is_continuation(from[head]))
		head--;
	while (tail > 0 && is_continuation(from[len - tail]))
		tail--;
	memcpy(to, from, head);
	memcpy(to + head, gap, sizeof(gap) - 1);
	memcpy(to + head + sizeof(gap) - 1, from + len - tail, tail);
	to[head + sizeof(gap) - 1 + tail] = '\0';
}
