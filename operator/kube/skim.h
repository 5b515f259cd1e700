/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walks through JSON text without building a tree: the operator does not need most of
 * what an API server sends, and a node for each value costs more than anything else
 * that is done with an answer. Pure.
 *
 *	skim_init(&s, text, len);
 *	for (skim_object(&s); skim_member(&s, &name, &name_len);)
 *		... exactly one of skim_take, skim_skip, or an object or array to its end
 *
 * Of skipped values only strings and brackets are examined, and they may be nested to any depth.
 * Unexpected text, and also an escape in a name, sets failed; then all other calls do nothing, and
 * the caller lets cJSON parse the text.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

struct skim {
	const char *at, *end;
	bool first; /* right behind the bracket: no comma stands before the next member or item */
	bool failed;
};

void skim_init(struct skim *s, const char *text, size_t len);

/* Returns the first byte of the next value; '\0' if there is none. */
char skim_peek(struct skim *s);
/* Goes in. */
void skim_object(struct skim *s);
void skim_array(struct skim *s);
/*
 * Returns true if there is another member, and moves to its value; false after the bracket, or if s
 * failed.
 */
bool skim_member(struct skim *s, const char **ret_name, size_t *ret_len);
bool skim_item(struct skim *s);

/* Parses the next value. Returns NULL if s failed. */
cJSON *skim_take(struct skim *s);
void skim_skip(struct skim *s);

/* Returns whether all is read and nothing failed. */
bool skim_ended(struct skim *s);
