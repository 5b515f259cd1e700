/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what must survive the sidecar, and finishes what a previous sidecar left. */
#include "sidecar/keeping/recovery.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/directory.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/ending/life.h"
#include "sidecar/keeping/events.h"
#include "sidecar/keeping/kept_report.h"
#include "sidecar/keeping/parking.h"
#include "sidecar/keeping/state_dir.h"
#include "sidecar/report/report_json.h"
#include "sidecar/socket/channel.h"
#include "sidecar/spool/inventory.h"
#include "sidecar/store/bundle.h"

/* Histories take an eighth of this memory, which they share with bundles */
#define STATE_MEMORY_BYTES (2 * SPOOL_FALLBACK_BYTES)
#define CLEAN_WITHIN_NS (2 * NS_PER_SEC)
/* Generous, so that a slow machine does not cause a second report */
#define READ_WITHIN_NS (10 * NS_PER_SEC)

struct recovery {
	const struct record_options *options;
	recovery_reported_fn reported;
	void *arg;
	struct keeper *keeper;
	struct state_dir state;
	int64_t began_ns; /* when the recovery began */
	struct errand cleaning; /* removes files that were left half-written */
	struct errand reading; /* looks at the bundles that the previous sidecar noted */
	struct life here; /* the identity of this boot */
	struct history *waiting[HISTORIES_MAX];
	size_t n_waiting;
	struct parking parking;
};

/* A report of a container that ended without one. */
struct recovered {
	struct recovery *recovery;
	struct kept kept;
	struct life life;
	struct observer observer;
	struct report report;
};

void recovery_forget(struct recovery *r, const struct life *life)
{
	char file[HISTORY_FILE_MAX];

	history_file_of(life, file);
	parking_take(&r->parking, file);
	if (r->state.fd >= 0)
		unlinkat(r->state.fd, file, 0);
	/* After a loss of power the copy would have its report made again. */
	state_dir_copy(&r->state);
}

void recovery_park(struct recovery *r, const struct life *life)
{
	char file[HISTORY_FILE_MAX];

	if (r->state.fd < 0 || !life->started_ns)
		return;
	history_file_of(life, file);
	parking_add(&r->parking, file);
}

/* --- Finishing a report --- */

static void keep_two_newest(const struct sample *s, void *arg)
{
	const struct sample **last = arg;

	last[0] = last[1];
	last[1] = s;
}

/*
 * Returns the nanoseconds after the last sample until the limit would have been met at the last
 * rate of growth; -1 if that cannot be computed.
 */
static int64_t time_to_limit(const struct history *h)
{
	const struct sample *last[2] = { NULL, NULL };
	double after;

	history_each(h, keep_two_newest, last);
	if (!last[0] || last[1]->memory.limit <= 0 || last[0]->memory.usage < 0)
		return -1;
	int64_t grew = last[1]->memory.usage - last[0]->memory.usage;
	int64_t room = MAX(last[1]->memory.limit - last[1]->memory.usage, (int64_t)0);
	after = (double)room / (double)MAX(grew, (int64_t)1) *
		(double)(last[1]->at_ns - last[0]->at_ns);
	return grew > 0 && after < 1e18 ? (int64_t)after : -1;
}

static int64_t last_sign(const struct history *h)
{
	const struct sample *last = history_last(h);

	return last ? last->at_ns : history_life(h)->started_ns;
}

static void recovery_emit(const struct recovery *r, const struct report *report)
{
	cJSON *fields = report_json_of_verdict(report);

	json_set(fields, "recovered", cJSON_CreateTrue());
	event_emit(r->options, "ended", report->id.container, fields);
}

static void recovered_forget(struct recovered *one)
{
	observer_close(&one->observer);
	recovery_forget(one->recovery, &one->life);
	free(one);
}

static void on_named(const struct report *report, void *arg)
{
	const struct recovered *one = arg;

	life_reporting(&one->observer, report->directory);
}

static void on_kept(const struct err *err, void *arg)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX);
	_cleanup_failure_ struct failure f = { 0 };
	struct recovered *one = arg;
	struct recovery *r = one->recovery;

	if (err->code)
		log_error("%s: no bundle: %s", one->life.name, err_text(err));
	report_to_text(&one->report, &text);
	failure_of_report(&one->report, false, &f);
	r->reported(&f, strbuf_str(&text), r->arg);
	life_reported(&one->observer);
	recovered_forget(one);
}

