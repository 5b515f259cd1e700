/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libFuzzer target: any bytes as a page of the trace buffer, and as the texts that say where its
 * fields are.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "node/process_status.h"
#include "node/signal_record.h"
#include "node/signal_sender.h"
#include "node/trace_instance.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void as_texts(const char *text, const struct trace_event *event)
{
	struct signal_formats formats;
	struct signal_record record;
	char comm[TRACE_COMM_MAX];
	struct process_status status;

	if (signal_formats_parse(text, text, &formats))
		signal_record_parse(&formats, event, &record);
	trace_saved_comm(text, 1, comm);
	task_is_exiting(text);
	task_began_ns(text);
	process_status_parse(text, &status, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct signal_formats formats = {
		.signal_id = 261, .victim_id = 609, .sender = { 4, 4 }, .signal = { 8, 4 }, .target = { 36, 4 }, .victim = { 8, 4 },
	};
	char *text = malloc(size + 1);
	struct signal_record record;
	struct trace_event event = { .data = data, .len = size };
	struct trace_page page;

	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	as_texts(text, &event);
	free(text);
	if (trace_page_open(&page, data, size))
		while (trace_page_next(&page, &event)) {
			if (event.len > size || event.data < data ||
			    event.data + event.len > data + size)
				abort();
			signal_record_parse(&formats, &event, &record);
		}
	return 0;
}
