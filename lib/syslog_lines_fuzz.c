/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a node's syslog. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/syslog_lines.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct syslog_subject subject = {
		"94eb36cd-29e1-478b-b365-4cb5dfc7d6fb", "ray",
		"/x/46b3e0a4df44b752b841aecca454e6e78995d567912a84950390bae6f6777a63"
	};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	char *copy = malloc(size + 1);

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	syslog_lines_of(copy, size, &subject, 100, &out);
	if (out.len > 100)
		abort();
	free(copy);
	return 0;
}
