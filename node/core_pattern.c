/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and reads the value of kernel.core_pattern while the core handler takes the node's cores.
 */
#include "node/core_pattern.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/docs.h"

#define ARGUMENTS " %P %s %c %d"
#define N_ARGUMENTS 4

/*
 * A pattern of another version of ours may have another number and other arguments. They end with
 * the last one, "%d".
 */
const char *core_pattern_before(const char *pattern)
{
	static const char name[] = "/afterglow-core";
	const char *program = pattern + strcspn(pattern, " "), *last;
	const char *found = memmem(pattern, (size_t)(program - pattern), name, strlen(name));

	if (pattern[0] != '|' || pattern[1] != '/' || !found ||
	    memchr(found + 1, '/', (size_t)(program - found - 1)))
		return NULL;
	last = strstr(program, " %d");
	if (!last)
		return NULL;
	last += strlen(" %d");
	last += *last == 'u';
	return *last == ' ' ? last + 1 : last;
}

int core_pattern_make(const char *directory, const char *before,
		      char ret_pattern[static CORE_PATTERN_MAX + 1], struct err *err)
{
	char pattern[CORE_PATTERN_MAX + 1];

	if (before[0] == '@')
		return err_set(
			err, ENOTSUP,
			"core_pattern is \"%s\": the kernel connects the process that crashes to a socket, and "
			"nobody else can connect in its name. " DOCS_PAGE(
				"node-agent.md") " says what to change. Cores stay as they are",
			before);
	if (before[0] != '|' && strpbrk(before, " \t"))
		return err_set(
			err, ENOTSUP,
			"core_pattern is \"%s\": a file's name with blanks cannot be kept in ours. Cores stay as "
			"they are",
			before);
	bool may_add_pid = before[0] != '|' && !strstr(before, "%p");
	int len = snprintf(pattern, sizeof(pattern), "|%s/%s%s%s%s", directory,
			   CORE_PROGRAM ARGUMENTS, may_add_pid ? "u" : "", before[0] ? " " : "",
			   before);
	if (len < 0 || (size_t)len >= sizeof(pattern))
		return err_set(
			err, ENOTSUP,
			"core_pattern is \"%s\": with ours before it that is %d bytes, and the kernel takes %d. A "
			"shorter --directory may help. Cores stay as they are",
			before, len, CORE_PATTERN_MAX);
	memcpy(ret_pattern, pattern, sizeof(pattern));
	return 0;
}

static bool core_pattern_parse_number(const char *text, uint64_t max, uint64_t *ret_value,
				      const char **ret_end)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*ret_value = strtoull(text, &end, 10);
	*ret_end = end;
	return errno == 0 && *ret_value <= max;
}

int core_arguments_parse(char *const *argv, struct core_arguments *ret_arguments, struct err *err)
{
	static const uint64_t max[N_ARGUMENTS] = { INT_MAX, 64, UINT64_MAX, 2 };
	uint64_t value[N_ARGUMENTS];
	const char *end = "";

	for (size_t i = 0; i < N_ARGUMENTS; i++)
		if (*end || !argv[0] || !argv[i + 1] ||
		    !core_pattern_parse_number(argv[i + 1], max[i], &value[i], &end))
			return err_set(err, EPROTO, "the kernel's argument %zu", i + 1);
	if (value[0] == 0 || (*end && strcmp(end, "u") != 0))
		return err_set(err, EPROTO, "the kernel's arguments");
	*ret_arguments = (struct core_arguments){
		.pid = (pid_t)value[0],
		.signal = (int)value[1],
		.limit = value[2],
		.dumpable = (int)value[3],
		.may_add_pid = *end == 'u',
		.before = argv + 1 + N_ARGUMENTS,
	};
	return 0;
}
