/* SPDX-License-Identifier: Apache-2.0 */
/* Writes files as journald does, for tests: a header, data objects, entries that point at them. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

#define JOURNAL_HEADER 272
#define JOURNAL_TAIL_OBJECT 136
#define JOURNAL_FLAGS 12
#define JOURNAL_TAIL_TIME 192

struct journal_writer {
	int fd;
	int compact;
	uint64_t end;
	int64_t time_us;
};

static inline void journal_put(const struct journal_writer *w, uint64_t at, const void *data,
			       size_t len)
{
	assert_int_equal(pwrite(w->fd, data, len, (off_t)at), (ssize_t)len);
}

static inline void journal_put64(const struct journal_writer *w, uint64_t at, uint64_t value)
{
	journal_put(w, at, &value, sizeof(value));
}

static inline struct journal_writer journal_begin(int fd, int compact)
{
	struct journal_writer w = { fd, compact, JOURNAL_HEADER, 1795390000000000 };
	uint32_t flags = 4 | 8 | (compact ? 16 : 0);

	journal_put(&w, 0, "LPKSHHRH", 8);
	journal_put(&w, JOURNAL_FLAGS, &flags, sizeof(flags));
	journal_put64(&w, 88, JOURNAL_HEADER);
	journal_put64(&w, JOURNAL_HEADER - 8, 0);
	return w;
}

/* Returns its place, and makes it the last object of the file. */
static inline uint64_t journal_object(struct journal_writer *w, uint8_t type, uint8_t flags,
				      const void *data, size_t len)
{
	const uint8_t head[8] = { type, flags };
	static const char zeros[8];
	uint64_t at = w->end;

	journal_put(w, at + 16, data, len);
	journal_put(w, at + 16 + len, zeros, -len & 7);
	journal_put64(w, at + 8, 16 + len);
	journal_put(w, at, head, sizeof(head));
	journal_put64(w, JOURNAL_TAIL_OBJECT, at);
	w->end = (at + 16 + len + 7) & ~(uint64_t)7;
	return at;
}

static inline uint64_t journal_data(struct journal_writer *w, uint8_t flags, const char *field)
{
	const size_t head = w->compact ? 56 : 48;
	char data[56 + 8192] = { 0 };

	assert_in_range(strlen(field), 1, sizeof(data) - head);
	memcpy(data + head, field, strlen(field));
	return journal_object(w, 1, flags, data, head + strlen(field));
}

/* time_us 0: as an entry that is not whole yet. */
static inline uint64_t journal_entry_of(struct journal_writer *w, const uint64_t *items, size_t n,
					int64_t time_us)
{
	uint64_t data[6 + 2 * 16] = { 1, (uint64_t)time_us };
	const size_t size = w->compact ? 4 : 16;

	assert_in_range(n, 0, 16);
	for (size_t i = 0; i < n; i++)
		memcpy((uint8_t *)(data + 6) + i * size, &items[i], w->compact ? 4 : 8);
	journal_put64(w, JOURNAL_TAIL_TIME, (uint64_t)time_us);
	return journal_object(w, 3, 0, data, 48 + n * size);
}

/* The fields end with NULL. */
static inline uint64_t journal_entry(struct journal_writer *w, const char *const *fields)
{
	uint64_t items[16];
	size_t n = 0;

	for (; fields[n]; n++)
		items[n] = journal_data(w, 0, fields[n]);
	return journal_entry_of(w, items, n, w->time_us++);
}

#define JOURNAL_ENTRY(w, ...) journal_entry(w, (const char *const[]){ __VA_ARGS__, NULL })
