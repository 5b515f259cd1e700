/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps records in a small file of fixed size that survives the death of its writer. */
#include "sidecar/sample/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define RING_FILE_MODE 0600
#define RING_FILE_MAX ((size_t)16 << 20)
/*
 * No writer that counts from one gets there. With such a number from a file, the next one would
 * overflow.
 */
#define NUMBER_MAX ((uint64_t)1 << 62)

static const char magic[8] = "AGRING1";

struct header {
	char magic[8];
	struct ring_layout layout;
	uint64_t checksum;
};

struct slot {
	uint64_t number; /* 0: the record was never written, or is being written */
	uint64_t checksum;
	unsigned char record[];
};

/*
 * FNV-1a, eight bytes at a time. A change within eight bytes always changes the sum; any other
 * change goes unnoticed once in 2^64. The shift moves upper bits down, which multiplication alone
 * never does.
 */
static uint64_t checksum_on(uint64_t sum, const void *data, size_t len)
{
	const unsigned char *p = data;

	for (; len > 0; p += MIN(len, sizeof(uint64_t)), len -= MIN(len, sizeof(uint64_t))) {
		uint64_t word = 0;

		memcpy(&word, p, MIN(len, sizeof(word)));
		sum = (sum ^ word) * 0x9e3779b97f4a7c15u;
		sum ^= sum >> 32;
	}
	return sum;
}

static uint64_t checksum_of(uint64_t number, const void *record, size_t size)
{
	return checksum_on(checksum_on(0xcbf29ce484222325u, &number, sizeof(number)), record, size);
}

static size_t slot_size(const struct ring_layout *l, uint32_t series)
{
	return sizeof(struct slot) + ((size_t)l->series[series].size + 7) / 8 * 8;
}

static size_t offset_of(const struct ring_layout *l, uint32_t series)
{
	size_t offset = sizeof(struct header);

	for (uint32_t i = 0; i < series; i++)
		offset += slot_size(l, i) * l->series[i].slots;
	return offset;
}

static struct slot *slot_at(const struct ring *r, uint32_t series, uint64_t number)
{
	size_t i = (number - 1) % r->layout.series[series].slots;

	return (struct slot *)(r->map + offset_of(&r->layout, series) +
			       i * slot_size(&r->layout, series));
}

static bool holds(const struct ring *r, uint32_t series, const struct slot *s, uint64_t number)
{
	return s->number == number &&
	       s->checksum == checksum_of(number, s->record, r->layout.series[series].size);
}

static void write_header(struct ring *r)
{
	struct header h = { .layout = r->layout };

	memcpy(h.magic, magic, sizeof(magic));
	h.checksum = checksum_of(0, &h, offsetof(struct header, checksum));
	memcpy(r->map, &h, sizeof(h));
}

static int check_header(const struct ring *r, const char *file, struct err *err)
{
	struct header h;

	memcpy(&h, r->map, sizeof(h));
	if (memcmp(h.magic, magic, sizeof(magic)) != 0)
		return err_set(err, EPROTO, "%s is no ring", file);
	if (h.checksum != checksum_of(0, &h, offsetof(struct header, checksum)))
		return err_set(err, EPROTO, "%s: its header is torn", file);
	if (memcmp(&h.layout, &r->layout, sizeof(h.layout)) != 0)
		return err_set(err, EPROTO, "%s: of another version of Afterglow", file);
	return 0;
}

/* Finds the newest record of each series: that with the highest number among the valid ones. */
static void find_newest(struct ring *r)
{
	for (uint32_t series = 0; series < r->layout.n_series; series++)
		for (uint32_t i = 0; i < r->layout.series[series].slots; i++) {
			const struct slot *s = slot_at(r, series, i + 1);
			uint64_t n = s->number;

			if (n > r->written[series] && n < NUMBER_MAX &&
			    slot_at(r, series, n) == s && holds(r, series, s, n))
				r->written[series] = n;
		}
}

