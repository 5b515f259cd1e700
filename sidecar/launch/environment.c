/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the command the environment with which the container was started. */
#include "sidecar/launch/environment.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PARENT_MAX \
	(1 << 20) /* bytes of a parent's environment; nothing is restored of a larger one */

struct text {
	char *at, *end;
};

static bool is_plain(char c)
{
	return isgraph((unsigned char)c) && c != '%' && (unsigned char)c < 0x80;
}

/* Appends the encoded bytes and the last one as it is. Returns false if there is no room for them and a zero. */
static bool text_add(struct text *t, const char *bytes, size_t len, char last)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < len; i++) {
		if (t->end - t->at < 5)
			return false;
		if (is_plain(bytes[i]))
			*t->at++ = bytes[i];
		else {
			*t->at++ = '%';
			*t->at++ = digits[(unsigned char)bytes[i] >> 4];
			*t->at++ = digits[(unsigned char)bytes[i] & 15];
		}
	}
	*t->at++ = last;
	return true;
}

/* Returns the length of the name in NAME=VALUE; 0: it is no variable. */
static size_t name_length(const char *entry)
{
	size_t len = strcspn(entry, "=");

	return entry[len] ? len : 0;
}

/* Returns the entry of that name; NULL: there is none. */
static const char *find_in_list(char *const *list, const char *name, size_t len)
{
	for (; *list; list++)
		if (strncmp(*list, name, len) == 0 && (*list)[len] == '=')
			return *list;
	return NULL;
}

static const char *find_in_block(const char *block, size_t size, const char *name, size_t len)
{
	for (const char *p = block; p < block + size; p += strlen(p) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return p;
	return NULL;
}

/* Shells set these anew for each program that they start, so they may differ between us and the launcher. */
static const char *const volatile_names[] = { "_", "SHLVL" };

static bool is_volatile(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(volatile_names) / sizeof(volatile_names[0]); i++)
		if (strlen(volatile_names[i]) == len && memcmp(volatile_names[i], name, len) == 0)
			return true;
	return false;
}

static bool add_lost(struct text *t, const char *was, size_t len, char *const *is)
{
	for (const char *p = was; p < was + len; p += strlen(p) + 1) {
		size_t name = name_length(p);
		const char *now = name && !is_volatile(p, name) ? find_in_list(is, p, name) : NULL;

		if (name && (!now || strcmp(now, p) != 0) && !text_add(t, p, strlen(p), '\n'))
			return false;
	}
	return true;
}

static bool add_new(struct text *t, const char *was, size_t len, char *const *is)
{
	for (; *is; is++) {
		size_t name = name_length(*is);

		if (name && !is_volatile(*is, name) && !find_in_block(was, len, *is, name) &&
		    !text_add(t, *is, name, '\n'))
			return false;
	}
	for (size_t i = 0; i < sizeof(volatile_names) / sizeof(volatile_names[0]); i++) {
		size_t name = strlen(volatile_names[i]);

		if (!find_in_block(was, len, volatile_names[i], name) &&
		    !text_add(t, volatile_names[i], name, '\n'))
			return false;
	}
	return true;
}

bool environment_difference(const char *was, size_t len, char *const *is, char *ret_text,
			    size_t size)
{
	struct text t = { .at = ret_text, .end = ret_text + size };
	bool fits =
		len > 0 && !was[len - 1] && add_lost(&t, was, len, is) && add_new(&t, was, len, is);

	*(fits ? t.at : ret_text) = '\0';
	return fits;
}

static int digit_of(char c)
{
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : -1;
}

static void decode(char *text)
{
	char *to = text;

	for (; *text; text++)
		if (*text == '%' && digit_of(text[1]) >= 0 && digit_of(text[2]) >= 0) {
			*to++ = (char)(digit_of(text[1]) << 4 | digit_of(text[2]));
			text += 2;
		} else
			*to++ = *text;
	*to = '\0';
}

void environment_apply(char *text)
{
	while (*text) {
		char *line = text, *end = strchr(text, '\n');

		text = end ? end + 1 : text + strlen(text);
		if (end)
			*end = '\0';
		decode(line);
		if (strchr(line, '='))
			putenv(line);
		else
			unsetenv(line);
	}
}

static size_t environ_of_parent(char *ret_text, size_t size)
{
	char path[32];
	size_t len = 0;
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)getppid());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && len < size && (n = read(fd, ret_text + len, size - len)) > 0)
		len += (size_t)n;
	if (fd >= 0)
		close(fd);
	return n == 0 ? len : 0;
}

void environment_print(void)
{
	static char was[PARENT_MAX], text[ENVIRONMENT_DIFFERENCE_MAX];

	environment_difference(was, environ_of_parent(was, sizeof(was)), environ, text,
			       sizeof(text));
	fputs(text, stdout);
}

void environment_restore(void)
{
	char *text = getenv(ENVIRONMENT_VARIABLE);

	if (!text)
		return;
	/* The text stays where the kernel put it. */
	unsetenv(ENVIRONMENT_VARIABLE);
	environment_apply(text);
}
