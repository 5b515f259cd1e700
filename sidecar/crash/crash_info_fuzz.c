/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: the unwinder's line of JSON, up to the first NUL, and its text after it. */
#include "sidecar/crash/crash_info.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const char *text, size_t room)
{
	size_t len = strnlen(text, room);

	if (len == room)
		abort();
	for (size_t i = 0; i < len; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct crash_info info = { .known = true };
	char *text = malloc(size + 2), where[400];
	const char *backtrace;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = text[size + 1] = '\0';
	backtrace = text + strlen(text) + 1;
	if (crash_info_of_summary(text, backtrace < text + size + 2 ? backtrace : "", &info,
				  NULL) >= 0) {
		check(info.comm, sizeof(info.comm));
		check(info.function, sizeof(info.function));
		check(info.module, sizeof(info.module));
		check(info.python, sizeof(info.python));
		check(info.sentence, sizeof(info.sentence));
		check(crash_info_where(&info, where, sizeof(where)), sizeof(where));
		crash_info_name_core(&info);
		if (strchr(info.core_file, '/'))
			abort();
	}
	free(text);
	return 0;
}
