/* SPDX-License-Identifier: Apache-2.0 */
/* Reading what /proc/PID files say. */
#include "sidecar/sample/proc_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/macros.h"
#include "lib/printable.h"

bool proc_parse_statm(const char *text, int64_t page_size, int64_t *ret_rss, int64_t *ret_shared)
{
	unsigned long long rss, shared;
	char *end;

	/* Not sscanf: this is done for every process in every sweep. */
	strtoull(text, &end, 10);
	if (end == text || *end != ' ' || end[1] < '0' || end[1] > '9')
		return false;
	text = end + 1;
	rss = strtoull(text, &end, 10);
	if (*end != ' ' || end[1] < '0' || end[1] > '9')
		return false;
	shared = strtoull(end + 1, NULL, 10);
	if (rss == 0)
		return false;
	/* No address space has more than 57 bits; sums and differences of such sizes do not overflow. */
	if (rss > (1ULL << 57) / (unsigned long long)page_size || shared > rss)
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

#define STAT_START 22

bool proc_parse_start(const char *text, unsigned long long *ret_start)
{
	const char *at = strrchr(text, ')');

	for (int field = 2; at && field < STAT_START; field++)
		at = strchr(at + 1, ' ');
	if (!at || at[1] < '0' || at[1] > '9')
		return false;
	*ret_start = strtoull(at + 1, NULL, 10);
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

static bool is(const char *arg, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(arg, text, len) == 0;
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
		if (is(data + at, arg_len, "-c"))
			return 0;
		module = is(data + at, arg_len, "-m");
		at += arg_len + 1;
	}
	return 0;
}

/* Where a word for a credential ends in the argument, not one that only begins like it ("tokenizer"); NULL: none. */
static const char *secret_word(const char *arg, size_t len)
{
	static const char *const words[] = { "password", "passwd", "secret", "token", "credential", "access_key", "access-key",
					     "api_key", "api-key" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t n = strlen(words[i]), at = 0; at + n <= len; at++)
			if (strncasecmp(arg + at, words[i], n) == 0 &&
			    (at + n == len || !isalpha((unsigned char)arg[at + n])))
				return arg + at + n;
	return NULL;
}

/*
 * What follows "--redis_password=" or "--token " is not for reports, which
 * others read. Rather too much is hidden than too little: to the argument's end.
 */
static void hide_secrets(char *data, size_t len)
{
	bool hide_next = false;

	for (size_t at = 0; at < len;) {
		char *arg = data + at, *value = NULL;
		size_t arg_len = strnlen(arg, len - at);
		const char *word = secret_word(arg, arg_len);

		if (hide_next && arg_len > 0 && *arg != '-')
			value = arg;
		else if (word && (value = memchr(word, '=', arg_len - (size_t)(word - arg))))
			value++;
		hide_next = word && !value && *arg == '-';
		if (value)
			memset(value, '*', arg_len - (size_t)(value - arg));
		at += arg_len + 1;
	}
}

bool proc_parse_cmdline(const char *data, size_t len, char name[static PROCESS_NAME_MAX],
			char command[static PROCESS_COMMAND_MAX])
{
	char shown[2 * PROCESS_COMMAND_MAX]; /* so that it is cut where command is, not here */
	const char *first = data, *script;
	size_t first_len, script_len;

	/* Titles set in place of the arguments are padded with NULs. */
	while (len > 0 && data[len - 1] == '\0')
		len--;
	if (len == 0)
		return false;
	memcpy(shown, data, MIN(len, sizeof(shown)));
	hide_secrets(shown, MIN(len, sizeof(shown)));
	copy_printable(command, PROCESS_COMMAND_MAX, shown, MIN(len, sizeof(shown)));

	first_len = strnlen(data, len);
	if (first_len > 5 && memcmp(data, "ray::", 5) == 0) {
		copy_printable(name, PROCESS_NAME_MAX, first, first_len);
		return true;
	}
	/* Ray's components put their command line in parentheses behind their title. */
	if (*first != '/' && memmem(first, first_len, " (", 2))
		first_len = (size_t)((const char *)memmem(first, first_len, " (", 2) - first);
	/* A title such as "sshd: user" keeps its words; a path loses its directories. */
	if (*first == '/' || !memchr(first, ' ', first_len))
		first = base_name(first, &first_len);
	if (first_len == 0)
		return true; /* "" or "dir/": the name that is there says more */
	copy_printable(name, PROCESS_NAME_MAX, first, first_len);
	script_len = is_interpreter(name) ? script_argument(data, len, &script) : 0;
	if (script_len > 0)
		script = base_name(script, &script_len);
	if (script_len > 0 && strlen(name) + 2 < PROCESS_NAME_MAX) {
		size_t used = strlen(name);

		name[used] = ' ';
		copy_printable(name + used + 1, PROCESS_NAME_MAX - used - 1, script, script_len);
	}
	return true;
}
