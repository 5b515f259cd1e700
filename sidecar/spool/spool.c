/* SPDX-License-Identifier: Apache-2.0 */
/* Manages the spool: decides how much of a bundle is kept, and drops what exceeds the limits. */
#include "sidecar/spool/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/statvfs.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"

#define STATE_FILE "spool.json"
#define STATE_MAX (128 * 1024)
#define FULL_ROOM ((int64_t)8 << 20)
#define LIGHT_ROOM ((int64_t)512 << 10)

struct spool {
	char *path;
	struct spool_limits limits;
	int state_fd;
	int64_t clock_offset_ns; /* as it was when we started */
	struct crash_loops loops;
	struct spool_stats stats;
	uint64_t unreported[DROP_COUNT]; /* bundles that were dropped since the last report */
};

static int64_t clock_offset_ns(void)
{
	return now_realtime_ns() - now_boottime_ns();
}

/* --- What survives the sidecar --- */

static void spool_save(const struct spool *s)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	cJSON *unreported = json_object_at(json, "dropped");

	if (s->state_fd < 0)
		return;
	for (enum drop d = DROP_CORE; d < DROP_COUNT; d++)
		json_set_int(unreported, drop_name(d), (int64_t)s->unreported[d]);
	json_set(json, "crashes", crash_loops_to_json(&s->loops, now_realtime_ns()));
	text = cJSON_PrintUnformatted(json);
	if (text)
		file_replace(s->state_fd, STATE_FILE, text, strlen(text));
}

static void spool_load(struct spool *s)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(STATE_MAX);
	_cleanup_json_ cJSON *json = NULL;

	if (s->state_fd < 0 || file_read(s->state_fd, STATE_FILE, &text, NULL) < 0 ||
	    json_parse(strbuf_str(&text), text.len, &json, NULL) < 0)
		return;
	const cJSON *unreported = json_get(json, "dropped");
	for (enum drop d = DROP_CORE; d < DROP_COUNT; d++)
		s->unreported[d] = (uint64_t)MAX(json_int(unreported, drop_name(d), 0), (int64_t)0);
	crash_loops_of_json(json_get(json, "crashes"), &s->loops);
}

