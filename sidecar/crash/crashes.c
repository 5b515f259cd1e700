/* SPDX-License-Identifier: Apache-2.0 */
/* The cores of one container. */
#include "sidecar/crash/crashes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/crash/child.h"
#include "sidecar/pack/elf_core.h"
#include "sidecar/store/extend.h"

#define UNWIND_NS (30 * NS_PER_SEC)
#define PACK_NS (1800 * NS_PER_SEC)
#define SUMMARY_FILE_MAX ((uint64_t)256 << 20)
#define SPACE_LEFT ((uint64_t)64 << 20) /* on the filesystem of the bundles, for reports */
#define SPACE_LEFT_PART 20 /* and one part in so many of it */
#define ANSWER_MAX 4096
/* Whoever can crash can do so without end, and each time costs a child: so many at once, then one for each so long. */
#define BURST 60
#define SPACING_NS (10 * NS_PER_SEC)

struct crash {
	struct crashes *owner;
	struct crash *next;
	int core_fd;
	struct core_key key;
	struct crash_info info;
	struct strbuf backtrace;
	struct child *unwinder, *packer; /* NULL: does not run */
	struct event *without_unwinder; /* when it could not be started; NULL: it could */
	bool unwound, packed, settled; /* settled: kept or dropped */
	bool backtrace_kept;
	struct extension *extension; /* the core's */
	struct extension *late; /* of a backtrace that comes when the bundle is committed */
	int late_fd;
	char *bundle; /* NULL: dropped, or not settled */
	void *note;
};

struct crashes {
	struct event_base *base;
	enum cores_mode mode;
	int root_fd;
	struct taken *taken;
	struct core_stats *stats;
	struct crashes_callbacks callbacks;
	struct crash *list; /* oldest first */
	int64_t paid_until_ns; /* each crash moves it on by SPACING_NS; at most BURST of them ahead of now */
	int64_t left_until_ns; /* the same for those that are left where they are */
};

bool cores_mode_parse(const char *text, enum cores_mode *ret_mode)
{
	static const char *const names[] = { "off", "summary", "full" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(text, names[i]) == 0) {
			*ret_mode = (enum cores_mode)i;
			return true;
		}
	return false;
}

const struct crash_info *crash_info(const struct crash *crash)
{
	return &crash->info;
}

int64_t crash_unix_ns(const struct crash *crash)
{
	return crash->key.mtime_ns;
}

bool crash_is_unwound(const struct crash *crash)
{
	return crash->unwound;
}

const struct strbuf *crash_backtrace(const struct crash *crash)
{
	return &crash->backtrace;
}

void crash_set_note(struct crash *crash, void *note)
{
	free(crash->note);
	crash->note = note;
}

void *crash_note(const struct crash *crash)
{
	return crash->note;
}

bool crashes_busy(const struct crashes *c)
{
	return c && c->list;
}

struct crash *crashes_find(const struct crashes *c, bool (*fits)(const struct crash *crash, const void *arg), const void *arg)
{
	for (struct crash *crash = c ? c->list : NULL; crash; crash = crash->next)
		if (!crash->settled && fits(crash, arg))
			return crash;
	return NULL;
}

/* The end of a crash */

static void crash_free(struct crash *crash)
{
	child_cancel(crash->unwinder);
	child_cancel(crash->packer);
	if (crash->without_unwinder)
		event_free(crash->without_unwinder);
	extend_abort(crash->extension);
	extend_abort(crash->late);
	closep(&crash->core_fd);
	strbuf_release(&crash->backtrace);
	free(crash->bundle);
	free(crash->note);
	free(crash);
}

static void remove_crash(struct crash *crash)
{
	struct crashes *c = crash->owner;

	for (struct crash **at = &c->list; *at; at = &(*at)->next)
		if (*at == crash) {
			*at = crash->next;
			break;
		}
	crash_free(crash);
	if (!c->list)
		c->callbacks.idle(c->callbacks.arg);
}

static void free_if_over(struct crash *crash)
{
	if (!crash->settled || (crash->bundle && (!crash->packed || !crash->unwound)))
		return;
	taken_note(crash->owner->taken, &crash->key, true, crash->bundle);
	crash->owner->callbacks.over(&crash->key, crash->owner->callbacks.arg);
	remove_crash(crash);
}

/* The backtrace */

