/* SPDX-License-Identifier: Apache-2.0 */
/* Brings the bundles of the spool to the store, one child process at a time. */
#include "sidecar/spool/shipper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/loop/child.h"
#include "lib/units.h"
#include "sidecar/spool/inventory.h"
#include "sidecar/spool/spool.h"
#include "sidecar/store/bundle.h"
#include "sidecar/store/extend.h"
#include "sidecar/store/manifest.h"

#define DONE_MAX 256 /* more than a spool holds, unless told otherwise */
#define PRUNE_EVERY_NS (600 * NS_PER_SEC)
#define RUN_MAX_S (24 * 3600)

/* A manifest as it was when the bundle was shipped: an addition exchanges it. */
struct identity_of_manifest {
	ino_t inode;
	int64_t changed_ns;
};

enum state {
	IDLE,
	WAITING, /* for the next try */
	RUNNING, /* until its child has ended */
};

struct shipper {
	struct event_base *base;
	struct shipper_options options;
	struct shipper_callbacks callbacks;
	struct event *timer; /* to begin */
	enum state state;
	struct child *child; /* NULL: none runs */
	bool pruning; /* what runs is no afterglow-ship */
	char path[BUNDLE_PATH_MAX]; /* what is shipped, below the spool; the one tried last */
	struct identity_of_manifest manifest;
	struct identity_of_manifest done[DONE_MAX]; /* shipped, and waiting for an addition, or not to be removed */
	size_t n_done;
	struct ship_result result;
	unsigned int failures; /* in a row */
	int64_t stop_ns; /* 0: not stopping */
	int64_t pruned_ns;
	int64_t clock_offset_ns; /* as it was at our beginning */
	struct shipper_stats stats;
};

static void begin_next(struct shipper *s);

static void set_timer(struct shipper *s, int64_t ns)
{
	const struct timeval tv = { .tv_sec = ns / NS_PER_SEC, .tv_usec = ns % NS_PER_SEC / 1000 };

	event_add(s->timer, &tv);
}

/* Which one */

static bool same(const struct identity_of_manifest *a, const struct identity_of_manifest *b)
{
	return a->inode == b->inode && a->changed_ns == b->changed_ns;
}

