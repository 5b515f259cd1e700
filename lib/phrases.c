/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces phrases in place. */
#include "lib/phrases.h"

#include <string.h>

#include "lib/macros.h"

static void phrase_replace(char *text, size_t size, const struct phrase *p)
{
	size_t from = strlen(p->of_container), to = strlen(p->of_command);

	for (char *at = text; (at = strstr(at, p->of_container)); at += to) {
		size_t room = (size_t)(text + size - at), rest = strlen(at + from);

		if (to + 1 > room)
			return;
		rest = MIN(rest, room - to - 1);
		memmove(at + to, at + from, rest);
		memcpy(at, p->of_command, to);
		at[to + rest] = '\0';
	}
}

void phrases_replace(char *text, size_t size, const struct phrase *phrases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		phrase_replace(text, size, &phrases[i]);
}
