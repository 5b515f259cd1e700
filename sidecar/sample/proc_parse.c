/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the files of /proc/PID. */
#include "sidecar/sample/proc_parse.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "lib/macros.h"
#include "lib/printable.h"

bool proc_parse_statm(const char *text, int64_t page_size, int64_t *ret_rss, int64_t *ret_shared,
		      uint64_t *ret_code)
{
	char *end;

	/* This is faster than sscanf, and it runs for every process in every sweep. */
	strtoull(text, &end, 10);
	if (end == text || *end != ' ' || end[1] < '0' || end[1] > '9')
		return false;
	text = end + 1;
	unsigned long long rss = strtoull(text, &end, 10);
	if (*end != ' ' || end[1] < '0' || end[1] > '9')
		return false;
	unsigned long long shared = strtoull(end + 1, &end, 10);
	unsigned long long code = strtoull(end, NULL, 10);
	if (rss == 0)
		return false;
	/*
	 * No address space has more than 57 bits; sums and differences of such sizes do not
	 * overflow.
	 */
	if (rss > (1ULL << 57) / (unsigned long long)page_size || shared > rss)
		return false;
	*ret_rss = (int64_t)rss * page_size;
	*ret_shared = (int64_t)shared * page_size;
	*ret_code = code;
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

#define STAT_STATE 3
#define STAT_FLAGS 9
#define STAT_START 22
/* The kernel's value in include/linux/sched.h, which is the same since 2.6. */
#define PF_EXITING 0x4
#define PF_SIGNALED 0x400

/* Returns the blank before the field, from the third field on; NULL if the field is missing. */
static const char *stat_field(const char *text, int field)
{
	const char *at = strrchr(text, ')');

	for (int i = 2; at && i < field; i++)
		at = strchr(at + 1, ' ');
	return at;
}

bool proc_parse_dying(const char *text)
{
	const char *state = stat_field(text, STAT_STATE), *flags = stat_field(text, STAT_FLAGS);

	if (!state)
		return false;
	if (state[1] == 'Z' || state[1] == 'X')
		return true;
	return flags && strtoul(flags, NULL, 10) & (PF_EXITING | PF_SIGNALED);
}

bool proc_parse_start(const char *text, unsigned long long *ret_start)
{
	const char *at = stat_field(text, STAT_START);

	if (!at || at[1] < '0' || at[1] > '9')
		return false;
	*ret_start = strtoull(at + 1, NULL, 10);
	return true;
}

static const char *proc_parse_base_name(const char *path, size_t *len)
{
	const char *slash = memrchr(path, '/', *len);

	if (!slash)
		return path;
	*len -= (size_t)(slash + 1 - path);
	return slash + 1;
}

static bool is_shell(const char *name)
{
	return TEXT_IS_ONE_OF(name, "sh", "bash", "dash", "-sh", "-bash");
}

static bool is_python(const char *name)
{
	return strncmp(name, "python", 6) == 0 || strncmp(name, "pypy", 4) == 0;
}

static bool proc_parse_is(const char *arg, size_t len, const char *text)
{
	return len == strlen(text) && memcmp(arg, text, len) == 0;
}

/* What an interpreter's option says about the following words. */
enum option {
	OPTION_PLAIN,
	OPTION_TAKES_NEXT, /* its value is the next word */
	OPTION_MODULE, /* the next word is a module's name, unless its own has one behind the m */
	OPTION_LAST, /* the words after it are not options */
	OPTION_NO_FILE, /* the program is in the command line, or comes from standard input */
};

/*
 * Parses as python(1) does: several options may be in one word; -c, -m, -W and -X have a value, in
 * the same word or in the next.
 */
static enum option python_option(const char *arg, size_t len, size_t *ret_module_at)
{
	if (len == 1)
		return OPTION_NO_FILE;
	if (arg[1] == '-')
		return len == 2						  ? OPTION_LAST :
		       proc_parse_is(arg, len, "--check-hash-based-pycs") ? OPTION_TAKES_NEXT :
									    OPTION_PLAIN;
	for (size_t i = 1; i < len; i++)
		switch (arg[i]) {
		case 'c':
			return OPTION_NO_FILE;
		case 'm':
			*ret_module_at = i + 1;
			return OPTION_MODULE;
		case 'W':
		case 'X':
			return i + 1 < len ? OPTION_PLAIN : OPTION_TAKES_NEXT;
		default:
			break;
		}
	return OPTION_PLAIN;
}

/*
 * Parses as bash(1) and dash(1) do: several options may be in one word; -o and -O take the next
 * word; -c and -s need no file.
 */
static enum option shell_option(const char *arg, size_t len)
{
	if (proc_parse_is(arg, len, "-") || proc_parse_is(arg, len, "--"))
		return OPTION_LAST;
	if (len > 1 && arg[1] == '-')
		return proc_parse_is(arg, len, "--rcfile") ||
				       proc_parse_is(arg, len, "--init-file") ?
			       OPTION_TAKES_NEXT :
			       OPTION_PLAIN;
	if (*arg == '-' && (memchr(arg, 'c', len) || memchr(arg, 's', len)))
		return OPTION_NO_FILE;
	return memchr(arg, 'o', len) || memchr(arg, 'O', len) ? OPTION_TAKES_NEXT : OPTION_PLAIN;
}

/*
 * Finds the script, or the module after -m, with which an interpreter was started. Returns its
 * length, or 0.
 */
static size_t script_argument(const char *data, size_t len, bool shell, const char **ret_script)
{
	enum option last = OPTION_PLAIN;

	for (size_t at = strnlen(data, len) + 1; at < len;) {
		const char *arg = data + at;
		size_t n = strnlen(arg, len - at), module_at = 0;
		bool is_option = n > 0 && (*arg == '-' || (shell && *arg == '+'));

		at += n + 1;
		if (last == OPTION_TAKES_NEXT) {
			last = OPTION_PLAIN;
			continue;
		}
		if (n > 0 && (last != OPTION_PLAIN || !is_option)) {
			*ret_script = arg;
			return n;
		}
		if (is_option)
			last = shell ? shell_option(arg, n) : python_option(arg, n, &module_at);
		if (last == OPTION_NO_FILE)
			return 0;
		if (module_at > 0 && module_at < n) {
			*ret_script = arg + module_at;
			return n - module_at;
		}
	}
	return 0;
}

/*
 * Returns the end of a word for a credential, or NULL. A word that only begins like one
 * ("tokenizer") does not count.
 */
static const char *secret_word(const char *arg, size_t len)
{
	static const char *const words[] = { "password",   "passwd",	 "secret",
					     "token",	   "credential", "access_key",
					     "access-key", "api_key",	 "api-key" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		for (size_t n = strlen(words[i]), at = 0; at + n <= len; at++)
			if (strncasecmp(arg + at, words[i], n) == 0 &&
			    (at + n == len || !isalpha((unsigned char)arg[at + n])))
				return arg + at + n;
	return NULL;
}

/*
 * Hides what follows "--redis_password=" or "--token ", because reports are read by others. It
 * hides the rest of the argument: rather too much than too little.
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

/* A title may have the whole command line in its one argument. */
static void copy_name(char *name, size_t size, const char *text, size_t len)
{
	copy_printable(name, size, text, len);
	hide_secrets(name, strlen(name));
}

bool proc_parse_cmdline(const char *data, size_t len, char name[static PROCESS_NAME_MAX],
			char command[static PROCESS_COMMAND_MAX])
{
	/* Larger than command, so that the text is cut there and not here. */
	char shown[2 * PROCESS_COMMAND_MAX];
	const char *first = data, *script;

	/* A title that was set in place of the arguments is padded with NULs. */
	while (len > 0 && data[len - 1] == '\0')
		len--;
	if (len == 0)
		return false;
	memcpy(shown, data, MIN(len, sizeof(shown)));
	hide_secrets(shown, MIN(len, sizeof(shown)));
	copy_printable(command, PROCESS_COMMAND_MAX, shown, MIN(len, sizeof(shown)));

	size_t first_len = strnlen(data, len);
	if (first_len > 5 && memcmp(data, "ray::", 5) == 0) {
		copy_name(name, PROCESS_NAME_MAX, first, first_len);
		return true;
	}
	/* Ray's components set a title with their command line in parentheses. */
	if (*first != '/' && memmem(first, first_len, " (", 2))
		first_len = (size_t)((const char *)memmem(first, first_len, " (", 2) - first);
	/* A title such as "sshd: user" stays whole; a path is cut to its last component. */
	if (*first == '/' || !memchr(first, ' ', first_len))
		first = proc_parse_base_name(first, &first_len);
	if (first_len == 0)
		return true; /* for "" or "dir/" the name that is set already says more */
	copy_name(name, PROCESS_NAME_MAX, first, first_len);
	size_t script_len = is_python(name) || is_shell(name) ?
				    script_argument(data, len, is_shell(name), &script) :
				    0;
	if (script_len > 0)
		script = proc_parse_base_name(script, &script_len);
	if (script_len > 0 && strlen(name) + 2 < PROCESS_NAME_MAX) {
		size_t used = strlen(name);

		name[used] = ' ';
		copy_name(name + used + 1, PROCESS_NAME_MAX - used - 1, script, script_len);
	}
	return true;
}
