/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: no header may give a name that leads elsewhere, or an impossible size. */
#include "lib/tar.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char block[TAR_BLOCK] = { 0 }, name[TAR_NAME_MAX];
	int64_t bytes;

	memcpy(block, data, size < sizeof(block) ? size : sizeof(block));
	if (tar_header_parse(block, name, &bytes, NULL) == 0 &&
	    (!*name || *name == '/' || strstr(name, "..") == name || strstr(name, "/../") ||
	     bytes < 0 || bytes > TAR_SIZE_MAX))
		abort();
	return 0;
}
