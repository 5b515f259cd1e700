/* SPDX-License-Identifier: Apache-2.0 */
/* Watches how much a Ray node spills to its disk. */
#include "sidecar/watch/spill_watch.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "lib/file_time.h"
#include "lib/strbuf.h"
#include "sidecar/ray/ray_files.h"
#include "sidecar/sample/limits.h"
#include "sidecar/sample/rootfd.h"

#define STATE_FILE "debug_state.txt"
#define STATE_MAX (256 * 1024)
#define EVIDENCE_BYTES ((int64_t)1 << 30)

/* Another raylet may spill elsewhere. */
static void begin(struct spill_watch *w, const struct spill_place *at, const struct ray_node *node)
{
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT(LIMITS_MOUNTS_MAX);
	int64_t polled_ns = w->polled_ns;

	*w = SPILL_WATCH_NONE;
	w->polled_ns = polled_ns;
	w->raylet = node->raylet;
	for (size_t i = 0; node->spill_dir[i]; i++)
		w->where[i] = node->spill_dir[i] > ' ' && node->spill_dir[i] < 0x7f ?
				      node->spill_dir[i] :
				      '?';
	if (!w->where[0] || limits_read_mounts(at->root_fd, at->launcher, &mounts) < 0 ||
	    !limits_local_point(strbuf_str(&mounts), node->spill_dir, w->point, sizeof(w->point)))
		w->point[0] = '\0';
}

/* Returns false if raylet has not written it again. */
static bool read_state(struct spill_watch *w, int logs_fd, int64_t *ret_bytes)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STATE_MAX);
	struct stat st;
	_cleanup_close_ int fd = ray_file_path(logs_fd, STATE_FILE, &st);

	if (fd < 0)
		return false;
	int64_t written_ns = file_time_ns(st.st_mtim);
	if (written_ns == w->written_ns || !ray_file_tail(logs_fd, STATE_FILE, STATE_MAX, &text) ||
	    !spill_state_parse(strbuf_str(&text), text.len, ret_bytes))
		return false;
	w->written_ns = written_ns;
	return true;
}

/* What Ray's logs take up of the disk to which it spills; 0 if they are on another one. */
static int64_t logs_beside(const struct spill_watch *w, const struct spill_place *at)
{
	_cleanup_close_ int point =
		w->point[0] ? rootfd_open(at->root_fd, w->point, O_PATH, NULL) : -1;
	struct stat spilled, logs;

	return point >= 0 && fstat(point, &spilled) == 0 && fstat(at->logs_fd, &logs) == 0 &&
			       spilled.st_dev == logs.st_dev ?
		       ray_files_size(at->logs_fd) :
		       0;
}

/* The results of a look. */
struct looked {
	struct spill_watch watch;
	bool warns;
};

struct look {
	const struct spill_watch *watch;
	const struct spill_place *at;
	const struct ray_node *node;
	int64_t now_ns;
};

static void look_at_disk(const void *arg, void *out)
{
	const struct look *l = arg;
	struct looked *looked = out;
	struct spill_watch *w = &looked->watch;
	struct disk disk;
	int64_t bytes;

	*looked = (struct looked){ .watch = *l->watch };
	if (l->node->raylet != w->raylet)
		begin(w, l->at, l->node);
	if (!w->where[0] || !read_state(w, l->at->logs_fd, &bytes))
		return;
	w->disk = (struct spill_disk){ .limit = l->at->limit, .logs = logs_beside(w, l->at) };
	spill_add(&w->spill, l->now_ns, bytes, w->disk.logs);
	if (w->point[0] && limits_stat_disk(l->at->root_fd, w->point, &disk)) {
		w->disk.total = disk.total;
		w->disk.available = disk.available;
	}
	spill_forecast(&w->spill, &w->disk, &w->forecast);
	looked->warns = spill_warns(&w->spill, &w->forecast);
}

bool spill_watch_poll(struct spill_watch *w, const struct spill_place *at,
		      const struct ray_node *node, int64_t now_ns)
{
	struct looked looked = { .warns = false };

	if (errand_take(at->errand, &looked, sizeof(looked)))
		*w = looked.watch;
	if (at->root_fd >= 0 && at->logs_fd >= 0 && node->raylet > 0 &&
	    (!w->polled_ns || now_ns - w->polled_ns >= SPILL_EVERY_NS)) {
		w->polled_ns = now_ns;
		errand_ask(at->errand, look_at_disk, &(struct look){ w, at, node, now_ns }, &looked,
			   sizeof(looked), NULL);
	}
	return looked.warns;
}

const char *spill_watch_evidence(const struct spill_watch *w, char *text, size_t size)
{
	const struct spill_forecast *f = &w->forecast;
	int64_t rays = MAX(f->bytes, (int64_t)0) + w->disk.logs;

	if (MAX(f->bytes, w->disk.logs) < EVIDENCE_BYTES &&
	    (w->disk.limit <= 0 || rays < w->disk.limit / 2) &&
	    (f->left_ns < 0 || f->left_ns > 2 * SPILL_WARN_NS))
		return NULL;
	return spill_describe(f, &w->disk, w->where, text, size);
}