static int map(struct ring *r, int fd, struct err *err)
{
	void *at = mmap(NULL, r->len, PROT_READ | PROT_WRITE,
			fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return err_set(err, errno, "mmap");
	r->map = at;
	return 0;
}

static struct ring prepared(const struct ring_layout *layout)
{
	return (struct ring){ .layout = *layout, .len = offset_of(layout, layout->n_series) };
}

int ring_create_anonymous(struct ring *r, const struct ring_layout *layout, struct err *err)
{
	struct ring made = prepared(layout);
	int rc = map(&made, -1, err);

	if (rc < 0)
		return rc;
	write_header(&made);
	*r = made;
	return 0;
}

int ring_create(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout,
		struct err *err)
{
	struct ring made = prepared(layout);
	_cleanup_close_ int fd = openat(
		dirfd, file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, RING_FILE_MODE);

	if (fd < 0)
		return err_set(err, errno, "create %s", file);
	int rc = posix_fallocate(fd, 0, (off_t)made.len);
	rc = rc ? err_set(err, rc, "allocate %zu bytes for %s", made.len, file) :
		  map(&made, fd, err);
	if (rc < 0) {
		unlinkat(dirfd, file, 0);
		return rc;
	}
	write_header(&made);
	*r = made;
	return 0;
}

int ring_open(struct ring *r, int dirfd, const char *file, const struct ring_layout *layout,
	      struct err *err)
{
	struct ring opened = prepared(layout);
	_cleanup_close_ int fd = openat(dirfd, file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", file);
	if (!S_ISREG(st.st_mode) || opened.len > RING_FILE_MAX || st.st_size != (off_t)opened.len)
		return err_set(err, EPROTO, "%s is no whole ring of this version", file);
	/* Blocks are allocated now, because the mapping could not report a full disk. */
	int rc = posix_fallocate(fd, 0, (off_t)opened.len);
	rc = rc ? err_set(err, rc, "allocate %zu bytes for %s", opened.len, file) :
		  map(&opened, fd, err);
	if (rc >= 0)
		rc = check_header(&opened, file, err);
	if (rc < 0) {
		ring_close(&opened);
		return rc;
	}
	find_newest(&opened);
	*r = opened;
	return 0;
}

void ring_sync(const struct ring *r)
{
	msync(r->map, r->len, MS_SYNC);
}

void ring_close(struct ring *r)
{
	if (r->map)
		munmap(r->map, r->len);
	r->map = NULL;
}

/*
 * Between any two of these stores the process may be killed. The stores done by then count, so the
 * compiler must keep them in the order of the program.
 */
void ring_add(struct ring *r, uint32_t series, const void *record)
{
	uint64_t number = r->written[series] + 1;
	uint32_t size = r->layout.series[series].size;
	struct slot *s = slot_at(r, series, number);

	s->number = 0;
	atomic_signal_fence(memory_order_seq_cst);
	memcpy(s->record, record, size);
	s->checksum = checksum_of(number, s->record, size);
	atomic_signal_fence(memory_order_seq_cst);
	s->number = number;
	atomic_signal_fence(memory_order_seq_cst);
	r->written[series] = number;
}

size_t ring_count(const struct ring *r, uint32_t series)
{
	return MIN(r->written[series], (uint64_t)r->layout.series[series].slots);
}

const void *ring_at(const struct ring *r, uint32_t series, size_t i)
{
	size_t n = ring_count(r, series);
	uint64_t number = r->written[series] - n + 1 + i;

	if (i >= n)
		return NULL;
	const struct slot *s = slot_at(r, series, number);
	return holds(r, series, s, number) ? s->record : NULL;
}

const void *ring_newest(const struct ring *r, uint32_t series)
{
	for (size_t n = ring_count(r, series); n > 0; n--) {
		const void *record = ring_at(r, series, n - 1);

		if (record)
			return record;
	}
	return NULL;
}