/* Begun before there is one: as long as it is on its way, the bundle stays where it is. */
static void begin_late_backtrace(struct crash *crash)
{
	struct err err = { 0 };

	if (crash->backtrace_kept || (crash->unwound && !crash->backtrace.len))
		return;
	if (extend_begin(crash->bundle, "backtrace.txt", &crash->late, &crash->late_fd, &err) < 0)
		log_warning_limited("backtrace not kept: %s", err_text(&err));
}

static void end_late_backtrace(struct crash *crash)
{
	struct extension *e = TAKE_PTR(crash->late);
	struct err err = { 0 };
	int rc;

	if (!e)
		return;
	rc = fd_write_all(crash->late_fd, crash->backtrace.data, crash->backtrace.len, &err);
	if (rc < 0 || !crash->backtrace.len)
		extend_abort(e);
	else
		rc = extend_commit(e, NULL, &err);
	if (rc < 0 && rc != -EEXIST)
		log_warning_limited("backtrace not kept: %s", err_text(&err));
	crash->owner->callbacks.added(crash->owner->callbacks.arg);
}

static void on_unwound(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;
	struct err err = { 0 };

	crash->unwinder = NULL;
	crash->unwound = true;
	if (r->output_len)
		strbuf_add(&crash->backtrace, r->output, r->output_len);
	if (r->extra[0] && crash_info_of_summary(r->extra, r->output, &crash->info, &err) < 0)
		log_warning_limited("backtrace: %s", err_text(&err));
	crash->owner->stats->backtraces[r->timed_out ? BACKTRACE_TIMEOUT : r->exited_well ? BACKTRACE_MADE : BACKTRACE_FAILED]++;
	if (r->timed_out)
		log_warning_limited("backtrace: not done within %d s", (int)(UNWIND_NS / NS_PER_SEC));
	else if (!r->exited_well)
		log_warning_limited("backtrace: %.300s", r->errors[0] ? r->errors : "afterglow-unwind failed");
	if (!crash->settled) {
		crash->owner->callbacks.unwound(crash, crash->owner->callbacks.arg);
		return;
	}
	end_late_backtrace(crash);
	free_if_over(crash);
}

/* No backtrace, and nobody is told from within crashes_take. */
static void without_backtrace(evutil_socket_t fd, short what, void *arg)
{
	const struct child_result none = { .output = "", .extra = "", .errors = "afterglow-unwind could not be started" };

	(void)fd;
	(void)what;
	on_unwound(&none, arg);
}

static void start_unwinder(struct crash *crash)
{
	struct child_work work = {
		.program = "afterglow-unwind",
		.args = { "--core-fd", "3", "--summary-fd", "4" },
		.fds = { crash->core_fd },
		.n_fds = 1,
		.output_max = BACKTRACE_MAX,
		.extra_max = 16 * 1024,
		.within_ns = UNWIND_NS,
	};
	const struct timeval now = { 0 };
	struct err err = { 0 };

	if (crash->owner->root_fd >= 0) {
		work.args[3] = "5";
		work.args[4] = "--root-fd";
		work.args[5] = "4";
		work.fds[work.n_fds++] = crash->owner->root_fd;
	}
	if (child_start(crash->owner->base, &work, on_unwound, crash, &crash->unwinder, &err) >= 0)
		return;
	log_warning_limited("no backtrace: %s", err_text(&err));
	crash->without_unwinder = evtimer_new(crash->owner->base, without_backtrace, crash);
	if (crash->without_unwinder)
		event_add(crash->without_unwinder, &now);
	else
		crash->unwound = true;
}

/* The core */

static void count_packed(struct crash *crash, const struct child_result *r, const cJSON *json, bool committed)
{
	struct core_stats *stats = crash->owner->stats;

	if (committed) {
		stats->packed++;
		stats->packed_bytes += (uint64_t)MAX(json_int(json, "bytesOut", 0), (int64_t)0);
	} else
		stats->dropped[r->timed_out ? CORE_DROP_TIMEOUT : CORE_DROP_FAILED]++;
}

static void on_packed(const struct child_result *r, void *arg)
{
	struct crash *crash = arg;
	_cleanup_json_ cJSON *json = NULL;
	const char *sha256;
	struct err err = { 0 };
	bool committed = false;

	crash->packer = NULL;
	crash->packed = true;
	json_parse(r->output, r->output_len, &json, NULL);
	sha256 = json_str(json, "sha256");
	if (!r->exited_well || !sha256 || strlen(sha256) != 64) {
		log_warning_limited("core of %s (PID %d) not kept: %.300s", crash->info.comm, (int)crash->info.pid,
				    r->timed_out ? "it took too long" : r->errors[0] ? r->errors : "afterglow-pack failed");
		extend_abort(TAKE_PTR(crash->extension));
	} else {
		if (!json_bool(json, "complete", true))
			log_warning_limited("core of %s (PID %d): %.150s", crash->info.comm, (int)crash->info.pid,
					    json_str(json, "why") ? json_str(json, "why") : "incomplete");
		committed = extend_commit(TAKE_PTR(crash->extension), sha256, &err) >= 0;
		if (!committed)
			log_warning_limited("core of %s (PID %d) not kept: %s", crash->info.comm, (int)crash->info.pid,
					    err_text(&err));
	}
	count_packed(crash, r, json, committed);
	crash->owner->callbacks.added(crash->owner->callbacks.arg);
	free_if_over(crash);
}

