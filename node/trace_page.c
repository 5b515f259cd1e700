/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the events in a page of the kernel's trace ring buffer. */
#include "node/trace_page.h"

#include <string.h>

#include "lib/macros.h"

/* U64 time and long commit, on 64-bit machines, the only ones that we support */
#define HEADER_SIZE 16
#define COMMIT_MASK 0xfffffff /* the bits above hold flags */
#define COMMIT_LOST (UINT64_C(1) << 31)
#define EVENT_HEADER 4
#define TYPE_PADDING 29
#define TYPE_TIME_EXTEND 30
#define TYPE_TIME_STAMP 31
#define DELTA_BITS 27
#define STAMP_MASK ((UINT64_C(1) << 59) - 1) /* the upper bits come from the page's time */

static uint32_t u32_at(const unsigned char *p)
{
	uint32_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

static uint64_t u64_at(const unsigned char *p)
{
	uint64_t value;

	memcpy(&value, p, sizeof(value));
	return value;
}

bool trace_page_open(struct trace_page *p, const void *data, size_t len)
{
	if (len < HEADER_SIZE)
		return false;
	uint64_t commit = u64_at((const unsigned char *)data + 8);
	*p = (struct trace_page){
		.data = data,
		.at = HEADER_SIZE,
		.end = HEADER_SIZE + MIN((size_t)(commit & COMMIT_MASK), len - HEADER_SIZE),
		.time_ns = u64_at(data),
		.lost = (commit & COMMIT_LOST) != 0,
	};
	return true;
}

/* Returns the size of the event at p->at with its header, or 0 if it does not fit into the page. */
static size_t event_size(const struct trace_page *p, unsigned int type)
{
	size_t left = p->end - p->at, size;

	if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP)
		size = 8;
	else if (type > 0 && type < TYPE_PADDING)
		size = EVENT_HEADER + type * 4;
	else if (left < 8)
		return 0;
	else
		size = EVENT_HEADER + (size_t)u32_at(p->data + p->at + 4);
	return size > left || size < EVENT_HEADER + 4 ? 0 : size;
}

/*
 * Sets the event's data, which follow a header and, if the length does not fit into the header, the
 * length.
 */
static void set_event(const struct trace_page *p, unsigned int type, size_t size,
		      struct trace_event *ret_event)
{
	size_t before = type ? EVENT_HEADER : EVENT_HEADER + 4;

	*ret_event = (struct trace_event){ .time_ns = p->time_ns,
					   .data = p->data + p->at + before,
					   .len = size - before };
}

bool trace_page_next(struct trace_page *p, struct trace_event *ret_event)
{
	while (p->end - p->at >= EVENT_HEADER) {
		uint32_t header = u32_at(p->data + p->at);
		unsigned int type = header & 31;
		uint64_t delta = header >> 5;
		size_t size = event_size(p, type);

		/* Padding without a length fills the page. */
		if (!size || (type == TYPE_PADDING && delta == 0))
			break;
		if (type == TYPE_TIME_EXTEND)
			delta += (uint64_t)u32_at(p->data + p->at + 4) << DELTA_BITS;
		if (type == TYPE_TIME_STAMP)
			p->time_ns =
				(p->time_ns & ~STAMP_MASK) |
				((delta + ((uint64_t)u32_at(p->data + p->at + 4) << DELTA_BITS)) &
				 STAMP_MASK);
		else
			p->time_ns += delta;
		if (type < TYPE_PADDING)
			set_event(p, type, size, ret_event);
		p->at += size;
		if (type < TYPE_PADDING)
			return true;
	}
	p->at = p->end;
	return false;
}
