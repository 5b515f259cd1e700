/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the events in a page of the kernel's trace ring buffer, in the form of
 * per_cpu/cpuN/trace_pipe_raw. Pure.
 *
 * The text of trace_pipe would be simpler to read, but it has process names in it unescaped, and a
 * process may choose a name with a newline and "sig=9 pid=1". In the binary form each field has a
 * fixed offset. The format is that of include/linux/ring_buffer.h of Linux, unchanged since 2.6.30;
 * tracefs describes it in events/header_page and events/header_event.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trace_page {
	const unsigned char *data; /* the caller's */
	size_t at, end; /* offsets into data */
	uint64_t time_ns; /* of the last event that was read */
	bool lost; /* the kernel dropped events before this page, because the reader was too slow */
};

struct trace_event {
	uint64_t time_ns; /* by the instance's trace_clock */
	const unsigned char *data; /* begins with the u16 common_type; points into the page */
	size_t len;
};

/*
 * Opens the page that one read(2) returned; data must outlive p. Returns false if it is too short
 * to be a page.
 */
bool trace_page_open(struct trace_page *p, const void *data, size_t len);

/* Reads the next event. Returns false if there is none, or the rest of the page is malformed. */
bool trace_page_next(struct trace_page *p, struct trace_event *ret_event);
