/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any lines as messages of the node agent. Each end that follows must be of a
 * container by its whole ID, and be printable as JSON.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "sidecar/node/unmet_ends.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void take(const char *text, size_t len, struct unmet_ends *u, struct kmsg_log *log)
{
	char id[NODE_SIGNALS_ID_LEN + 1];
	struct node_signal s;
	struct kmsg_record r;

	if (node_signal_parse(text, len, id, &s))
		unmet_ends_note(u, id, &s);
	if (node_kernel_line_parse(text, len, &r))
		kmsg_log_add(log, &r);
}

static void check(const struct unmet_end *end)
{
	_cleanup_json_ cJSON *json = unmet_end_to_json(end);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(json);

	if (!text || strspn(end->container_id, "0123456789abcdef") != NODE_SIGNALS_ID_LEN ||
	    (end->confidence == CONFIDENCE_CERTAIN && (end->killed || !end->lines[1][0])))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct unmet_clocks now = { .boottime_ns = NS_PER_SEC,
						 .realtime_ns = 1795224546 * NS_PER_SEC,
						 .log_us = 1000000 };
	const char *p = (const char *)data, *end = p + size;
	_cleanup_kmsg_log_ struct kmsg_log log = { 0 };
	struct unmet_end ends[UNMET_ENDS_MAX];
	struct unmet_ends u = { 0 };
	size_t n;

	while (p < end) {
		const char *next = memchr(p, '\n', (size_t)(end - p));

		take(p, (size_t)((next ? next : end) - p), &u, &log);
		p = next ? next + 1 : end;
	}
	n = unmet_ends_find(&u, &log, "94eb36cd-29e1-478b-b365-4cb5dfc7d6fb", &now, ends);
	for (size_t i = 0; i < n; i++)
		check(&ends[i]);
	return 0;
}
