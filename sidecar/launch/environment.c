/* SPDX-License-Identifier: Apache-2.0 */
/* Gives the command the environment with which the container was started. */
#include "sidecar/launch/environment.h"

#include <ctype.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/launch/proc_file.h"

#define PARENT_MAX \
	(1 << 20) /* bytes of a parent's environment; nothing is restored of a larger one */

/*
 * Shells set these anew for each program that they start, so they may differ between us and the
 * launcher.
 */
#define VOLATILE "_\nSHLVL\n"

/* Returns the length of "NAME=" in an entry; 0: it is no variable. */
static size_t name_length(const char *entry)
{
	size_t len = strcspn(entry, "=");

	return entry[len] ? len + 1 : 0;
}

/* Compares the names of two variables. */
static int names_compare(const void *a, const void *b)
{
	const char *one = a, *other = b;

	for (; *one == *other && *one != '='; one++)
		other++;
	return (*one == '=' ? 0 : (unsigned char)*one) -
	       (*other == '=' ? 0 : (unsigned char)*other);
}

static const char *entry_find(void *const *tree, const char *entry)
{
	const char *const *found = tfind(entry, tree, names_compare);

	return found ? *found : NULL;
}

static bool is_unchanged(void *const *is, const char *entry)
{
	const char *now = entry_find(is, entry);

	return now && strcmp(now, entry) == 0 && strncmp(entry, "_=", 2) != 0 &&
	       strncmp(entry, "SHLVL=", 6) != 0;
}

/* Appends the bytes, encoded, and a newline. Returns false if there is no room for them. */
static bool add_line(char *text, size_t size, const char *bytes, size_t len)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < len && at + 5 <= size; i++) {
		unsigned char c = (unsigned char)bytes[i];

		at += (size_t)snprintf(text + at, size - at,
				       isgraph(c) && c < 0x80 && c != '%' ? "%c" : "%%%02x", c);
	}
	if (at + 5 > size)
		return false;
	text[at] = '\n';
	text[at + 1] = '\0';
	return true;
}

static void entry_keep(void *)
{
}

/* A pod has seven variables of each service of its namespace, so they are found by trees. */
static bool add_difference(const char *was, size_t len, char *const *is, char *text, size_t size)
{
	void *before = NULL, *now = NULL;
	bool fits = true;

	for (char *const *entry = is; fits && *entry; entry++)
		fits = !name_length(*entry) || tsearch(*entry, &now, names_compare);
	for (const char *p = was; fits && p < was + len; p += strlen(p) + 1)
		fits = !name_length(p) ||
		       (tsearch(p, &before, names_compare) &&
			(is_unchanged(&now, p) || add_line(text, size, p, strlen(p))));
	for (; fits && *is; is++)
		fits = !name_length(*is) || entry_find(&before, *is) ||
		       add_line(text, size, *is, name_length(*is) - 1);
	tdestroy(before, entry_keep);
	tdestroy(now, entry_keep);
	return fits;
}

bool environment_difference(const char *was, size_t len, char *const *is, char *ret_text,
			    size_t size)
{
	bool fits = len > 0 && !was[len - 1] && size >= sizeof(VOLATILE);

	snprintf(ret_text, size, "%s", fits ? VOLATILE : "");
	fits = fits && add_difference(was, len, is, ret_text, size);
	if (!fits)
		ret_text[0] = '\0';
	return fits;
}

static int digit_of(char c)
{
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= '0' && c <= '9' ? c - '0' : -1;
}

static void line_decode(char *text)
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
		line_decode(line);
		if (strchr(line, '='))
			putenv(line);
		else
			unsetenv(line);
	}
}

static size_t environ_of_parent(char *ret_text, size_t size)
{
	size_t len = 0;
	ssize_t n = -1;
	_cleanup_close_ int fd = proc_file_open(getppid(), "environ");

	while (fd >= 0 && len < size && (n = read(fd, ret_text + len, size - len)) > 0)
		len += (size_t)n;
	return n == 0 ? len : 0;
}

void environment_print(void)
{
	static char was[PARENT_MAX], text[ENVIRONMENT_DIFFERENCE_MAX];

	environment_difference(was, environ_of_parent(was, sizeof(was)), environ, text,
			       sizeof(text));
	fputs(text, stdout);
}

void environment_restore(char **argv, int self_fd)
{
	char *text = getenv(ENVIRONMENT_VARIABLE), *was = argv[0], path[32];

	/* The container may have a variable of that name, too. */
	if (!text || strcmp(was, ENVIRONMENT_RESTORED) == 0)
		return;
	/* The text stays where the kernel put it. */
	unsetenv(ENVIRONMENT_VARIABLE);
	environment_apply(text);
	if (!self_fd)
		return;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", self_fd);
	argv[0] = (char[]){ ENVIRONMENT_RESTORED };
	execve(path, argv, environ);
	argv[0] = was;
}
