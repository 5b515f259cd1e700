/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ships a bundle. Its manifest is read once, at the beginning: a file that is added
 * to the bundle during the run is shipped by the next run. The manifest is sent last, so
 * a manifest in the store never lists a file that is missing there.
 */
#include "sidecar/ship/deliver.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ship/plan.h"
#include "sidecar/ship/retry.h"
#include "sidecar/ship/store.h"

struct delivery {
	struct store_context context;
	struct state state;
	struct progress progress;
	struct store *store;
	struct plan plan;
	struct strbuf manifest;
	int dir_fd;
	int manifest_fd; /* the manifest's text as it was read, in memory */
};

/* The sidecar holds the lock while it adds a core. That takes longer only if the disk is slow. */
#define LOCK_WITHIN_NS (15 * NS_PER_SEC)
#define LOCK_PAUSE_MS 20

static void pause_ms(int64_t ms)
{
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * NS_PER_MS };

	nanosleep(&t, NULL);
}

/* --- The bundle --- */

/*
 * Locks the bundle. The lock ends with the process, however that ends. A filesystem without locks
 * has no second shipper either.
 */
static int lock_bundle(const struct delivery *d, const char *bundle, struct fault *fault)
{
	int64_t now = now_boottime_ns(), until = now + LOCK_WITHIN_NS;

	/*
	 * Other bundles need their share of the time that the pod has left. A bundle in use is
	 * tried again later.
	 */
	if (d->context.deadline_ns)
		until = MIN(until, now + (d->context.deadline_ns - now) / 8);
	for (bool waits = false; flock(d->dir_fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
	     waits = true) {
		if (now_boottime_ns() >= until)
			return fault_set(
				fault, FAULT_BUSY,
				"%s: another afterglow-ship is at it, or a core is being added",
				bundle);
		if (!waits)
			log_info("%s is in use: waiting for it", bundle);
		pause_ms(LOCK_PAUSE_MS);
	}
	return 0;
}

static int deliver_open_bundle(struct delivery *d, const char *bundle, struct fault *fault)
{
	d->dir_fd = open(bundle, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (d->dir_fd < 0)
		return fault_set(fault, FAULT_BUNDLE, "%s: %s", bundle, strerror(errno));
	return lock_bundle(d, bundle, fault);
}

/* Whether the bundle was removed, because the spool was full, while we waited for the lock. */
static bool is_removed(int dir_fd)
{
	struct stat st;

	return fstat(dir_fd, &st) == 0 && st.st_nlink == 0;
}

static int deliver_read_manifest(struct delivery *d, struct fault *fault)
{
	const struct ship_options *o = d->context.options;
	struct err err = { 0 };
	int r = file_read(d->dir_fd, PLAN_MANIFEST, &d->manifest, &err);

	if (r == -ENOENT && is_removed(d->dir_fd))
		return fault_set(fault, FAULT_BUNDLE_CHANGED, "the bundle was removed");
	if (r == -ENOENT)
		return fault_set(fault, FAULT_BUNDLE,
				 "no " PLAN_MANIFEST ": the bundle is not complete");
	if (r < 0)
		return fault_set(fault, r == -EFBIG ? FAULT_BUNDLE : FAULT_IO, "%s",
				 err_text(&err));
	if (plan_place_cores(&d->manifest, o->cores_prefix, o->as, &err) < 0)
		return fault_set(fault, err.code == ENOMEM ? FAULT_MEMORY : FAULT_BUNDLE, "%s",
				 err_text(&err));
	if (plan_parse(strbuf_str(&d->manifest), d->manifest.len, &d->plan, &err) < 0)
		return fault_set(fault, FAULT_BUNDLE, "%s", err_text(&err));
	d->manifest_fd = memfd_create(PLAN_MANIFEST, MFD_CLOEXEC);
	if (d->manifest_fd < 0 ||
	    fd_write_all(d->manifest_fd, strbuf_str(&d->manifest), d->manifest.len, &err) < 0)
		return fault_set(fault, FAULT_MEMORY, PLAN_MANIFEST ": %s", strerror(errno));
	return 0;
}

/*
 * The directories of a bundle can be trusted, links cannot: O_NOFOLLOW for the last component is
 * enough here.
 */
static int deliver_open_file(const struct delivery *d, const struct plan_item *file, int *ret_fd,
			     struct fault *fault)
{
	_cleanup_close_ int fd =
		openat(d->dir_fd, file->name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return fault_set(fault, errno == ENOENT ? FAULT_BUNDLE_CHANGED : FAULT_IO,
				 "%s is in " PLAN_MANIFEST ", but: %s", file->name,
				 strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fault_set(fault, FAULT_BUNDLE, "%s is no file", file->name);
	if (st.st_size != file->size)
		return fault_set(fault, FAULT_BUNDLE_CHANGED,
				 "%s has %lld bytes, and " PLAN_MANIFEST " says %lld", file->name,
				 (long long)st.st_size, (long long)file->size);
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* --- Sending --- */

/*
 * Returns whether to ask the store for the item: the last try may have succeeded although no answer
 * came, or the state file may say that an earlier run sent it.
 */
static bool is_worth_asking(const struct delivery *d, const struct item *item, bool again)
{
	return again || item->size > d->store->ops->put_blindly_max ||
	       state_was_sent(&d->state, item->name, item->sha256);
}

static int send_once(struct delivery *d, const struct item *item, bool again, struct fault *fault)
{
	enum look look = LOOK_MISSING;

	if (is_worth_asking(d, item, again) &&
	    d->store->ops->look(d->store, item, &look, fault) < 0)
		return -1;
	if (look == LOOK_UNKNOWN && state_was_sent(&d->state, item->name, item->sha256))
		look = LOOK_SAME;
	if (look != LOOK_SAME && d->store->ops->put(d->store, item, fault) < 0)
		return -1;
	progress_end(&d->progress);
	return 0;
}

static uint32_t any_number(void)
{
	uint32_t n = 0;

	return getrandom(&n, sizeof(n), GRND_NONBLOCK) == sizeof(n) ? n :
								      (uint32_t)now_boottime_ns();
}

/*
 * Notes that the store has the item. If that is noted already, nothing is written: a bundle has
 * dozens of files.
 */
static void note_sent(struct delivery *d, const struct item *item)
{
	bool began = state_has_upload(&d->state, item->name);

	if (began && d->store->ops->tidy)
		d->store->ops->tidy(d->store, item);
	if (began)
		state_clear_upload(&d->state);
	else if (state_was_sent(&d->state, item->name, item->sha256))
		return;
	state_set_sent(&d->state, item->name, item->sha256);
	if (state_save(&d->state, NULL) < 0)
		log_debug("%s cannot be written", STATE_FILE);
}

static int send_item(struct delivery *d, const struct item *item, struct fault *fault)
{
	struct retry retry = { 0 };
	bool again = false;

	d->progress.kept = 0;
	progress_begin(&d->progress, item->name, item->size);
	for (; send_once(d, item, again, fault) < 0; again = true) {
		int64_t wait = retry_next(&retry, fault, d->progress.kept, now_boottime_ns(),
					  d->context.deadline_ns, any_number());

		if (wait < 0)
			return fault_wrap(fault, "%s", item->name);
		log_info("%s: %s; trying again in %.1f s", item->name, fault->text,
			 (double)wait / 1000);
		/* A KDC that does not answer blocks each try, and nothing is printed meanwhile. */
		progress_alive(&d->progress);
		pause_ms(wait);
	}
	note_sent(d, item);
	return 0;
}

static int send_file(struct delivery *d, const struct plan_item *file, struct fault *fault)
{
	char path[PLAN_PATH_MAX];
	_cleanup_close_ int fd = -1;
	struct item item = {
		.name = file->name, .path = path, .size = file->size, .sha256 = file->sha256
	};
	struct err err = { 0 };

	if (plan_locate(file, d->context.options->as, path, &err) < 0)
		return fault_set(fault, FAULT_BUNDLE, "%s", err_text(&err));
	if (deliver_open_file(d, file, &fd, fault) < 0)
		return -1;
	item.fd = fd;
	return send_item(d, &item, fault);
}

static int send_manifest(struct delivery *d, struct fault *fault)
{
	char digest[SHA256_TEXT_MAX], path[PLAN_PATH_MAX];
	struct item item = { .name = PLAN_MANIFEST,
			     .path = path,
			     .fd = d->manifest_fd,
			     .size = (int64_t)d->manifest.len,
			     .sha256 = digest };

	snprintf(path, sizeof(path), "%s/%s", d->context.options->as, PLAN_MANIFEST);
	sha256_text(strbuf_str(&d->manifest), d->manifest.len, digest);
	return send_item(d, &item, fault);
}

/* --- All of it --- */

static void url_of(const struct ship_options *o, char url[static DELIVER_URL_MAX])
{
	/* clang-format off */
	static const char *const prefix[] = {
		[STORE_DIRECTORY] = "file://", [STORE_S3] = "s3://", [STORE_AZURE] = "azure://", [STORE_WEBHDFS] = "webhdfs://",
	};
	/* clang-format on */
	const char *path = strcmp(o->store.path, "/") == 0 ? "" : o->store.path;

	snprintf(url, DELIVER_URL_MAX, "%s%s%s%s%s%s/%s",
		 o->store.tls ? "webhdfss://" : prefix[o->store.kind], o->store.host,
		 *o->store.container ? "/" : "", o->store.container,
		 *path && *path != '/' ? "/" : "", path, o->as);
}

static int open_store(struct delivery *d, struct fault *fault)
{
	d->context.state = &d->state;
	d->context.progress = &d->progress;
	return store_open(&d->context, &d->store, fault);
}

static int deliver_run(struct delivery *d, const char *url, struct fault *fault)
{
	const struct ship_options *o = d->context.options;
	const char *endpoint = o->store.kind == STORE_S3    ? o->s3_endpoint :
			       o->store.kind == STORE_AZURE ? o->azure_endpoint :
							      NULL;
	char where[DELIVER_URL_MAX + 600 + CORES_PREFIX_MAX];

	if (deliver_open_bundle(d, o->bundle, fault) < 0 || deliver_read_manifest(d, fault) < 0)
		return -1;
	snprintf(where, sizeof(where), "%s %s%s%s", url, endpoint ? endpoint : "",
		 o->cores_prefix ? " " : "", o->cores_prefix ? o->cores_prefix : "");
	if (state_open(d->dir_fd, where, &d->state, NULL) < 0)
		return fault_set(fault, FAULT_MEMORY, STATE_FILE ": out of memory");
	if (open_store(d, fault) < 0)
		return -1;
	for (size_t i = 0; i < d->plan.n; i++)
		if (send_file(d, &d->plan.items[i], fault) < 0)
			return -1;
	return send_manifest(d, fault);
}

int deliver(const struct ship_options *options, int64_t deadline_ns,
	    char ret_url[static DELIVER_URL_MAX], struct fault *fault)
{
	struct delivery d = { .context = { .options = options, .deadline_ns = deadline_ns },
			      .dir_fd = -1,
			      .manifest_fd = -1 };

	d.manifest = STRBUF_INIT(PLAN_MANIFEST_MAX);
	progress_init(&d.progress);
	url_of(options, ret_url);
	int r = deliver_run(&d, ret_url, fault);
	if (d.store)
		d.store->ops->free(d.store);
	state_release(&d.state);
	plan_release(&d.plan);
	strbuf_release(&d.manifest);
	closep(&d.manifest_fd);
	closep(&d.dir_fd);
	return r;
}
