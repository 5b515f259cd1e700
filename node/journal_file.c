/* SPDX-License-Identifier: Apache-2.0 */
/* Follows a file of systemd's journal. */
#include "node/journal_file.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/macros.h"
#include "lib/units.h"

#define SIGNATURE "LPKSHHRH"
#define COMPRESSIONS (1U | 2U | 8U) /* these incompatible flags are accepted: XZ, LZ4, ZSTD */
#define KEYED_HASH 4U
#define COMPACT 16U

#define OBJECT_DATA 1
#define OBJECT_ENTRY 3
#define OBJECT_TYPES 8 /* all types are below this */
#define OBJECT_COMPRESSED 7U /* flags of an object */
#define ENTRY_ITEMS_MAX 256 /* journald writes some thirty */

/* The beginning of the file; numbers are little-endian everywhere. */
struct header {
	char signature[8];
	uint32_t compatible_flags, incompatible_flags;
	uint8_t state, reserved[7], ids[64];
	uint64_t header_size, arena_size, tables[4];
	uint64_t tail_object, n_objects, n_entries, tail_seqnum, head_seqnum, entry_array;
	uint64_t head_realtime_us, tail_realtime_us;
};

struct object {
	uint8_t type, flags, reserved[6];
	uint64_t size; /* including this header; the next object is at the next multiple of 8 */
};

struct entry {
	struct object object;
	uint64_t seqnum, realtime_us, monotonic_us, boot_id[2], hash;
};

#define DATA_PAYLOAD 64
#define DATA_PAYLOAD_COMPACT 72

/* The fields of an entry that we print. */
struct fields {
	int64_t realtime_us;
	char hostname[64], identifier[64], pid[24], message[JOURNAL_LINE_MAX];
	size_t message_len;
	bool is_of_kernel, is_of_root;
	/*
	 * A compressed field was skipped; its name cannot be read either, and mostly it is the
	 * message.
	 */
	bool has_compressed;
};

/* Returns false if the file is shorter. */
static bool read_at(const struct journal_file *f, uint64_t at, void *buf, size_t len)
{
	return at <= INT64_MAX && pread(f->fd, buf, len, (off_t)at) == (ssize_t)len;
}

static uint64_t journal_file_after(uint64_t at, uint64_t size)
{
	return (at + size + 7) & ~(uint64_t)7;
}

/* Returns false if no object is there yet, or if the bytes there are no object. */
static bool journal_file_read_object(const struct journal_file *f, uint64_t at,
				     struct object *ret_object)
{
	if (at % 8 || !read_at(f, at, ret_object, sizeof(*ret_object)))
		return false;
	ret_object->size = le64toh(ret_object->size);
	return ret_object->type && ret_object->type < OBJECT_TYPES &&
	       ret_object->size >= sizeof(*ret_object) && ret_object->size < INT64_MAX / 2 - at;
}

static bool read_header(const struct journal_file *f, struct header *ret_header)
{
	return read_at(f, 0, ret_header, sizeof(*ret_header)) &&
	       memcmp(ret_header->signature, SIGNATURE, strlen(SIGNATURE)) == 0;
}

bool journal_file_refresh(struct journal_file *f)
{
	struct header h;

	if (!read_header(f, &h))
		return false;
	uint64_t tail = le64toh(h.tail_object);
	f->tail = tail < INT64_MAX / 2 ? tail : 0;
	f->written_us = (int64_t)(le64toh(h.tail_realtime_us) & INT64_MAX);
	return true;
}

void journal_file_skip(struct journal_file *f)
{
	struct object tail;

	if (f->tail >= f->at && journal_file_read_object(f, f->tail, &tail))
		f->at = journal_file_after(f->tail, tail.size);
}

int journal_file_open(struct journal_file *ret_file, int fd, bool from_end, struct err *err)
{
	struct journal_file f = { .fd = fd };
	struct header h;

	if (!read_header(&f, &h))
		return err_set(err, EPROTO, "no file of a journal");
	uint32_t flags = le32toh(h.incompatible_flags);
	if (flags & ~(COMPRESSIONS | KEYED_HASH | COMPACT))
		return err_set(err, ENOTSUP,
			       "a file of a later journal (its incompatible flags are 0x%x)",
			       flags);
	f.compact = flags & COMPACT;
	f.at = le64toh(h.header_size);
	if (f.at < sizeof(h) || f.at > 1 << 20 || f.at % 8 || !journal_file_refresh(&f))
		return err_set(err, EPROTO, "no file of a journal: its header has %llu bytes",
			       (unsigned long long)f.at);
	if (from_end)
		journal_file_skip(&f);
	*ret_file = f;
	return 0;
}

/* Returns the value if the field has this name. */
static const char *journal_file_value_of(const char *payload, size_t len, const char *name,
					 size_t *ret_len)
{
	size_t n = strlen(name);

	if (len < n + 1 || memcmp(payload, name, n) != 0 || payload[n] != '=')
		return NULL;
	*ret_len = len - n - 1;
	return payload + n + 1;
}

/* Copies a value. One that does not fit is dropped, because none that we look for is so long. */
static void take_short(char *out, size_t size, const char *value, size_t len)
{
	if (len >= size)
		return;
	memcpy(out, value, len);
	out[len] = '\0';
}

