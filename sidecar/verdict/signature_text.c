/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the parts of a signature from hostile texts. */
#include "sidecar/verdict/signature_text.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

#define TEXT_LOOKED_MAX 1024 /* bytes of any text that are used */
#define HASH_LEN 5 /* "~1a2b" */
#define HEX_ID_MIN 8
#define INDEX_DIGITS_MAX 3 /* as in "conv2d" or "sha256"; a longer number is a counter */

/* isalpha() is not used: the locale must not matter, and bytes may be negative. */
static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_alnum(char c)
{
	return is_digit(c) || is_letter(c);
}

static bool is_hex(char c)
{
	return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The characters of which Kubernetes makes the generated part of a name. */
static bool is_generated(char c)
{
	return c != '\0' && strchr("bcdfghjklmnpqrstvwxz2456789", c) != NULL;
}

struct word {
	const char *at;
	size_t len;
	char before; /* the byte before it, '\0' at the beginning */
	bool after_id; /* an id comes before it, as in "550e8400-e29b" */
};

static size_t count(const struct word *w, bool (*is)(char c))
{
	size_t n = 0;

	for (size_t i = 0; i < w->len; i++)
		n += is(w->at[i]);
	return n;
}

static bool word_is_all(const struct word *w, bool (*is)(char c))
{
	return count(w, is) == w->len;
}

/* Returns whether the whole word differs from run to run. */
static bool is_id(const struct word *w)
{
	if (is_digit(w->at[0])) /* numbers, sizes, durations, addresses such as 0x7f00 */
		return true;
	if (word_is_all(w, is_hex) && count(w, is_digit) > 0 &&
	    (w->len >= HEX_ID_MIN || (w->after_id && w->before == '-')))
		return true;
	if (w->before != '-' || !word_is_all(w, is_generated))
		return false;
	return w->len == 5 || (w->len >= 8 && w->len <= 10 && count(w, is_digit) > 0);
}

struct output {
	char *at;
	size_t n, size;
	bool cut;
};

static void put(struct output *o, char c)
{
	/* Several equal separators become one. */
	if (o->n > 0 && o->at[o->n - 1] == c && (c == '_' || c == '.' || c == '/'))
		return;
	if (o->n + 1 >= o->size) {
		o->cut = true;
		return;
	}
	o->at[o->n++] = c;
}

/* Several ids in a row, as in "10.0.0.1" or "550e8400-e29b", become one. */
static void put_id(struct output *o)
{
	size_t n = o->n;

	while (n > 0 && strchr(".-_,/", o->at[n - 1]))
		n--;
	if (n > 0 && o->at[n - 1] == '#')
		o->n = n;
	else
		put(o, '#');
}

/* Returns whether it is a prefix after which Python's tempfile puts eight random characters. */
static bool is_temporary(const struct word *w)
{
	return w->len >= 8 && strncmp(w->at, "tmp", 3) == 0;
}

static void put_word(struct output *o, const struct word *w)
{
	size_t i = 0;

	while (i < w->len) {
		size_t run = 0;

		while (i + run < w->len && is_digit(w->at[i + run]))
			run++;
		if (run > INDEX_DIGITS_MAX)
			put(o, '#');
		else if (run == 0)
			put(o, w->at[i]);
		for (size_t k = 0; run <= INDEX_DIGITS_MAX && k < run; k++)
			put(o, w->at[i + k]);
		i += MAX(run, (size_t)1);
	}
}

static bool in_path(char c)
{
	return is_alnum(c) || (c != '\0' && strchr("._+@-/", c));
}

/* The index of the last component of the path that begins at text[i]; i if there is no path. */
static size_t skip_directories(const char *text, size_t len, size_t i)
{
	size_t last = i;

	for (size_t k = i; k < len && in_path(text[k]); k++)
		if (text[k] == '/' && k + 1 < len && in_path(text[k + 1]) && text[k + 1] != '/')
			last = k + 1;
	return last;
}

static void put_other(struct output *o, char c)
{
	if (c == ':')
		c = '.'; /* a colon would end the field */
	put(o, c != '\0' && strchr("./+-=,@", c) ? c : '_');
}

static void clean(const char *text, size_t len, struct output *o)
{
	bool after_id = false;

	for (size_t i = 0; i < len;) {
		struct word w = { .at = text + i,
				  .before = i ? text[i - 1] : '\0',
				  .after_id = after_id };

		while (i + w.len < len && is_alnum(text[i + w.len]))
			w.len++;
		if (w.len > 0) {
			after_id = is_id(&w) || is_temporary(&w);
			if (after_id)
				put_id(o);
			else
				put_word(o, &w);
			i += w.len;
		} else if (text[i] == '/' && !is_alnum(w.before) &&
			   skip_directories(text, len, i) > i)
			i = skip_directories(text, len, i);
		else
			put_other(o, text[i++]);
	}
	while (o->n > 0 && strchr("_.,-/+=", o->at[o->n - 1]))
		o->n--;
	o->at[o->n] = '\0';
}

const char *signature_clean(const char *text, char *out, size_t size)
{
	struct output o = { .at = out, .size = size };

	clean(text, strnlen(text, TEXT_LOOKED_MAX), &o);
	return out;
}

/* FNV-1a, folded. It only has to distinguish names that look alike after cleaning. */
static unsigned int checksum(const char *text)
{
	uint32_t hash = 2166136261u;

	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 16777619u;
	return (hash >> 16) ^ (hash & 0xffff);
}

static bool is_ascii(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text >= 0x80)
			return false;
	return true;
}

