/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a process's identity, rights and PIDs from /proc/PID/status. */
#include "node/process_status.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/fileio.h"

#define STATUS_TEXT_MAX (64 * 1024)
/* The PID on the node, as this /proc shows it, and the PID inside the container */
#define NAMESPACES_OF_CONTAINER 2

/*
 * Finds the text after "NAME:\t". The kernel escapes newlines in the name of the process, so the
 * name cannot forge a line.
 */
static const char *find_line(const char *text, const char *name)
{
	size_t len = strlen(name);

	for (const char *line = text; *line; line += *line == '\n') {
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1 + strspn(line + len + 1, "\t ");
		line = strchrnul(line, '\n');
	}
	return NULL;
}

static bool next_number(const char **at, int base, uint64_t max, uint64_t *ret_value)
{
	char *end;

	*at += strspn(*at, "\t ");
	if (**at == '\n' || **at == '\0' || **at == '-')
		return false;
	errno = 0;
	*ret_value = strtoull(*at, &end, base);
	if (end == *at || errno || *ret_value > max)
		return false;
	*at = end;
	return true;
}

/* Parses "Uid:\treal\teffective\tsaved\tfilesystem". */
static bool fourth_number(const char *text, const char *name, uint64_t *ret_value)
{
	const char *at = find_line(text, name);

	for (int i = 0; at && i < 4; i++)
		if (!next_number(&at, 10, UINT32_MAX, ret_value))
			return false;
	return at;
}

static bool take_groups(const char *text, struct process_status *s)
{
	const char *at = find_line(text, "Groups");
	uint64_t value;

	if (!at)
		return false;
	while (s->n_groups < STATUS_GROUPS_MAX && next_number(&at, 10, UINT32_MAX, &value))
		s->groups[s->n_groups++] = (gid_t)value;
	at += strspn(at, "\t ");
	return *at == '\n' || !*at;
}

/*
 * Takes the container's PID from "NSpid:\t1234\t7". The first number is the PID on the node. If
 * there is only one, the container shares the node's PIDs; a third one belongs to a nested
 * namespace.
 */
static bool take_own_pid(const char *text, struct process_status *s)
{
	const char *at = find_line(text, "NSpid");
	uint64_t value;
	size_t n = 0;

	for (; at && next_number(&at, 10, INT_MAX, &value); n++)
		s->own_pid = (pid_t)value;
	s->container_pid = n <= NAMESPACES_OF_CONTAINER ? s->own_pid : 0;
	return s->own_pid > 0;
}

static bool process_status_take_process(const char *text, struct process_status *s)
{
	const char *at = find_line(text, "Tgid");
	uint64_t value;

	if (!at || !next_number(&at, 10, INT_MAX, &value))
		return false;
	s->process = (pid_t)value;
	return true;
}

static void process_status_take_comm(const char *text, struct process_status *s)
{
	const char *at = find_line(text, "Name");
	size_t n = 0;

	for (; at && at[n] && at[n] != '\n' && n + 1 < sizeof(s->comm); n++)
		s->comm[n] = at[n] > ' ' && at[n] < 0x7f ? at[n] : '?';
	if (n == 0)
		s->comm[n++] = '-';
	s->comm[n] = '\0';
}

int process_status_parse(const char *text, struct process_status *ret_status, struct err *err)
{
	struct process_status s = { 0 };
	uint64_t uid = 0, gid = 0;
	const char *capabilities = find_line(text, "CapEff");

	if (!fourth_number(text, "Uid", &uid) || !fourth_number(text, "Gid", &gid) ||
	    !take_groups(text, &s) || !take_own_pid(text, &s) ||
	    !process_status_take_process(text, &s) || !capabilities ||
	    !next_number(&capabilities, 16, UINT64_MAX, &s.capabilities))
		return err_set(err, EPROTO, "the status of a process");
	s.fsuid = (uid_t)uid;
	s.fsgid = (gid_t)gid;
	process_status_take_comm(text, &s);
	*ret_status = s;
	return 0;
}

int process_status_read(const char *proc, pid_t pid, struct process_status *ret_status,
			struct err *err)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STATUS_TEXT_MAX);
	char path[256];

	snprintf(path, sizeof(path), "%s/%d/status", proc, (int)pid);
	int rc = file_read(AT_FDCWD, path, &text, err);
	return rc < 0 ? rc : process_status_parse(strbuf_str(&text), ret_status, err);
}
