/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks over JSON text without building a tree of it: most of what an API
 * server sends is not read here, and a node for each value costs more than
 * anything else that is done with an answer. Pure.
 *
 *	skim_init(&s, text, len);
 *	for (skim_object(&s); skim_member(&s, &name, &name_len);)
 *		... exactly one of skim_take, skim_skip, or an object or array to its end
 *
 * What is skipped is not looked into beyond its strings and brackets, and may be nested as deep as it likes. Whatever
 * is not as expected, an escape in a name too, sets failed, and all else then
 * does nothing: the caller has cJSON judge the text.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_SKIM_H
#define AFTERGLOW_OPERATOR_KUBE_SKIM_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct skim {
	const char *at, *end;
	bool first; /* right behind the bracket: no comma stands before the next member or item */
	bool failed;
};

void skim_init(struct skim *s, const char *text, size_t len);

/* The first byte of the next value, '\0': there is none. */
char skim_peek(struct skim *s);
/* Goes in. */
void skim_object(struct skim *s);
void skim_array(struct skim *s);
/* Whether there is another one, in front of whose value it then stands; else it is behind the bracket, or failed. */
bool skim_member(struct skim *s, const char **ret_name, size_t *ret_len);
bool skim_item(struct skim *s);

/* The next value, parsed. NULL: failed. */
cJSON *skim_take(struct skim *s);
void skim_skip(struct skim *s);

/* Whether all is read and nothing failed. */
bool skim_ended(struct skim *s);

#endif