/* What may be written beside the bundles, so that reports still fit; 0: nothing. */
static uint64_t room_for_core(const char *bundle, enum cores_mode mode, int64_t room)
{
	struct statvfs fs;
	uint64_t free_bytes, reserve, most;

	if (statvfs(bundle, &fs) < 0)
		return 0;
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	reserve = MIN(SPACE_LEFT, (uint64_t)fs.f_blocks * fs.f_frsize / SPACE_LEFT_PART);
	most = free_bytes > reserve ? free_bytes - reserve : 0;
	most = MIN(most, (uint64_t)MAX(room, (int64_t)0));
	return mode == CORES_SUMMARY ? MIN(most, SUMMARY_FILE_MAX) : most;
}

static int start_packer(struct crash *crash, int64_t spool_room, struct err *err)
{
	uint64_t room = room_for_core(crash->bundle, crash->owner->mode, spool_room);
	char max[24];
	struct child_work work = {
		.program = "afterglow-pack",
		.args = { "--mode", crash->owner->mode == CORES_FULL ? "full" : "summary", "--core-fd", "3", "--out-fd", "4",
			  "--max-bytes", max },
		.fds = { crash->core_fd },
		.n_fds = 2,
		.output_max = ANSWER_MAX,
		.within_ns = PACK_NS,
	};
	int rc;

	if (room < 1 << 20)
		return err_set(err, ENOSPC, "no room beside the bundles");
	snprintf(max, sizeof(max), "%" PRIu64, room);
	rc = extend_begin(crash->bundle, crash->info.core_file, &crash->extension, &work.fds[1], err);
	if (rc < 0)
		return rc;
	return child_start(crash->owner->base, &work, on_packed, crash, &crash->packer, err);
}

void crash_keep(struct crash *crash, const char *bundle, bool with_backtrace, int64_t room)
{
	struct err err = { 0 };

	crash->settled = true;
	crash->bundle = strdup(bundle);
	crash->backtrace_kept = with_backtrace;
	if (!crash->bundle) {
		free_if_over(crash);
		return;
	}
	taken_note(crash->owner->taken, &crash->key, false, bundle);
	begin_late_backtrace(crash);
	if (crash->unwound)
		end_late_backtrace(crash);
	if (start_packer(crash, room, &err) < 0) {
		crash->owner->stats->dropped[err.code == ENOSPC ? CORE_DROP_NO_ROOM : CORE_DROP_FAILED]++;
		log_warning_limited("core of %s (PID %d) not kept: %s", crash->info.comm, (int)crash->info.pid, err_text(&err));
		extend_abort(TAKE_PTR(crash->extension));
		crash->packed = true;
	}
	free_if_over(crash);
}

void crash_drop(struct crash *crash, enum core_drop why)
{
	crash->owner->stats->dropped[why]++;
	crash->settled = true;
	child_cancel(TAKE_PTR(crash->unwinder));
	free_if_over(crash);
}

/* The beginning */

static void copy_name(char *to, size_t size, const char *from)
{
	size_t n = 0;

	for (; from[n] && n + 1 < size; n++)
		to[n] = (unsigned char)from[n] < ' ' || from[n] == 0x7f ? '?' : from[n];
	to[n] = '\0';
}

/* The core's own word goes before its name's. */
static int identify(struct crash *crash, const struct core_hint *hint, struct err *err)
{
	struct elf_identity id;
	struct elf_core core;
	int rc = elf_core_open(crash->core_fd, &core, err);

	if (rc < 0)
		return rc;
	elf_core_identify(&core, &id);
	crash->info.known = true;
	crash->info.pid = id.pid > 0 ? id.pid : hint->pid;
	crash->info.tid = id.tid > 0 ? id.tid : hint->tid;
	crash->info.signal = id.signal > 0 && id.signal < 65 ? id.signal : hint->signal;
	crash->info.cut = core.file_size < core.should_size;
	copy_name(crash->info.comm, sizeof(crash->info.comm), id.comm[0] ? id.comm : hint->comm);
	crash_info_name_core(&crash->info);
	elf_core_close(&core);
	return 0;
}

