/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a bundle from a store and writes it as a tar archive. */
#include "sidecar/ship/read_bundle.h"

#include <stdio.h>
#include <time.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/tar.h"
#include "lib/units.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/retry.h"
#include "sidecar/ship/store.h"

struct reading {
	struct store_context context;
	struct state state; /* empty, because reading a bundle notes nothing */
	struct progress progress;
	struct store *store;
	struct plan plan;
	struct strbuf manifest, chunk;
	int out_fd;
};

static int read_bundle_put(const struct reading *r, const void *data, size_t len,
			   struct fault *fault)
{
	struct err err = { 0 };

	if (fd_write_all(r->out_fd, data, len, &err) < 0)
		return fault_set(fault, FAULT_IO, "writing the archive: %s", err_text(&err));
	return 0;
}

/* Appends up to one chunk of the file, from offset on, to out. */
static int read_bundle_get(struct reading *r, const char *path, int64_t offset, struct strbuf *out,
			   struct fault *fault)
{
	struct retry retry = { 0 };

	for (;;) {
		size_t before = out->len;

		if (r->store->ops->get(r->store, path, offset, STORE_CHUNK, out, fault) == 0)
			return 0;
		strbuf_truncate(out, before);
		int64_t wait =
			fault->kind == FAULT_STORE_MISSING ?
				-1 :
				retry_next(&retry, fault, offset, now_boottime_ns(),
					   r->context.deadline_ns, (uint32_t)now_boottime_ns());

		if (wait < 0)
			return fault_wrap(fault, "%s", path);
		log_info("%s: %s; trying again in %.1f s", path, fault->text, (double)wait / 1000);
		nanosleep(&(struct timespec){ .tv_sec = wait / 1000,
					      .tv_nsec = wait % 1000 * NS_PER_MS },
			  NULL);
	}
}

static int put_header(const struct reading *r, const char *name, int64_t size, struct fault *fault)
{
	char block[TAR_BLOCK];
	struct err err = { 0 };

	if (tar_header_make(name, size, block, &err) < 0)
		return fault_set(fault, FAULT_BUNDLE, "%s", err_text(&err));
	return read_bundle_put(r, block, sizeof(block), fault);
}

static int put_padding(const struct reading *r, int64_t size, struct fault *fault)
{
	static const char zeros[TAR_BLOCK];

	return read_bundle_put(r, zeros, tar_padding(size), fault);
}

static int read_bundle_manifest(struct reading *r, struct fault *fault)
{
	char path[PLAN_PATH_MAX];
	struct err err = { 0 };
	size_t before;

	snprintf(path, sizeof(path), "%s/%s", r->context.options->as, PLAN_MANIFEST);
	do {
		before = r->manifest.len;
		if (read_bundle_get(r, path, (int64_t)before, &r->manifest, fault) < 0)
			return -1;
	} while (r->manifest.len > before && !strbuf_failed(&r->manifest));
	if (strbuf_failed(&r->manifest))
		return fault_set(fault, FAULT_BUNDLE, PLAN_MANIFEST " is larger than %zu bytes",
				 PLAN_MANIFEST_MAX);
	if (r->manifest.len == 0)
		return fault_set(fault, FAULT_BUNDLE,
				 "%s: the store has no complete bundle of that name",
				 r->context.options->as);
	if (plan_parse(strbuf_str(&r->manifest), r->manifest.len, &r->plan, &err) < 0)
		return fault_set(fault, FAULT_BUNDLE, "%s", err_text(&err));
	return 0;
}

static int put_manifest(struct reading *r, struct fault *fault)
{
	int64_t size = (int64_t)r->manifest.len;

	if (put_header(r, PLAN_MANIFEST, size, fault) < 0 ||
	    read_bundle_put(r, strbuf_str(&r->manifest), r->manifest.len, fault) < 0)
		return -1;
	return put_padding(r, size, fault);
}

/*
 * Sends the rest of the file. Once the header with the size is written, the file cannot be left out
 * any more.
 */
static int put_rest(struct reading *r, const struct plan_item *file, const char *path,
		    struct fault *fault)
{
	for (int64_t at = 0; at < file->size; at += (int64_t)r->chunk.len) {
		if (at > 0) {
			strbuf_reset(&r->chunk);
			if (read_bundle_get(r, path, at, &r->chunk, fault) < 0)
				return -1;
		}
		if (r->chunk.len == 0 || strbuf_failed(&r->chunk))
			return fault_set(fault, FAULT_BUNDLE_CHANGED,
					 "%s is shorter than " PLAN_MANIFEST " says", file->name);
		if (read_bundle_put(r, strbuf_str(&r->chunk),
				    (size_t)MIN((int64_t)r->chunk.len, file->size - at), fault) < 0)
			return -1;
	}
	return put_padding(r, file->size, fault);
}

/* Leaves out a file that cannot be read, because the other files can be read. */
static int leave_out(const struct plan_item *file, const char *why)
{
	log_warning("%s is left out: %s", file->name, why);
	return 0;
}

static int put_file(struct reading *r, const struct plan_item *file, struct fault *fault)
{
	char block[TAR_BLOCK], path[PLAN_PATH_MAX];
	struct err err = { 0 };

	strbuf_reset(&r->chunk);
	if (plan_locate(file, r->context.options->as, path, &err) < 0 ||
	    tar_header_make(file->name, file->size, block, &err) < 0)
		return leave_out(file, err_text(&err));
	if (read_bundle_get(r, path, 0, &r->chunk, fault) < 0)
		/*
		 * S3 also gives this answer for a missing object if the identity may not list the
		 * bucket.
		 */
		return fault->kind == FAULT_PERMISSION ? leave_out(file, fault->text) : -1;
	if (r->chunk.len == 0 && file->size > 0)
		return leave_out(file, "it is in " PLAN_MANIFEST
				       ", and the store does not have it any more");
	if (read_bundle_put(r, block, sizeof(block), fault) < 0)
		return -1;
	return put_rest(r, file, path, fault);
}

static int read_bundle_run(struct reading *r, struct fault *fault)
{
	static const char end[2 * TAR_BLOCK];

	if (store_open(&r->context, &r->store, fault) < 0 || read_bundle_manifest(r, fault) < 0 ||
	    put_manifest(r, fault) < 0)
		return -1;
	for (size_t i = 0; i < r->plan.n; i++)
		if (put_file(r, &r->plan.items[i], fault) < 0)
			return -1;
	return read_bundle_put(r, end, sizeof(end), fault);
}

int read_bundle(const struct ship_options *options, int64_t deadline_ns, int out_fd,
		struct fault *fault)
{
	struct reading r = { .context = { .options = options, .deadline_ns = deadline_ns },
			     .out_fd = out_fd };

	r.context.state = &r.state;
	r.context.progress = &r.progress;
	r.manifest = STRBUF_INIT(PLAN_MANIFEST_MAX);
	r.chunk = STRBUF_INIT(STORE_CHUNK);
	progress_init(&r.progress);
	int result = read_bundle_run(&r, fault);
	if (r.store)
		r.store->ops->free(r.store);
	plan_release(&r.plan);
	strbuf_release(&r.chunk);
	strbuf_release(&r.manifest);
	return result;
}
