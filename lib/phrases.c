/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces phrases in place. */
#include "lib/phrases.h"

#include <string.h>

#include "lib/macros.h"

void phrases_replace(char *text, size_t size, const struct phrase *phrases, size_t n)
{
	for (const struct phrase *p = phrases; p < phrases + n; p++)
		for (char *at = text; (at = strstr(at, p->of_container));
		     at += strlen(p->of_command)) {
			size_t from = strlen(p->of_container), to = strlen(p->of_command);
			size_t room = (size_t)(text + size - at), rest = strlen(at + from);

			if (to + 1 > room)
				break;
			rest = MIN(rest, room - to - 1);
			memmove(at + to, at + from, rest);
			memcpy(at, p->of_command, to);
			at[to + rest] = '\0';
		}
}
