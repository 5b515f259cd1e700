/* SPDX-License-Identifier: Apache-2.0 */
/* A growing string with a ceiling. */
#include "lib/strbuf.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/oom.h"

#define STRBUF_FIRST_CAPACITY 64

void strbuf_init(struct strbuf *sb, size_t ceiling)
{
	*sb = STRBUF_INIT(ceiling);
}

void strbuf_release(struct strbuf *sb)
{
	free(sb->data);
	*sb = STRBUF_INIT(sb->max);
}

/*
 * Makes room for `extra` more bytes and the NUL. Returns false, also from every later call, if
 * there is no memory or the ceiling is reached.
 */
static bool strbuf_reserve(struct strbuf *sb, size_t extra)
{
	size_t cap = sb->cap ? sb->cap : STRBUF_FIRST_CAPACITY;

	if (sb->failed || extra > sb->max - sb->len) {
		sb->failed = true;
		return false;
	}
	if (sb->len + extra + 1 <= sb->cap)
		return true;
	while (cap < sb->len + extra + 1)
		cap *= 2;
	char *data = realloc(sb->data, cap);
	if (!data) {
		oom_note();
		sb->failed = true;
		return false;
	}
	sb->data = data;
	sb->cap = cap;
	return true;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t len)
{
	if (!strbuf_reserve(sb, len))
		return;
	memcpy(sb->data + sb->len, data, len);
	sb->len += len;
	sb->data[sb->len] = '\0';
}

void strbuf_adds(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addc(struct strbuf *sb, char c)
{
	strbuf_add(sb, &c, 1);
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap, again;

	va_start(ap, fmt);
	va_copy(again, ap);
	int len = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (len < 0)
		sb->failed = true;
	else if (strbuf_reserve(sb, (size_t)len)) {
		vsnprintf(sb->data + sb->len, (size_t)len + 1, fmt, again);
		sb->len += (size_t)len;
	}
	va_end(again);
}

void strbuf_add_escaped(struct strbuf *sb, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
			strbuf_addf(sb, "\\x%02x", c);
		else
			strbuf_addc(sb, (char)c);
	}
}

void text_escape(char *out, size_t size, const char *s, size_t len)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(4 * size);

	strbuf_add_escaped(&text, s, MIN(len, size));
	snprintf(out, size, "%s", strbuf_str(&text));
}

void strbuf_consume(struct strbuf *sb, size_t n)
{
	if (!sb->len)
		return;
	n = MIN(n, sb->len);
	memmove(sb->data, sb->data + n, sb->len - n + 1);
	sb->len -= n;
}

void strbuf_truncate(struct strbuf *sb, size_t len)
{
	if (len >= sb->len)
		return;
	sb->len = len;
	sb->data[len] = '\0';
}

void strbuf_reset(struct strbuf *sb)
{
	strbuf_truncate(sb, 0);
	sb->failed = false;
}

const char *strbuf_str(const struct strbuf *sb)
{
	return sb->data ? sb->data : "";
}

char *strbuf_detach(struct strbuf *sb)
{
	if (!strbuf_reserve(sb, 0))
		return NULL;
	sb->data[sb->len] = '\0';
	char *data = TAKE_PTR(sb->data);
	*sb = STRBUF_INIT(sb->max);
	return data;
}