/* Begins to write the report of a container that has ended without one. Takes h. */
static void write_report(struct recovery *r, struct history *h)
{
	const struct life l = *history_life(h);
	struct gap gap = {
		.from_unix_ns = l.lost_until_unix_ns ? l.lost_from_unix_ns :
						       last_sign(h) + l.unix_offset_ns,
		.until_unix_ns = l.lost_until_unix_ns ? l.lost_until_unix_ns :
							r->began_ns + r->here.unix_offset_ns,
		.to_limit_ns = time_to_limit(h),
		.rebooted = strcmp(l.boot_id, r->here.boot_id) != 0,
	};
	struct recovered *one = calloc(1, sizeof(*one));
	struct ending e;

	if (!one) {
		/* The next sidecar finds the history. */
		log_error("%s: no memory for its report", l.name);
		history_free(h);
		return;
	}
	one->life = l;
	one->recovery = r;
	life_ending(&l, &e);
	if (!e.ended_ns)
		e.ended_ns = last_sign(h);
	if (!l.ended_ns || l.lost_until_unix_ns)
		e.gap = &gap;
	life_revive(&one->observer, h, r->options);
	if (gap.rebooted)
		one->observer.unix_shift_ns = l.unix_offset_ns - r->here.unix_offset_ns;
	postmortem_report(&(struct postmortem){ .observer = &one->observer,
						.ending = &e,
						.options = r->options,
						.container = one->life.name,
						.report = &one->report });
	recovery_emit(r, &one->report);
	if (one->report.verdict.class == FAILURE_COMPLETED && !r->options->record_success) {
		recovered_forget(one);
		return;
	}
	life_ended(&one->observer, &e);
	one->kept =
		(struct kept){ &one->report, &one->observer, on_named, on_kept, one, false, NULL };
	keeper_keep(r->keeper, &one->kept);
}

/*
 * Reports a bundle that is complete but may not have been reported. Returns false if there is no
 * such bundle, or its disk does not answer.
 */
static bool tell_of_bundle(struct recovery *r, const struct life *l)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(REPORT_TEXT_MAX),
				       json_text = STRBUF_INIT(REPORT_JSON_MAX);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_failure_ struct failure f = { 0 };
	enum kept_report found =
		kept_report_read(&r->reading, l->bundle, READ_WITHIN_NS, &text, &json_text);

	/* Two reports about one death are better than none. */
	if (found == KEPT_REPORT_UNKNOWN)
		log_warning(
			"%s: the disk of bundle %s does not answer, so the report is made again",
			l->name, l->bundle);
	if (found != KEPT_REPORT_READ)
		return false;
	if (text.len && json_parse(strbuf_str(&json_text), json_text.len, &json, NULL) == 0 &&
	    failure_of_json(json, &f)) {
		if (!l->ended_ns)
			failure_summarize(&f, json);
		r->reported(&f, strbuf_str(&text), r->arg);
	}
	return true;
}

/*
 * Ends the wait for the launcher of h, and finishes the report unless that has been published.
 * Takes h.
 */
static void recovery_finish(struct recovery *r, struct history *h, bool reported)
{
	const struct life l = *history_life(h);

	if (!reported) {
		write_report(r, h);
		return;
	}
	history_free(h);
	recovery_forget(r, &l);
}

/*
 * Finishes the report of a process. The process had died, the container lived on, and the sidecar
 * ended before the report was written.
 */
static void settle_process_report(struct recovery *r, struct history *h)
{
	struct life l = *history_life(h);

	if (l.phase != LIFE_REPORTING || l.ended_ns)
		return;
	if (tell_of_bundle(r, &l)) {
		l.baseline = l.after;
		l.oom_seen_ns = l.oom_last_ns = 0;
		l.victim[0] = '\0';
	}
	l.phase = LIFE_RUNS;
	l.bundle[0] = '\0';
	history_set_life(h, &l);
}

/* --- Finding the histories --- */

static bool in_order(const struct history *h, const char *file)
{
	char expected[HISTORY_FILE_MAX];

	history_file_of(history_life(h), expected);
	return launch_name_valid(history_life(h)->name) && strcmp(expected, file) == 0;
}

static void take_over(struct recovery *r, const char *file)
{
	struct err err = { 0 };
	struct history *h = NULL;

	if (r->n_waiting < HISTORIES_MAX)
		h = history_open(r->state.fd, file, &err);
	else
		err_set(&err, E2BIG, "%s is left out, because there are %d others", file,
			HISTORIES_MAX);
	if (h && !in_order(h, file))
		err_set(&err, EPROTO, "the history %s is not of the container in its name", file);
	if (!h || err.code) {
		log_warning("cannot read the history of a previous sidecar: %s", err_text(&err));
		history_free(h);
		unlinkat(r->state.fd, file, 0);
		return;
	}
	const struct life *l = history_life(h);
	settle_process_report(r, h);
	if (l->phase == LIFE_RUNS && strcmp(l->boot_id, r->here.boot_id) == 0)
		r->waiting[r->n_waiting++] = h;
	else
		recovery_finish(
			r, h,
			(l->ended_ns && l->phase >= LIFE_REPORTING && tell_of_bundle(r, l)) ||
				l->phase == LIFE_REPORTED);
}

static void scan(struct recovery *r)
{
	_cleanup_dir_ DIR *dir =
		dir_of_fd(openat(r->state.fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));

	for (const struct dirent *entry; (entry = dir_next(dir));)
		if (is_history_file(entry->d_name))
			take_over(r, entry->d_name);
}