struct spool *spool_new(const char *path, const struct spool_limits *limits, int state_fd)
{
	/*
	 * This memory is shared with the children that write bundles, so that their counts are not
	 * lost.
	 */
	struct spool *s =
		mmap(NULL, sizeof(*s), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		return NULL;
	s->limits = *limits;
	s->state_fd = state_fd;
	s->clock_offset_ns = clock_offset_ns();
	s->path = strdup(path);
	if (!s->path) {
		munmap(s, sizeof(*s));
		return NULL;
	}
	spool_load(s);
	return s;
}

void spool_free(struct spool *s)
{
	if (!s)
		return;
	free(s->path);
	munmap(s, sizeof(*s));
}

/* --- Room --- */

/*
 * Returns the free bytes of the filesystem; INT64_MAX if it reports none, or if the directory does
 * not exist.
 */
static int64_t free_bytes(const struct spool *s)
{
	struct statvfs v;

	if (statvfs(s->path, &v) < 0 || v.f_blocks == 0)
		return INT64_MAX;
	return (int64_t)(v.f_bavail * v.f_frsize);
}

/* Returns the room without which no whole bundle is begun. */
static int64_t full_room(const struct spool *s)
{
	return s->limits.quota.bytes > 0 ? MIN(FULL_ROOM, s->limits.quota.bytes / 8) : FULL_ROOM;
}

int64_t spool_room(const struct spool *s)
{
	int64_t room = free_bytes(s);

	if (room != INT64_MAX)
		room -= s->limits.own_disk ? LIGHT_ROOM :
			s->limits.final	   ? FULL_ROOM :
					     SPOOL_FREE_MIN;
	if (s->limits.quota.bytes > 0)
		room = MIN(room, s->limits.quota.bytes - s->stats.bytes);
	return MAX(room, (int64_t)0);
}

/*
 * Drops a part of a bundle, and returns whether that succeeded. A bundle with a damaged manifest is
 * dropped as a whole, because its files are not known and no store accepts it.
 */
static bool spool_drop(struct spool *s, int fd, const char *path, enum drop what,
		       void (*dropped)(const char *path, void *arg), void *arg)
{
	struct err err = { 0 };

	if (inventory_drop_at_least(fd, path, &what, &err) < 0) {
		log_warning_limited("spool: %s", err_text(&err));
		return false;
	}
	s->stats.dropped[what]++;
	s->unreported[what]++;
	log_warning("spool: dropped the %s of %s to make room",
		    what == DROP_BUNDLE ? "whole" : drop_name(what), path);
	if (what != DROP_BUNDLE)
		return true;
	inventory_remove_empty(fd, path, 0, 0);
	if (dropped)
		dropped(path, arg);
	return true;
}

/*
 * Looks at the whole spool, and drops what exceeds the limits and what is needed to free to_free
 * bytes.
 */
static void spool_look(struct spool *s, int64_t to_free, enum drop worst,
		       void (*dropped)(const char *path, void *arg), void *arg)
{
	_cleanup_close_ int fd = open(s->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_inventory_ struct inventory inv = { .n = 0 };
	_cleanup_free_ enum drop *drops = NULL;
	struct quota quota =
		quota_by_clock(&s->limits.quota, s->clock_offset_ns, clock_offset_ns());
	bool any = false;

	if (s->limits.final || fd < 0 || inventory_read(fd, "", SPOOL_BUNDLES_MAX, &inv, NULL) < 0)
		return;
	s->stats.bytes = inv.bytes;
	s->stats.bundles = (int64_t)(inv.n + inv.left_out);
	drops = calloc(inv.n + 1, sizeof(*drops));
	if (!drops)
		return;
	quota_plan(inv.stored, inv.n, &quota, now_realtime_ns(), to_free, worst, drops);
	for (size_t i = 0; i < inv.n; i++)
		if (drops[i] != DROP_NOTHING)
			any = spool_drop(s, fd, inv.stored[i].path, drops[i], dropped, arg) || any;
	/*
	 * Failures were logged. If nothing could be dropped, another try would fail in the same
	 * way.
	 */
	if (!any)
		return;
	spool_save(s);
	spool_look(s, 0, DROP_NOTHING, dropped, arg);
}

void spool_make_room(struct spool *s, int64_t bytes)
{
	spool_look(s, bytes, DROP_BUNDLE, NULL, NULL);
}

void spool_settle(struct spool *s, void (*dropped)(const char *path, void *arg), void *arg)
{
	int64_t room = free_bytes(s);

	/* Reports are not dropped to leave free space to others, because they are small. */
	spool_look(s,
		   room == INT64_MAX || s->limits.own_disk ?
			   0 :
			   MAX(SPOOL_FREE_MIN / 2 - room, (int64_t)0),
		   DROP_FILES, dropped, arg);
}

/* --- Admission --- */

static void tell_dropped(struct spool *s, struct keeping *k)
{
	k->dropped_cores = s->unreported[DROP_CORE];
	k->dropped_files = s->unreported[DROP_FILES];
	k->dropped_bundles = s->unreported[DROP_BUNDLE];
	memset(s->unreported, 0, sizeof(s->unreported));
}

enum keep spool_admit(struct spool *s, struct report *r)
{
	const struct crash_loop *loop;

	if (s->limits.final)
		return KEEP_FULL;
	enum keep keep = crash_loops_count(&s->loops, r->signature, now_realtime_ns(),
					   s->limits.full_per_loop, &loop);
	r->keeping = (struct keeping){ .repeats = loop->count,
				       .repeats_since_unix_ns = loop->first_unix_ns,
				       .alike_only = signature_is_weak(r->signature) };
	if (keep == KEEP_COUNT) {
		s->stats.counted++;
		spool_save(s);
		return keep;
	}
	if (keep == KEEP_FULL && spool_room(s) < full_room(s)) {
		spool_look(s, full_room(s) - spool_room(s), DROP_FILES, NULL, NULL);
		keep = spool_room(s) < full_room(s) ? KEEP_LIGHT : KEEP_FULL;
		if (keep == KEEP_LIGHT)
			verdict_add_missing(&r->verdict, "all but this report",
					    "room on the disk that bundles are written to");
	}
	if (keep == KEEP_LIGHT && free_bytes(s) < LIGHT_ROOM)
		spool_make_room(s, LIGHT_ROOM);
	r->keeping.report_only = keep == KEEP_LIGHT;
	tell_dropped(s, &r->keeping);
	spool_save(s);
	return keep;
}

struct spool_counts {
	struct crash_loops loops;
	struct spool_stats stats;
	uint64_t unreported[DROP_COUNT];
};

struct spool_counts *spool_counts(const struct spool *s)
{
	struct spool_counts *counts = malloc(sizeof(*counts));

	if (!counts)
		return NULL;
	counts->loops = s->loops;
	counts->stats = s->stats;
	memcpy(counts->unreported, s->unreported, sizeof(counts->unreported));
	return counts;
}

void spool_set_back(struct spool *s, const struct spool_counts *to)
{
	s->loops = to->loops;
	s->stats.counted = to->stats.counted;
	for (size_t i = 0; i < ARRAY_SIZE(s->unreported); i++)
		s->unreported[i] = to->unreported[i] + s->stats.dropped[i] - to->stats.dropped[i];
}

const struct spool_stats *spool_stats(const struct spool *s)
{
	return &s->stats;
}
