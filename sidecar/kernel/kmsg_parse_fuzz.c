/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: any bytes as the answer of syslog(2) and as records of /dev/kmsg. The evidence is
 * drawn from them, too.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "sidecar/kernel/kernel_evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct kmsg_log *log)
{
	static const struct kernel_suspect suspects[] = { { "ray::leak", 40 << 20, 0 },
							  { "", 0, 103 } };
	const struct kernel_question q = {
		.self = { .cgroup = "/kubepods/burstable/pode501ca8a-ec23-11e8-b17a-0a586444015a/f24766bce80e0ce4f0ca2887da2be9d0d",
			  .pod_uid = "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb" },
		.ended_us = 8000000,
		.suspects = suspects,
		.n_suspects = ARRAY_SIZE(suspects),
	};
	_cleanup_strbuf_ struct strbuf excerpt = STRBUF_INIT(KERNEL_EXCERPT_MAX);
	struct kernel_evidence e;

	kernel_evidence_find(log, &q, &e, &excerpt);
	for (const char *p = strbuf_str(&excerpt); *p; p++)
		if (*p != '\n' && (*p < ' ' || *p == 0x7f))
			abort();
	for (const char *p = e.line; *p; p++)
		if (*p < ' ')
			abort();
}

/* Passes each line as a record of its own. */
static void as_device(const uint8_t *data, size_t size)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };

	while (size > 0) {
		const uint8_t *newline = memchr(data, '\n', size);
		size_t len = newline ? (size_t)(newline - data) : size;
		/* Of exactly this size, so that ASan sees a read beyond its end */
		char *copy = malloc(MAX(len, (size_t)1));
		struct kmsg_record r;

		if (!copy)
			return;
		memcpy(copy, data, len);
		if (kmsg_parse_device(copy, len, &r))
			kmsg_log_add(&log, &r);
		free(copy);
		data += MIN(len + 1, size);
		size -= MIN(len + 1, size);
	}
	check(&log);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	char *copy = malloc(size + 1);
	const char *p = copy;
	struct kmsg_record r;

	if (!copy)
		return 0;
	memcpy(copy, data, size);
	while (kmsg_next_syslog(&p, copy + size, &r)) {
		char *text = malloc(MAX(r.len, (size_t)1));
		struct kmsg_line line;

		if (text) {
			memcpy(text, r.text, r.len);
			kmsg_parse_line(text, r.len, &line);
			free(text);
		}
		kmsg_log_add(&log, &r);
	}
	free(copy);
	check(&log);
	as_device(data, size);
	return 0;
}
