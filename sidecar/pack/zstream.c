/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a zstd file. */
#include "sidecar/pack/zstream.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <zstd.h>

#include "lib/fileio.h"

#define BUFFERS 4
#define BUFFER_SIZE (512 * 1024)
#define END_ROOM 4096 /* kept free below the maximum for the end of a frame */
#define ZEROS_MIN (1024 * 1024) /* a shorter run is compressed like everything else */
#define RLE_BLOCK (128 * 1024) /* the most bytes that one block can stand for */

struct buffer {
	unsigned char data[BUFFER_SIZE];
	size_t len;
};

struct zstream {
	int fd;
	uint64_t max, size; /* size: bytes passed to the writer so far */
	ZSTD_CCtx *zstd;
	bool in_frame, full;
	struct sha256 digest;
	/*
	 * Shared by the two threads. buffers[given % BUFFERS] is being filled; the buffers from
	 * `written` to `given` wait to be written.
	 */
	struct buffer *buffers;
	unsigned int given, written;
	bool over, threaded;
	int write_error;
	pthread_t writer;
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

/* --- The second thread, which writes --- */

static void *write_buffers(void *arg)
{
	struct zstream *z = arg;

	pthread_mutex_lock(&z->lock);
	for (;;) {
		int error = 0;

		while (z->written == z->given && !z->over)
			pthread_cond_wait(&z->changed, &z->lock);
		if (z->written == z->given)
			break;
		struct buffer *b = &z->buffers[z->written % BUFFERS];
		error = z->write_error;
		pthread_mutex_unlock(&z->lock);
		if (!error)
			error = -fd_write_all(z->fd, b->data, b->len, NULL);
		if (!error)
			sha256_add(&z->digest, b->data, b->len);
		pthread_mutex_lock(&z->lock);
		z->write_error = error;
		z->written++;
		pthread_cond_signal(&z->changed);
	}
	pthread_mutex_unlock(&z->lock);
	return NULL;
}

/* --- The first thread, which compresses --- */

static struct buffer *zstream_filling(struct zstream *z)
{
	return &z->buffers[z->given % BUFFERS];
}

/* Passes the buffer on, and waits for a free one. */
static int zstream_give(struct zstream *z, struct err *err)
{
	if (!zstream_filling(z)->len)
		return 0;
	z->size += zstream_filling(z)->len;
	pthread_mutex_lock(&z->lock);
	z->given++;
	pthread_cond_signal(&z->changed);
	while (z->given - z->written == BUFFERS)
		pthread_cond_wait(&z->changed, &z->lock);
	int error = z->write_error;
	pthread_mutex_unlock(&z->lock);
	zstream_filling(z)->len = 0;
	return error ? err_set(err, error, "write") : 0;
}

static int zstream_compress(struct zstream *z, const void *data, size_t len, ZSTD_EndDirective how,
			    struct err *err)
{
	ZSTD_inBuffer in = { .src = data, .size = len };
	size_t left;