static void append(struct crashes *c, struct crash *crash)
{
	struct crash **at = &c->list;

	while (*at)
		at = &(*at)->next;
	*at = crash;
}

static size_t count(const struct crashes *c)
{
	size_t n = 0;

	for (const struct crash *crash = c->list; crash; crash = crash->next)
		n++;
	return n;
}

static bool is_under_way(const struct crashes *c, const struct core_key *key)
{
	for (const struct crash *crash = c->list; crash; crash = crash->next)
		if (memcmp(&crash->key, key, sizeof(*key)) == 0)
			return true;
	return false;
}

/* Takes one of BURST and one in SPACING_NS; false: there is none left. */
static bool is_within(int64_t *until_ns)
{
	int64_t now = now_boottime_ns(), from = MAX(*until_ns, now);

	if (from - now > (BURST - 1) * SPACING_NS)
		return false;
	*until_ns = from + SPACING_NS;
	return true;
}

/*
 * One that came while others were dealt with is left where it is, for the recorder after this one. But not all of a
 * storm, which would fill the disk of a container that has cores only because of us.
 */
static struct crash *refuse(struct crashes *c, int core_fd, const struct core_key *key, enum core_drop why)
{
	close(core_fd);
	c->stats->dropped[why]++;
	if (why != CORE_DROP_BUSY || !is_within(&c->left_until_ns))
		c->callbacks.over(key, c->callbacks.arg);
	return NULL;
}

static struct crash *begin(struct crashes *c, int core_fd, const struct core_hint *hint, struct err *err)
{
	struct crash *crash = calloc(1, sizeof(*crash));

	if (!crash) {
		close(core_fd);
		err_set(err, ENOMEM, "crash");
		return NULL;
	}
	crash->owner = c;
	crash->core_fd = core_fd;
	crash->key = taken_key(core_fd);
	crash->backtrace = STRBUF_INIT(BACKTRACE_MAX);
	if (identify(crash, hint, err) < 0) {
		c->stats->dropped[CORE_DROP_NO_CORE]++;
		crash_free(crash);
		return NULL;
	}
	return crash;
}

struct crash *crashes_take(struct crashes *c, int core_fd, const struct core_hint *hint, struct err *err)
{
	const struct core_key key = taken_key(core_fd);
	const struct taken_core *before = taken_find(c->taken, &key);
	struct crash *crash;

	if (before && before->done)
		c->callbacks.over(&key, c->callbacks.arg);
	if ((before && before->done) || is_under_way(c, &key)) {
		close(core_fd);
		return NULL;
	}
	if (count(c) >= CRASHES_MAX) {
		err_set(err, EBUSY, "%d cores are being dealt with: this one is not looked at now", CRASHES_MAX);
		return refuse(c, core_fd, &key, CORE_DROP_BUSY);
	}
	if (!is_within(&c->paid_until_ns)) {
		err_set(err, EBUSY, "more than %d in a short time: this one is not looked at", BURST);
		return refuse(c, core_fd, &key, CORE_DROP_RATE);
	}
	crash = begin(c, core_fd, hint, err);
	if (!crash)
		return NULL;
	c->stats->captured++;
	append(c, crash);
	start_unwinder(crash);
	if (before && before->bundle) {
		/* A recorder that was killed before the core was kept. Whether it had a backtrace the bundle tells (-EEXIST). */
		_cleanup_free_ char *bundle = strdup(before->bundle);

		/* Nobody else will settle it. */
		if (bundle)
			crash_keep(crash, bundle, false, INT64_MAX);
		else
			crash_drop(crash, CORE_DROP_FAILED);
		return NULL;
	}
	return crash;
}

struct crashes *crashes_new(struct event_base *base, enum cores_mode mode, int root_fd, struct taken *taken,
			    struct core_stats *stats, const struct crashes_callbacks *callbacks)
{
	struct crashes *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->base = base;
	c->mode = mode;
	c->root_fd = root_fd;
	c->taken = taken;
	c->stats = stats;
	c->callbacks = *callbacks;
	return c;
}

void crashes_free(struct crashes *c)
{
	struct crash *next;

	if (!c)
		return;
	for (struct crash *crash = c->list; crash; crash = next) {
		next = crash->next;
		crash_free(crash);
	}
	free(c);
}
