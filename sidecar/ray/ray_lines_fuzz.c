/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target: any text as a log. The texts taken from it must be bounded and printable. */
#include "sidecar/ray/ray_lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_line(const char *text, size_t size)
{
	if (!memchr(text, '\0', size))
		abort();
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text = (const char *)data;
	char task[40] = "", logged_signal[16] = "";
	struct ray_event e;

	ray_line_begins_record(text, size);
	ray_record_parse(text, size, &e);
	check_line(e.task, sizeof(e.task));
	check_line(e.worker_id, sizeof(e.worker_id));
	check_line(e.held, sizeof(e.held));
	check_line(e.memory, sizeof(e.memory));
	check_line(e.detail, sizeof(e.detail));
	if (!memchr(e.table, '\0', sizeof(e.table)) || strchr(e.table, '\033') || e.pid < 0)
		abort();
	ray_worker_log_parse(text, size, task, sizeof(task), logged_signal, sizeof(logged_signal));
	check_line(task, sizeof(task));
	check_line(logged_signal, sizeof(logged_signal));
	return 0;
}
