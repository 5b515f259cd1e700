/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the name of a process. The result must be one printable line of UTF-8
 * within its bounds. The first byte selects the parser.
 */
#include "sidecar/sample/proc_parse.h"

#include <stdlib.h>
#include <string.h>

#include "lib/macros.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Checks UTF-8 in another way than the parser does: by a table of lengths for each first byte. */
static void check(const char *text, size_t max)
{
	const unsigned char *p = (const unsigned char *)text;

	if (strnlen(text, max) == max)
		abort();
	while (*p) {
		size_t n = *p < 0x80 ? 1 :
			   *p < 0xc2 ? 0 :
			   *p < 0xe0 ? 2 :
			   *p < 0xf0 ? 3 :
			   *p < 0xf5 ? 4 :
				       0;

		if (n == 0 || *p < 0x20 || *p == 0x7f || (*p == 0xc2 && p[1] < 0xa0))
			abort();
		for (size_t i = 1; i < n; i++)
			if (p[i] < 0x80 || p[i] > 0xbf)
				abort();
		p += n;
	}
}

static void parse_text(char which, const char *text)
{
	char name[PROCESS_NAME_MAX] = "";
	int64_t rss = 0, shared = 0;
	uint64_t code;
	unsigned long long start;
	pid_t ppid;

	if (which == 'm') {
		if (proc_parse_statm(text, 4096, &rss, &shared, &code) &&
		    (rss <= 0 || shared < 0 || shared > rss))
			abort();
	} else {
		proc_parse_stat(text, &ppid, name);
		proc_parse_start(text, &start);
		proc_parse_dying(text);
		check(name, sizeof(name));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char name[PROCESS_NAME_MAX] = "comm", command[PROCESS_COMMAND_MAX] = "";
	_cleanup_free_ char *text = NULL;

	if (size < 1)
		return 0;
	if (data[0] == 'c') {
		if (proc_parse_cmdline((const char *)data + 1, size - 1, name, command) && !name[0])
			abort();
		check(name, sizeof(name));
		check(command, sizeof(command));
		return 0;
	}
	text = malloc(size);
	if (!text)
		return 0;
	memcpy(text, data + 1, size - 1);
	text[size - 1] = '\0';
	parse_text((char)data[0], text);
	return 0;
}
