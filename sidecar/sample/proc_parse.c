/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what /proc/PID files say. */
#include "sidecar/sample/proc_parse.h"

#include <stdio.h>
#include <string.h>

#include "lib/macros.h"

/* Copies text as far as it fits; bytes that would disturb a terminal or a line become '?'. UTF-8 stays. */
static void copy_printable(char *to, size_t size, const char *from, size_t len)
{
	size_t n = MIN(len, size - 1);

	/* Not through the middle of a UTF-8 character. */
	while (n < len && n > 0 && ((unsigned char)from[n] & 0xc0) == 0x80)
		n--;
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)from[i] < 0x20 || from[i] == 0x7f ? '?' : from[i];
	to[n] = '\0';
}

bool proc_parse_statm(const char *text, int64_t page_size, int64_t *ret_rss, int64_t *ret_shared)
{
	unsigned long long size, rss, shared;

	if (sscanf(text, "%llu %llu %llu", &size, &rss, &shared) != 3 || rss == 0)
		return false;
	if (rss > (unsigned long long)INT64_MAX / (unsigned long long)page_size || shared > rss)
		return false;
	*ret_rss = (int64_t)rss * page_size;
	*ret_shared = (int64_t)shared * page_size;
	return true;
}

bool proc_parse_stat(const char *text, pid_t *ret_ppid, char name[static PROCESS_NAME_MAX])
{
	/* The name may itself hold ") Z 1 ": the last parenthesis is the real one. */
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	char state;
	int ppid;

	if (!open || !close || close < open || sscanf(close + 1, " %c %d", &state, &ppid) != 2)
		return false;
	*ret_ppid = ppid;
	copy_printable(name, PROCESS_NAME_MAX, open + 1, (size_t)(close - open - 1));
	return true;
}

static const char *base_name(const char *path, size_t *len)
{
	const char *slash = memrchr(path, '/', *len);

	if (!slash)
		return path;
	*len -= (size_t)(slash + 1 - path);
	return slash + 1;
}

static bool is_interpreter(const char *name)
{
	return strncmp(name, "python", 6) == 0 || strcmp(name, "bash") == 0 || strcmp(name, "sh") == 0;
}

/* The first argument that is a script, or the module after -m; its length, 0 if there is none. */
static size_t script_argument(const char *data, size_t len, const char **ret_script)
{
	bool module = false;

	for (size_t at = strnlen(data, len) + 1; at < len;) {
		size_t arg_len = strnlen(data + at, len - at);

		if (module || (arg_len > 0 && data[at] != '-')) {
			*ret_script = data + at;
			return arg_len;
		}
		if (strcmp(data + at, "-c") == 0)
			return 0;
		module = strcmp(data + at, "-m") == 0;
		at += arg_len + 1;
	}
	return 0;
}

bool proc_parse_cmdline(const char *data, size_t len, char name[static PROCESS_NAME_MAX],
			char command[static PROCESS_COMMAND_MAX])
{
	char flat[PROCESS_COMMAND_MAX];
	const char *first = data, *script;
	size_t first_len, script_len, n;

	/* Titles set in place of the arguments are padded with NULs. */
	while (len > 0 && data[len - 1] == '\0')
		len--;
	if (len == 0)
		return false;
	n = MIN(len, sizeof(flat) - 1);
	for (size_t i = 0; i < n; i++)
		flat[i] = data[i] ? data[i] : ' ';
	copy_printable(command, PROCESS_COMMAND_MAX, flat, n);

	first_len = strnlen(data, len);
	if (strncmp(data, "ray::", MIN(first_len, 5)) == 0 && first_len > 5) {
		copy_printable(name, PROCESS_NAME_MAX, first, first_len);
		return true;
	}
	/* A title such as "sshd: user" keeps its words; a path loses its directories. */
	if (*first == '/' || !memchr(first, ' ', first_len))
		first = base_name(first, &first_len);
	copy_printable(name, PROCESS_NAME_MAX, first, first_len);
	script_len = is_interpreter(name) ? script_argument(data, len, &script) : 0;
	if (script_len > 0 && strlen(name) + 2 < PROCESS_NAME_MAX) {
		size_t used = strlen(name);

		script = base_name(script, &script_len);
		name[used] = ' ';
		copy_printable(name + used + 1, PROCESS_NAME_MAX - used - 1, script, script_len);
	}
	return true;
}
