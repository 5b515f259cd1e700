/* SPDX-License-Identifier: Apache-2.0 */
/* Finding the memory cgroup of a process from /proc/PID/cgroup and mountinfo. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/sample/memcg.h"

#define FIELD_MAX 512

/* Whether word stands in the comma-separated list of len bytes. */
static bool list_has(const char *list, size_t len, const char *word)
{
	size_t word_len = strlen(word);

	while (len > 0) {
		const char *comma = memchr(list, ',', len);
		size_t item = comma ? (size_t)(comma - list) : len;

		if (item == word_len && memcmp(list, word, item) == 0)
			return true;
		list += MIN(item + 1, len);
		len -= MIN(item + 1, len);
	}
	return false;
}

/*
 * A line is "ID:CONTROLLERS:PATH"; v2 has ID 0 and no controllers. On hybrid
 * hosts both stand there, and memory belongs to v1 if v1 lists it.
 */
int memcg_find_cgroup(const char *text, char *ret_path, size_t size, int *ret_version)
{
	*ret_version = 0;
	for (const char *line = text; *line;) {
		const char *end = strchrnul(line, '\n');
		const char *list = memchr(line, ':', (size_t)(end - line));
		const char *path = list ? memchr(list + 1, ':', (size_t)(end - list - 1)) : NULL;

		if (path && (size_t)(end - path) <= size) {
			bool v1 = list_has(list + 1, (size_t)(path - list - 1), "memory");
			bool v2 = path == list + 1 && line + 1 == list && *line == '0';

			if (v1 || (v2 && *ret_version == 0)) {
				snprintf(ret_path, size, "%.*s", (int)(end - path - 1), path + 1);
				*ret_version = v1 ? 1 : 2;
			}
		}
		line = *end ? end + 1 : end;
	}
	return *ret_version ? 0 : -ENOENT;
}

/* The byte that "ooo" at p stands for, -1 if it does not; not sscanf, which takes fewer digits and reads on. */
static int octal_byte(const char *p)
{
	int value = 0;

	for (int i = 0; i < 3; i++) {
		if (p[i] < '0' || p[i] > '7')
			return -1;
		value = value * 8 + p[i] - '0';
	}
	return value & 0xff;
}

/* mountinfo writes blank, tab, newline and backslash as \ooo. Unescapes the field at *p into buf. */
static void take_field(const char **p, char *buf, size_t size)
{
	size_t n = 0;

	while (**p == ' ')
		(*p)++;
	while (**p && **p != ' ' && **p != '\n') {
		int byte = **p == '\\' ? octal_byte(*p + 1) : -1;
		char c = byte >= 0 ? (char)byte : **p;

		if (byte >= 0)
			*p += 3;
		(*p)++;
		if (n + 1 < size)
			buf[n++] = c;
	}
	buf[n] = '\0';
}

struct mount {
	char root[FIELD_MAX], point[FIELD_MAX], type[32], options[FIELD_MAX];
};

/* "ID PARENT MAJ:MIN ROOT POINT OPTIONS [TAG...] - TYPE SOURCE SUPER-OPTIONS" */
static bool parse_mount(const char *line, struct mount *m)
{
	char skip[FIELD_MAX];

	for (int i = 0; i < 3; i++)
		take_field(&line, skip, sizeof(skip));
	take_field(&line, m->root, sizeof(m->root));
	take_field(&line, m->point, sizeof(m->point));
	do {
		take_field(&line, skip, sizeof(skip));
	} while (skip[0] && strcmp(skip, "-") != 0);
	take_field(&line, m->type, sizeof(m->type));
	take_field(&line, skip, sizeof(skip));
	take_field(&line, m->options, sizeof(m->options));
	return m->options[0] != '\0';
}

int memcg_find(const char *cgroup_text, const char *mountinfo_text, char *ret_path, size_t size, int *ret_version,
	       struct err *err)
{
	char path[FIELD_MAX];
	int version;

	if (memcg_find_cgroup(cgroup_text, path, sizeof(path), &version) < 0)
		return err_set(err, ENOENT, "no memory cgroup in /proc/PID/cgroup");
	for (const char *line = mountinfo_text; *line;) {
		const char *end = strchrnul(line, '\n');
		struct mount m;
		const char *rest = path;
		size_t root_len;

		if (parse_mount(line, &m) && strcmp(m.type, version == 1 ? "cgroup" : "cgroup2") == 0 &&
		    (version == 2 || list_has(m.options, strlen(m.options), "memory"))) {
			/* The mount shows the hierarchy from m.root down: the container's own cgroup, mostly. */
			root_len = strcmp(m.root, "/") == 0 ? 0 : strlen(m.root);
			if (strncmp(path, m.root, root_len) == 0 && (path[root_len] == '/' || !path[root_len]))
				rest = path + root_len;
			else
				rest = "";
			if ((size_t)snprintf(ret_path, size, "%s%s", m.point, strcmp(rest, "/") ? rest : "") >= size)
				return err_set(err, ENAMETOOLONG, "memory cgroup path");
			*ret_version = version;
			return 0;
		}
		line = *end ? end + 1 : end;
	}
	return err_set(err, ENOENT, "no mount of the memory cgroup in mountinfo");
}