/* Removes what a writer that died left half-written. No other process is writing there. */
static void remove_partial_in(const char *directory, const char *below)
{
	_cleanup_close_ int fd =
		directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;

	if (fd >= 0)
		inventory_remove_stale(fd, below, 0, INVENTORY_STALE_NS);
}

static void remove_partial_bundles(int, void *arg)
{
	const struct record_options *options = arg;
	struct identity id = options->id;
	char path[BUNDLE_PATH_MAX];

	id.container = "x";
	postmortem_parent_path(&id, path, sizeof(path));
	*strrchr(path, '/') = '\0';
	/* Outside of a pod, others may be writing to the spool. */
	if (!id.namespace)
		return;
	remove_partial_in(options->spool, path);
	remove_partial_in(options->spool_fallback, path);
}

struct recovery *recovery_new(const struct record_options *options, recovery_reported_fn reported,
			      void *arg)
{
	struct recovery *r = calloc(1, sizeof(*r));
	struct err err = { 0 };

	if (!r)
		return NULL;
	*r = (struct recovery){ .options = options,
				.reported = reported,
				.arg = arg,
				.state = STATE_DIR_NONE,
				.cleaning = ERRAND_NONE,
				.reading = ERRAND_NONE,
				.began_ns = now_boottime_ns() };
	life_begin(&r->here, "", r->began_ns, 0);
	if (!options->spool)
		return r;
	if (state_dir_open(&r->state, options, &err) < 0)
		log_warning("samples and reports will not survive a restart of this sidecar: %s",
			    err_text(&err));
	parking_init(&r->parking, r->state.fd,
		     r->state.copy ? STATE_MEMORY_BYTES : options->spool_limits.quota.bytes);
	return r;
}

void recovery_set_keeper(struct recovery *r, struct keeper *keeper)
{
	r->keeper = keeper;
}

void recovery_start(struct recovery *r)
{
	if (r->state.fd < 0)
		return;
	if (errand_start(&r->cleaning, remove_partial_bundles, (void *)r->options, NULL) >= 0)
		errand_wait_outside_loop(&r->cleaning, CLEAN_WITHIN_NS, errand_ignore, NULL);
	scan(r);
	if (r->n_waiting)
		log_info(
			"waiting for the launchers of %zu containers that a previous sidecar watched",
			r->n_waiting);
}

void recovery_free(struct recovery *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n_waiting; i++)
		history_free(r->waiting[i]);
	errand_cancel(&r->cleaning);
	errand_cancel(&r->reading);
	state_dir_close(&r->state);
	free(r);
}

void recovery_copy_state(struct recovery *r)
{
	state_dir_copy(&r->state);
}

int recovery_dirfd(const struct recovery *r)
{
	return r->state.fd;
}

size_t recovery_waiting(const struct recovery *r)
{
	return r->n_waiting;
}

void recovery_give_up(struct recovery *r)
{
	while (r->n_waiting)
		recovery_finish(r, r->waiting[--r->n_waiting], false);
}

void recovery_finish_older(struct recovery *r, const char *name, int64_t started_ns)
{
	size_t kept = 0;

	for (size_t i = 0; i < r->n_waiting; i++) {
		struct history *h = r->waiting[i];
		const struct life *other = history_life(h);

		if (strcmp(other->name, name) == 0 && other->started_ns < started_ns)
			recovery_finish(r, h, false);
		else
			r->waiting[kept++] = h;
	}
	r->n_waiting = kept;
}

/* Removes the life's own history from the list of those that wait. */
static struct history *take_waiting(struct recovery *r, const struct life *life)
{
	for (size_t i = 0; i < r->n_waiting; i++) {
		struct history *h = r->waiting[i];

		if (!life_same(history_life(h), life))
			continue;
		r->waiting[i] = r->waiting[--r->n_waiting];
		return h;
	}
	return NULL;
}

struct history *recovery_history(struct recovery *r, const struct life *life)
{
	struct history *h = take_waiting(r, life);
	char file[HISTORY_FILE_MAX];
	struct err err = { 0 };

	recovery_finish_older(r, life->name, life->started_ns);
	if (h || r->state.fd < 0)
		return h;
	history_file_of(life, file);
	parking_take(&r->parking, file);
	/* The launcher lost its connection, but we have not been restarted. */
	h = history_open(r->state.fd, file, NULL);
	if (h && life_same(history_life(h), life) && history_life(h)->phase == LIFE_RUNS)
		return h;
	history_free(h);
	unlinkat(r->state.fd, file, 0);
	if (parking_make_room(&r->parking))
		h = history_create(r->state.fd, file, life, &err);
	else {
		h = NULL;
		err_set(&err, E2BIG, "the spool has %zu histories already", r->parking.max);
	}
	if (!h)
		log_warning_limited("%s: its samples will not survive this sidecar: %s", life->name,
				    err_text(&err));
	return h;
}