	do {
		struct buffer *b = zstream_filling(z);
		ZSTD_outBuffer out = { .dst = b->data, .size = BUFFER_SIZE, .pos = b->len };

		left = ZSTD_compressStream2(z->zstd, &out, &in, how);
		if (ZSTD_isError(left))
			return err_set(err, EIO, "zstd: %s", ZSTD_getErrorName(left));
		b->len = out.pos;
		if (b->len == BUFFER_SIZE && zstream_give(z, err) < 0)
			return -err->code;
	} while (in.pos < in.size || (how == ZSTD_e_end && left > 0));
	z->in_frame = how != ZSTD_e_end;
	return 0;
}

static int end_frame(struct zstream *z, struct err *err)
{
	return z->in_frame ? zstream_compress(z, NULL, 0, ZSTD_e_end, err) : 0;
}

static bool zstream_fits(struct zstream *z, uint64_t more)
{
	z->full =
		z->full || (z->max && z->size + zstream_filling(z)->len + more + END_ROOM > z->max);
	return !z->full;
}

int zstream_add(struct zstream *z, const void *data, size_t len, struct err *err)
{
	const unsigned char *at = data;

	while (len > 0) {
		size_t part = MIN(len, (size_t)RLE_BLOCK);

		/*
		 * Data that zstd still holds count as well: at worst they are stored uncompressed,
		 * with a few bytes of headers.
		 */
		if (!zstream_fits(z, ZSTD_compressBound(part) + 2 * RLE_BLOCK))
			return err_set(err, EFBIG, "more than %llu bytes",
				       (unsigned long long)z->max);
		int rc = zstream_compress(z, at, part, ZSTD_e_continue, err);
		if (rc < 0)
			return rc;
		at += part;
		len -= part;
	}
	return 0;
}

static int zstream_put(struct zstream *z, const void *data, size_t len, struct err *err)
{
	if (BUFFER_SIZE - zstream_filling(z)->len < len && zstream_give(z, err) < 0)
		return -err->code;
	memcpy(zstream_filling(z)->data + zstream_filling(z)->len, data, len);
	zstream_filling(z)->len += len;
	return 0;
}

/*
 * Writes a frame as RFC 8878 defines it, without content size and checksum, with a window of 128
 * KiB and blocks of one repeated byte.
 */
static int add_zero_frame(struct zstream *z, uint64_t len, struct err *err)
{
	static const unsigned char head[] = { 0x28, 0xb5, 0x2f, 0xfd, 0x00, 7 << 3 };
	int rc = zstream_put(z, head, sizeof(head), err);

	while (len > 0 && rc >= 0) {
		uint32_t part = (uint32_t)MIN(len, (uint64_t)RLE_BLOCK), block;
		unsigned char bytes[4] = { 0 };

		len -= part;
		block = part << 3 | 1 << 1 | (len == 0);
		bytes[0] = block & 0xff;
		bytes[1] = block >> 8 & 0xff;
		bytes[2] = block >> 16 & 0xff;
		rc = zstream_put(z, bytes, sizeof(bytes), err);
	}
	return rc;
}

int zstream_add_zeros(struct zstream *z, uint64_t len, struct err *err)
{
	static const unsigned char zeros[64 * 1024];

	if (len >= ZEROS_MIN) {
		if (!zstream_fits(z, len / RLE_BLOCK * 4 + 16 + 2 * RLE_BLOCK))
			return err_set(err, EFBIG, "more than %llu bytes",
				       (unsigned long long)z->max);
		int rc = end_frame(z, err);
		return rc < 0 ? rc : add_zero_frame(z, len, err);
	}
	for (; len > 0; len -= MIN(len, (uint64_t)sizeof(zeros))) {
		int rc = zstream_add(z, zeros, MIN(len, (uint64_t)sizeof(zeros)), err);

		if (rc < 0)
			return rc;
	}
	return 0;
}

static void stop_writer(struct zstream *z)
{
	if (!z->threaded)
		return;
	pthread_mutex_lock(&z->lock);
	z->over = true;
	pthread_cond_signal(&z->changed);
	pthread_mutex_unlock(&z->lock);
	pthread_join(z->writer, NULL);
	z->threaded = false;
}

int zstream_finish(struct zstream *z, uint64_t *ret_size, char ret_sha256[static SHA256_TEXT_MAX],
		   struct err *err)
{
	int rc = end_frame(z, err);

	if (rc >= 0)
		rc = zstream_give(z, err);
	stop_writer(z);
	if (rc >= 0 && z->write_error)
		rc = err_set(err, z->write_error, "write");
	if (rc < 0)
		return rc;
	sha256_end(&z->digest, ret_sha256);
	*ret_size = z->size;
	return 0;
}

void zstream_free(struct zstream *z)
{
	if (!z)
		return;
	stop_writer(z);
	ZSTD_freeCCtx(z->zstd);
	free(z->buffers);
	free(z);
}

int zstream_new(int fd, uint64_t max, struct zstream **ret_stream, struct err *err)
{
	struct zstream *z = calloc(1, sizeof(*z));

	if (!z)
		return err_set(err, ENOMEM, "zstd");
	z->fd = fd;
	z->max = max;
	z->zstd = ZSTD_createCCtx();
	sha256_begin(&z->digest);
	z->buffers = calloc(BUFFERS, sizeof(*z->buffers));
	if (!z->zstd || !z->buffers) {
		zstream_free(z);
		return err_set(err, ENOMEM, "zstd");
	}
	ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_compressionLevel, ZSTREAM_LEVEL);
	ZSTD_CCtx_setParameter(z->zstd, ZSTD_c_checksumFlag, 1);
	pthread_mutex_init(&z->lock, NULL);
	pthread_cond_init(&z->changed, NULL);
	int error = pthread_create(&z->writer, NULL, write_buffers, z);
	if (error) {
		zstream_free(z);
		return err_set(err, error, "thread");
	}
	z->threaded = true;
	*ret_stream = z;
	return 0;
}
