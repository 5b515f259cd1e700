/* SPDX-License-Identifier: Apache-2.0 */
/* Walks over JSON text without building a tree of it. */
#include "operator/kube/skim.h"

#include <string.h>

void skim_init(struct skim *s, const char *text, size_t len)
{
	*s = (struct skim){ .at = text, .end = text + len };
}

/* Returns whether c is blank. As in cJSON, control characters are. */
static bool skim_is_blank(char c)
{
	return (unsigned char)c <= ' ' && c;
}

char skim_peek(struct skim *s)
{
	if (s->failed)
		return '\0';
	while (s->at < s->end && skim_is_blank(*s->at))
		s->at++;
	return s->at < s->end ? *s->at : '\0';
}

static bool skim_expect(struct skim *s, char c)
{
	if (skim_peek(s) != c)
		s->failed = true;
	else
		s->at++;
	return !s->failed;
}

static void skim_enter(struct skim *s, char bracket)
{
	skim_expect(s, bracket);
	s->first = true;
}

void skim_object(struct skim *s)
{
	skim_enter(s, '{');
}

void skim_array(struct skim *s)
{
	skim_enter(s, '[');
}

/* Moves behind the bracket, or behind the comma. */
static bool next_of(struct skim *s, char bracket)
{
	char c = skim_peek(s);
	bool first = s->first;

	s->first = false;
	if (c == bracket) {
		s->at++;
		return false;
	}
	return first ? !s->failed : skim_expect(s, ',');
}

/* Moves behind the string that begins here. */
static void skim_skip_string(struct skim *s)
{
	const char *p = s->at + 1;

	while ((p = memchr(p, '"', (size_t)(s->end - p)))) {
		const char *before = p;

		while (before[-1] == '\\')
			before--;
		p++;
		if ((p - before) % 2 == 1) {
			s->at = p;
			return;
		}
	}
	s->failed = true;
}

bool skim_member(struct skim *s, const char **ret_name, size_t *ret_len)
{
	if (!next_of(s, '}'))
		return false;
	if (skim_peek(s) != '"') {
		s->failed = true;
		return false;
	}
	*ret_name = s->at + 1;
	skim_skip_string(s);
	*ret_len = (size_t)(s->at - *ret_name) - 1;
	if (s->failed || memchr(*ret_name, '\\', *ret_len))
		s->failed = true;
	return skim_expect(s, ':');
}

bool skim_item(struct skim *s)
{
	return next_of(s, ']');
}

cJSON *skim_take(struct skim *s)
{
	const char *end = NULL;

	if (!skim_peek(s))
		s->failed = true;
	if (s->failed)
		return NULL;
	cJSON *value = cJSON_ParseWithLengthOpts(s->at, (size_t)(s->end - s->at), &end, false);
	s->failed = !value;
	if (value)
		s->at = end;
	return value;
}

/* Moves behind a number or a word. */
static void skip_plain(struct skim *s)
{
	const char *from = s->at;

	while (s->at < s->end && !skim_is_blank(*s->at) && *s->at && !strchr(",:\"{}[]", *s->at))
		s->at++;
	s->failed = s->at == from;
}

static void skip_nested(struct skim *s)
{
	size_t nesting = 0;

	do {
		char c = *s->at;

		if (c == '"') {
			skim_skip_string(s);
			continue;
		}
		if (c == '{' || c == '[')
			nesting++;
		else if (c == '}' || c == ']')
			nesting--;
		s->at++;
	} while (!s->failed && nesting > 0 && s->at < s->end);
	s->failed = s->failed || nesting != 0;
}

void skim_skip(struct skim *s)
{
	char c = skim_peek(s);

	if (s->failed)
		return;
	if (c == '"')
		skim_skip_string(s);
	else if (c == '{' || c == '[')
		skip_nested(s);
	else
		skip_plain(s);
}

bool skim_ended(struct skim *s)
{
	return !skim_peek(s) && !s->failed && s->at == s->end;
}
