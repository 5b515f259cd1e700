/* SPDX-License-Identifier: Apache-2.0 */
/* libFuzzer target: any bytes as a record of /dev/kmsg, and as mountinfo. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node/kernel_line.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *copy = malloc(size + 1);
	char text[KERNEL_TEXT_MAX];
	struct kernel_line l;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	copy[size] = '\0';
	kernel_line_is_mounted(copy, "sda1");
	if (kernel_line_parse(copy, size, &l)) {
		if (l.text < copy || l.text + l.len > copy + size || l.pid < 0 || l.task < 0 ||
		    l.name_at + l.name_len > l.len)
			abort();
		kernel_line_is_mounted(copy, l.device);
		kernel_line_hide_name(&l, text);
	}
	free(copy);
	return 0;
}