static bool identify(int spool_fd, const char *path, struct identity_of_manifest *ret_id, bool *ret_pending)
{
	_cleanup_close_ int fd = openat(spool_fd, path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstatat(fd, MANIFEST_FILE, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	*ret_id = (struct identity_of_manifest){ st.st_ino, st.st_mtim.tv_sec * NS_PER_SEC + st.st_mtim.tv_nsec };
	*ret_pending = extend_pending(fd);
	return true;
}

static bool is_done(const struct shipper *s, const struct identity_of_manifest *id)
{
	for (size_t i = 0; i < s->n_done; i++)
		if (same(&s->done[i], id))
			return true;
	return false;
}

static bool leave_spool(int fd, const char *path)
{
	struct err err = { 0 };
	int rc = inventory_drop(fd, path, DROP_BUNDLE, &err);

	if (rc < 0)
		log_warning_limited("spool: %s", err_text(&err));
	inventory_remove_empty(fd, path, 0, 0);
	return rc >= 0;
}

/* Whether it is to be shipped now; one whose addition never came leaves the spool as it was shipped. */
static bool is_due(struct shipper *s, int fd, const char *path, struct identity_of_manifest *ret_id)
{
	bool pending;

	if (!identify(fd, path, ret_id, &pending))
		return false;
	if (!is_done(s, ret_id))
		return true;
	if (!pending)
		leave_spool(fd, path);
	return false;
}

/* The oldest one after the one tried last, or else the oldest: one that cannot be shipped does not keep back the others. */
static bool choose(struct shipper *s)
{
	_cleanup_close_ int fd = open(s->options.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_inventory_ struct inventory inv = { .n = 0 };
	size_t begin = 0;

	if (fd < 0 || inventory_read(fd, "", SPOOL_BUNDLES_MAX, &inv, NULL) < 0)
		return false;
	for (size_t i = 0; i < inv.n && s->failures; i++)
		if (strcmp(inv.paths[i], s->path) == 0)
			begin = i + 1;
	for (size_t i = 0; i < inv.n; i++) {
		const char *path = inv.paths[(begin + i) % inv.n];

		if (!is_due(s, fd, path, &s->manifest))
			continue;
		snprintf(s->path, sizeof(s->path), "%s", path);
		return true;
	}
	return false;
}

/* The child */

static void ended(const struct child_result *r, void *arg);

static int64_t patience_ns(const struct shipper *s)
{
	return s->stop_ns ? MIN(SHIP_PATIENCE_NS, MAX(s->stop_ns - now_boottime_ns(), (int64_t)0)) : SHIP_PATIENCE_NS;
}

static void on_line(const char *line, size_t len, void *arg)
{
	struct shipper *s = arg;

	child_extend(s->child, patience_ns(s));
	if (!s->pruning)
		ship_line(line, len, &s->result);
}

static int start(struct shipper *s, const char *const *argv, struct err *err)
{
	char *const *env = ship_environment();
	const struct child_work work = {
		.path = argv[0], .argv = argv, .env = env, .on_line = on_line, .line_max = SHIP_LINE_MAX, .no_new_privs = true, .within_ns = patience_ns(s),
	};

	s->result = (struct ship_result){ .said = false };
	if (child_start(s->base, &work, ended, s, &s->child, err) < 0)
		return -err->code;
	s->state = RUNNING;
	return 0;
}

/* Its outcome */

static void remember_done(struct shipper *s)
{
	if (s->n_done == DONE_MAX)
		memmove(s->done, s->done + 1, --s->n_done * sizeof(s->done[0]));
	s->done[s->n_done++] = s->manifest;
}

static void on_shipped(struct shipper *s)
{
	_cleanup_close_ int fd = open(s->options.spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct identity_of_manifest now;
	bool pending = false;

	s->failures = 0;
	s->stats.failing = false;
	s->stats.shipped++;
	/* What was added meanwhile is shipped next. */
	if (fd >= 0 && identify(fd, s->path, &now, &pending) && same(&now, &s->manifest)) {
		/* What stays in a spool that became read-only is not shipped again and again. */
		if (pending || !leave_spool(fd, s->path))
			remember_done(s);
	}
	s->callbacks.shipped(s->path, s->callbacks.arg);
}

static void on_failed(struct shipper *s)
{
	static const char *const how[] = { "only a person can mend that", "another try follows" };

	s->stats.failed[s->result.kind]++;
	if (!s->stats.failing || s->stats.last.kind != s->result.kind)
		log_warning("store: %s (%s; %s)", s->result.error, ship_kind_name(s->result.kind), how[s->result.retry]);
	s->stats.failing = true;
	s->stats.last = s->result;
	s->failures++;
}

static void wait_for_next_try(struct shipper *s)
{
	double random = (double)(now_boottime_ns() / 1000 % 1000) / 1000;

	s->state = WAITING;
	set_timer(s, ship_backoff(s->failures, &s->result, s->stop_ns != 0, random));
	/* Only now: who hears of it asks whether we are busy. */
	s->callbacks.failed(&s->result, s->callbacks.arg);
}

/* Until somebody kicks. */
static void rest(struct shipper *s)
{
	s->state = IDLE;
	s->callbacks.idle(s->callbacks.arg);
}

static void ended(const struct child_result *r, void *arg)
{
	struct shipper *s = arg;
	bool in_time = !s->stop_ns || now_boottime_ns() < s->stop_ns;

	s->child = NULL;
	s->state = IDLE;
	if (s->pruning) {
		s->pruning = false;
		if (r->status != 0)
			log_warning_limited("store: old bundles could not be removed (0x%x)", (unsigned int)r->status);
		begin_next(s);
		return;
	}
	ship_ended(r->status, !r->timed_out ? SHIP_END_OWN : in_time ? SHIP_END_HUNG : SHIP_END_GRACE, &s->result);
	if (s->result.shipped) {
		on_shipped(s);
		begin_next(s);
		return;
	}
	on_failed(s);
	/* Nobody will mend the store while the pod goes away; another bundle may be sound. */
	if (s->stop_ns && !s->result.retry && s->result.kind != SHIP_BUNDLE) {
		s->callbacks.failed(&s->result, s->callbacks.arg);
		rest(s);
	} else
		wait_for_next_try(s);
}

/* What next */

static int64_t seconds_left(const struct shipper *s)
{
	return s->stop_ns ? (s->stop_ns - now_boottime_ns()) / NS_PER_SEC : RUN_MAX_S;
}

static void begin_ship(struct shipper *s)
{
	const char *argv[SHIP_ARGS_MAX];
	char bundle[2 * BUNDLE_PATH_MAX], deadline[24];
	struct err err = { 0 };

	snprintf(bundle, sizeof(bundle), "%s/%s", s->options.spool, s->path);
	snprintf(deadline, sizeof(deadline), "%" PRId64, MAX(seconds_left(s), (int64_t)1));
	ship_args(&s->options.store, s->options.program, s->path, deadline, bundle, argv);
	s->pruning = false;
	if (start(s, argv, &err) == 0)
		return;
	s->result = (struct ship_result){ .retry = true, .kind = SHIP_PROGRAM };
	snprintf(s->result.error, sizeof(s->result.error), "%.200s", err_text(&err));
	on_failed(s);
	wait_for_next_try(s);
}

/* Old bundles of this cluster in a directory store: another child's work, for that may hang too. */
static bool begin_prune(struct shipper *s)
{
	const struct quota by_clock = quota_by_clock(&s->options.retention, s->clock_offset_ns, now_realtime_ns() - now_boottime_ns());
	const struct quota *q = &by_clock;
	const char *directory = s->options.store.url ? store_directory(s->options.store.url) : NULL;
	char bytes[24], count[24], age[24];
	const char *argv[] = { s->options.pruner, "prune", "--keep-bytes", bytes, "--keep-bundles", count, "--keep-seconds", age,
			       "--below", s->options.retain_below, directory, NULL };
	int64_t now = now_boottime_ns();
	struct err err = { 0 };

	if (!directory || !s->options.pruner || !s->options.retain_below || (!q->bytes && !q->count && !q->age_ns) || s->stop_ns ||
	    (s->pruned_ns && now - s->pruned_ns < PRUNE_EVERY_NS))
		return false;
	s->pruned_ns = now;
	snprintf(bytes, sizeof(bytes), "%" PRId64, q->bytes);
	snprintf(count, sizeof(count), "%" PRId64, q->count);
	snprintf(age, sizeof(age), "%" PRId64, q->age_ns / NS_PER_SEC);
	s->pruning = true;
	if (start(s, argv, &err) == 0)
		return true;
	log_warning_limited("store: old bundles are not removed: %s", err_text(&err));
	s->pruning = false;
	return false;
}

static void begin_next(struct shipper *s)
{
	if (s->stop_ns && seconds_left(s) < 1)
		rest(s);
	else if (choose(s))
		begin_ship(s);
	else if (!begin_prune(s)) {
		s->failures = 0;
		rest(s);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct shipper *s = arg;

	(void)fd;
	(void)what;
	begin_next(s);
}

struct shipper *shipper_new(struct event_base *base, const struct shipper_options *options,
			    const struct shipper_callbacks *callbacks)
{
	struct shipper *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->base = base;
	s->options = *options;
	s->callbacks = *callbacks;
	s->clock_offset_ns = now_realtime_ns() - now_boottime_ns();
	s->timer = evtimer_new(base, on_timer, s);
	if (!s->timer) {
		free(s);
		return NULL;
	}
	return s;
}

void shipper_free(struct shipper *s)
{
	if (!s)
		return;
	child_cancel(s->child);
	event_free(s->timer);
	free(s);
}

void shipper_kick(struct shipper *s)
{
	if (!s || s->state == RUNNING || (s->state == WAITING && !s->stop_ns))
		return;
	/* On the loop, not in whoever kicks; and what is committed in a row is looked at once. */
	s->state = WAITING;
	set_timer(s, 0);
}

void shipper_stop(struct shipper *s, int64_t deadline_ns)
{
	if (!s || deadline_ns <= s->stop_ns)
		return;
	s->stop_ns = deadline_ns;
	if (s->state == RUNNING)
		child_extend(s->child, patience_ns(s));
	shipper_kick(s);
}

bool shipper_busy(const struct shipper *s)
{
	return s && s->state != IDLE;
}

const struct shipper_stats *shipper_stats(const struct shipper *s)
{
	return &s->stats;
}