static void journal_file_take_field(struct fields *out, const char *payload, size_t len)
{
	const char *value;
	size_t n;

	if ((value = journal_file_value_of(payload, len, "MESSAGE", &n))) {
		out->message_len = MIN(n, sizeof(out->message));
		memcpy(out->message, value, out->message_len);
	} else if ((value = journal_file_value_of(payload, len, "SYSLOG_IDENTIFIER", &n)))
		take_short(out->identifier, sizeof(out->identifier), value, n);
	else if ((value = journal_file_value_of(payload, len, "_PID", &n)))
		take_short(out->pid, sizeof(out->pid), value, n);
	else if ((value = journal_file_value_of(payload, len, "_HOSTNAME", &n)))
		take_short(out->hostname, sizeof(out->hostname), value, n);
	else if ((value = journal_file_value_of(payload, len, "_UID", &n)))
		out->is_of_root = n == 1 && *value == '0';
	else if ((value = journal_file_value_of(payload, len, "_TRANSPORT", &n)))
		out->is_of_kernel = n == strlen("kernel") && memcmp(value, "kernel", n) == 0;
}

/* Returns false if the object is still being written, or if the file is damaged. */
static bool take_item(const struct journal_file *f, uint64_t at, struct fields *out)
{
	const size_t payload = f->compact ? DATA_PAYLOAD_COMPACT : DATA_PAYLOAD;
	char text[sizeof("MESSAGE=") + JOURNAL_LINE_MAX];
	struct object o;

	if (!at || !journal_file_read_object(f, at, &o) || o.type != OBJECT_DATA ||
	    o.size < payload)
		return false;
	size_t len = (size_t)MIN(o.size - payload, sizeof(text));
	if (o.flags & OBJECT_COMPRESSED) {
		out->has_compressed = true;
		return true;
	}
	if (!read_at(f, at + payload, text, len))
		return false;
	journal_file_take_field(out, text, len);
	return true;
}

static bool take_entry(const struct journal_file *f, uint64_t at, uint64_t size, struct fields *out)
{
	const size_t item_size = f->compact ? 4 : 16;
	union {
		uint8_t bytes[16];
		uint32_t narrow;
		uint64_t wide;
	} item;
	struct entry e;
	uint64_t n = size < sizeof(e) ?
			     0 :
			     MIN((size - sizeof(e)) / item_size, (uint64_t)ENTRY_ITEMS_MAX);

	/* journald writes the time last, after the items. */
	if (!n || !read_at(f, at, &e, sizeof(e)) || !e.realtime_us)
		return false;
	for (uint64_t i = 0; i < n; i++)
		if (!read_at(f, at + sizeof(e) + i * item_size, item.bytes, item_size) ||
		    !take_item(f, f->compact ? le32toh(item.narrow) : le64toh(item.wide), out))
			return false;
	out->realtime_us =
		(int64_t)MIN(le64toh(e.realtime_us), (uint64_t)INT64_MAX / (NS_PER_MS / 1000));
	return true;
}

/*
 * Only entries of the kernel and of root's programs are wanted, because a program that sends to
 * journald chooses its own name.
 */
static bool journal_file_is_wanted(const struct fields *of)
{
	return *of->identifier &&
	       (of->is_of_kernel || (of->is_of_root && strcmp(of->identifier, "kernel") != 0));
}

/* Writes the line as a syslog daemon does. */
static size_t write_line(const struct fields *of, char *line)
{
	const char *pid = of->is_of_kernel ? "" : of->pid;
	char when[TIME_TEXT_MAX];

	time_format(of->realtime_us * (NS_PER_MS / 1000), when);
	size_t tag =
		(size_t)snprintf(line, JOURNAL_LINE_MAX, "%s %s %s%s%s%s: ", when, of->hostname,
				 of->identifier, *pid ? "[" : "", pid, *pid ? "]" : "");
	size_t len = MIN(of->message_len, JOURNAL_LINE_MAX - tag);
	memcpy(line + tag, of->message, len);
	return tag + len;
}

enum journal_step journal_file_next(struct journal_file *f, char *line, size_t *ret_len)
{
	struct fields fields = { .hostname = "-" };
	struct object o;
	uint64_t at = f->at;
	bool whole = true;

	if (!f->tail || at > f->tail)
		return JOURNAL_END;
	if (!journal_file_read_object(f, at, &o)) {
		/*
		 * The file is damaged here. What follows the last object that the header names may
		 * be valid again.
		 */
		if (at < f->tail)
			journal_file_skip(f);
		return JOURNAL_END;
	}
	if (o.type == OBJECT_ENTRY)
		whole = take_entry(f, at, o.size, &fields);
	if (!whole && at == f->tail)
		return JOURNAL_END;
	f->at = journal_file_after(at, o.size);
	if (!journal_file_is_wanted(&fields) || fields.realtime_us <= f->after_us)
		return JOURNAL_OTHER;
	if (!fields.message_len)
		return fields.has_compressed ? JOURNAL_COMPRESSED : JOURNAL_OTHER;
	*ret_len = write_line(&fields, line);
	return JOURNAL_LINE;
}