const char *signature_clean_name(const char *name, char *out, size_t size)
{
	char whole[TEXT_LOOKED_MAX + 1];
	struct output o = { .at = whole, .size = sizeof(whole) };

	clean(name, strnlen(name, TEXT_LOOKED_MAX), &o);
	size_t len = strlen(whole);
	/*
	 * The checksum of a long name is that of the cleaned name; for a name outside ASCII it is
	 * that of the original.
	 */
	if (!is_ascii(name))
		snprintf(out, size, "%.*s~%04x", (int)MIN(len, size - HASH_LEN - 1), whole,
			 checksum(name));
	else if (len >= size)
		snprintf(out, size, "%.*s~%04x", (int)(size - HASH_LEN - 1), whole,
			 checksum(whole));
	else
		snprintf(out, size, "%s", whole);
	return out;
}

/*
 * Returns the length of a name without the suffix of the compiler's copy: "f.constprop.0",
 * "g.cold", "h.llvm.123".
 */
static size_t without_suffix(const char *name, size_t len)
{
	static const char *const suffixes[] = { ".constprop", ".isra",	".part", ".cold",
						".lto_priv",  ".llvm.", "@@",	 " [clone" };

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		const char *at = memmem(name, len, suffixes[i], strlen(suffixes[i]));

		if (at && at > name)
			len = (size_t)(at - name);
	}
	/* Rust: "core::panicking::panic::h0123456789abcdef" */
	if (len > 19 && memcmp(name + len - 19, "::h", 3) == 0) {
		struct word w = { .at = name + len - 16, .len = 16 };

		if (word_is_all(&w, is_hex))
			len -= 19;
	}
	return len;
}

const char *signature_clean_function(const char *function, char *out, size_t size)
{
	char bare[TEXT_LOOKED_MAX + 1];
	size_t len = without_suffix(function, strnlen(function, TEXT_LOOKED_MAX)), n = 0;
	int depth = 0;

	for (size_t i = 0; i < len; i++) {
		char c = function[i];

		if (c == '(' || c == '<')
			depth++;
		else if ((c == ')' || c == '>') && depth > 0)
			depth--;
		else if (depth == 0)
			bare[n++] = c;
	}
	bare[n] = '\0';
	/* "<T as Trait>::f" would lose its type. */
	if (function[0] == '<' || n == 0)
		return signature_clean_name(function, out, size);
	/* "(anonymous namespace)::f" */
	return signature_clean_name(bare + strspn(bare, ":"), out, size);
}
