/* SPDX-License-Identifier: Apache-2.0 */
/* Writes bundles to the spool, and has them shipped from there to the store. */
#include "sidecar/keeping/keeper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/errand.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "sidecar/crash/addition.h"
#include "sidecar/keeping/events.h"
#include "sidecar/keeping/recent.h"
#include "sidecar/store/bundle.h"

/*
 * Between two looks at whether a lane is settled: a disk that answers takes milliseconds, another
 * one seconds.
 */
#define SETTLE_SOON_US 10000
#define SETTLE_AGAIN_US 200000
#define SETTLE_SOON_NS (50 * NS_PER_MS)
/* the sidecar waits so long, before it exits, for a bundle that it has reported */
#define FINISH_WITHIN_NS (10 * NS_PER_SEC)
#define ACCESS_SPACING_NS NS_PER_SEC /* between two looks at whether the spool can be written */
#define SHIP_PROGRAM_NAME "afterglow-ship"

/* The spool, and the directory that takes its place if it cannot be written. */
enum lane_id { SPOOL, FALLBACK, LANES };

struct lane {
	const char *path; /* NULL: there is no such directory, and nothing is written there */
	struct spool *spool;
	struct shipper *shipper; /* NULL: bundles stay where they are written */
	struct background child; /* writes and removes bundles */
	pid_t settling; /* the child that removes bundles, until its end was seen; 0: none */
	bool changed; /* since that child was started */
	/* the child that still writes a reported bundle, until the errand has another */
	pid_t finishing;
};

struct settling {
	struct keeper *k;
	struct lane *lane;
	int fd; /* in the child: its socket */
};

struct keeper {
	const struct record_options *options;
	struct journal *journal;
	struct lane lanes[LANES];
	/* why the last bundle could not be written to the spool; code 0: it could */
	struct err broken;
	struct recent access; /* the last look at whether it can be written */
	int access_errno; /* the result of that look; 0: the spool can be written */
	char access_text[ERR_TEXT_MAX];
	struct spool_stats spool_stats; /* of all lanes */
	struct shipper_stats ship_stats;
	struct event *settle;
	char ship_program[PATH_MAX], self[PATH_MAX];
	char below[BUNDLE_PATH_MAX]; /* path of this cluster in the store */
	void (*idle)(void *arg);
	void *idle_arg;
	struct kept *first; /* the bundles to be written; the first one is being written */
	bool writes; /* the first one is being written; false while its done() is called */
	struct keep_work work;
	enum lane_id at; /* where it is being written */
	/* The first one's report before the first try; NULL: there will be no second try. */
	struct report *before;
	bool shipped; /* the first one is in the store already */
	struct settling rest; /* the same lane */
};

/* Makes the name that reports use for the bundle at path below the spool. */
static void name_of(const struct keeper *k, const char *path, char name[static BUNDLE_PATH_MAX])
{
	snprintf(name, BUNDLE_PATH_MAX, "%s/%s", record_options_store_name(k->options), path);
}

static void on_shipped(const char *path, void *arg)
{
	struct keeper *k = arg;
	cJSON *fields = cJSON_CreateObject();
	char name[BUNDLE_PATH_MAX];

	name_of(k, path, name);
	/* The journal has it when it is done. */
	k->shipped |= k->first && strcmp(name, k->work.last.report.bundle) == 0;
	if (k->journal)
		journal_set_place(k->journal, name, PLACE_STORE);
	json_set_str(fields, "bundle", name);
	event_emit(k->options, "shipped", NULL, fields);
	keeper_changed(k);
}

static void on_dropped(const char *path, void *arg)
{
	struct keeper *k = arg;
	char name[BUNDLE_PATH_MAX];

	name_of(k, path, name);
	if (k->journal)
		journal_set_place(k->journal, name, PLACE_DROPPED);
}

static void on_idle(void *arg)
{
	struct keeper *k = arg;

	if (k->idle)
		k->idle(k->idle_arg);
}

static void on_failed(const struct ship_result *result, void *arg)
{
	struct keeper *k = arg;
	cJSON *fields = cJSON_CreateObject();

	json_set_str(fields, "kind", ship_kind_name(result->kind));
	json_set_str(fields, "error", result->error);
	json_set(fields, "retry", cJSON_CreateBool(result->retry));
	event_emit(k->options, "not-shipped", NULL, fields);
	on_idle(k);
}

static void send_dropped(const char *path, void *arg)
{
	struct settling *s = arg;

	errand_send(s->fd, path, strlen(path) + 1, -1);
}

static void settle(int fd, void *arg)
{
	struct settling *s = arg;

	s->fd = fd;
	spool_settle(s->lane->spool, send_dropped, s);
}

static bool is_at(const struct lane *l, pid_t child)
{
	return child && l->child.errand.pid == child;
}

static void on_dropped_message(const void *data, size_t len, int *, void *arg)
{
	struct settling *s = arg;

	if (is_at(s->lane, s->lane->settling) && memchr(data, '\0', len))
		on_dropped(data, s->k);
}

/* Goes on with it as far as its errand has come. Returns whether nothing is left to do. */
static bool settle_lane(struct keeper *k, struct lane *l)
{
	struct settling s = { .k = k, .lane = l };

	if (l->settling && is_at(l, l->settling)) {
		if (!errand_listen(&l->child.errand, on_dropped_message, &s))
			return false;
		shipper_kick(l->shipper);
	} else if (l->settling) {
		l->changed = true; /* a bundle that was being written has taken its end */
	}
	l->settling = 0;
	if (!l->changed)
		return true;
	/* If the errand still writes a bundle, the lane is settled later. */
	if (errand_start(&l->child.errand, settle, &s, NULL) >= 0) {
		l->settling = l->child.errand.pid;
		l->changed = false;
	}
	return false;
}

static void on_settle(evutil_socket_t, short, void *arg)
{
	struct timeval again = { 0 };
	struct keeper *k = arg;

	/* If the lane hangs, the shipper must not look into the same disk from the event loop. */
	for (struct lane *l = k->lanes; l < k->lanes + LANES && l->spool; l++)
		if (!settle_lane(k, l))
			again.tv_usec =
				MAX(again.tv_usec,
				    now_boottime_ns() - l->child.errand.since_ns < SETTLE_SOON_NS ?
					    SETTLE_SOON_US :
					    SETTLE_AGAIN_US);
	if (timerisset(&again))
		event_add(k->settle, &again);
}

static void keep_in(struct keeper *k, enum lane_id at)
{
	struct lane *l = &k->lanes[at];

	k->at = at;
	k->rest = (struct settling){ .k = k, .lane = l };
	k->work.child = &l->child;
	k->work.path = l->path;
	k->work.spool = l->spool;
	k->work.kept = k->first;
	keeping_begin(&k->work);
}

static void keep_first(struct keeper *k)
{
	struct report *r = k->first->report;

	k->writes = true;
	r->cores_prefix = k->options->store.cores_prefix;
	k->before = k->lanes[FALLBACK].spool ? malloc(sizeof(*k->before)) : NULL;
	if (k->before)
		*k->before = *r;
	k->shipped = false;
	keep_in(k, SPOOL);
}

void keeper_go_on(struct keeper *k)
{
	if (k->first && !k->first->waits && !k->writes)
		keep_first(k);
}

static void first_finish(struct keeper *k, int rc, struct err *err)
{
	const struct kept *kept = k->first;
	struct report *r = kept->report;
	char name[sizeof(r->bundle)];

	free(TAKE_PTR(k->before));
	if (rc >= 0)
		err->code = 0;
	if (rc == -ETIMEDOUT || rc == -EBUSY)
		verdict_add_missing(&r->verdict, "a bundle",
				    "a disk under the spool that answers: it did not");
	if (rc >= 0 && r->directory[0])
		keeper_changed(k);
	snprintf(name, sizeof(name), "%s", r->bundle);
	k->first = kept->next;
	k->writes = false;
	/* Whoever waits for it may begin the next one. */
	bool shipped = k->shipped;
	kept->done(err, kept->arg);
	if (shipped && k->journal)
		journal_set_place(k->journal, name, PLACE_STORE);
	keeper_go_on(k);
	on_idle(k);
}

/*
 * If the spool cannot take the bundle, the report as it was before the try is written to the memory
 * volume, or stays without a bundle.
 */
static void on_place_done(int rc, struct err *err, void *arg)
{
	struct keeper *k = arg;
	struct lane *l = &k->lanes[k->at];

	if (rc >= 0 && errand_busy(&l->child.errand))
		l->finishing = l->child.errand.pid;
	if (k->at == SPOOL)
		k->broken = rc < 0 && l->spool ? *err : (struct err){ 0 };
	if (!k->broken.code || k->at == FALLBACK || !k->before) {
		first_finish(k, rc, err);
		return;
	}
	log_warning(
		"%s: the spool cannot take the bundle (%s): it goes to the store through memory",
		k->first->report->id.container, err_text(err));
	*k->first->report = *k->before;
	keep_in(k, FALLBACK);
}

/* Makes "NAMESPACE/CLUSTER". */
static void find_below(struct keeper *k)
{
	struct identity id = k->options->id;
	char *slash;

	id.container = "x";
	postmortem_parent_path(&id, k->below, sizeof(k->below));
	for (int i = 0; i < 2 && (slash = strrchr(k->below, '/')); i++)
		*slash = '\0';
}

static int find_programs(struct keeper *k, struct err *err)
{
	ssize_t n = readlink("/proc/self/exe", k->self, sizeof(k->self) - 1);

	if (n < 0)
		return err_set(err, errno, "readlink /proc/self/exe");
	k->self[n] = '\0';
	const char *slash = strrchr(k->self, '/');
	if (k->options->ship_program)
		snprintf(k->ship_program, sizeof(k->ship_program), "%s", k->options->ship_program);
	else if ((size_t)snprintf(k->ship_program, sizeof(k->ship_program),
				  "%.*s/" SHIP_PROGRAM_NAME, slash ? (int)(slash - k->self) : 0,
				  k->self) >= sizeof(k->ship_program))
		return err_set(err, ENAMETOOLONG, "%s", k->self);
	return 0;
}

static int make_shipper(struct event_base *base, struct keeper *k, struct lane *lane,
			struct err *err)
{
	struct shipper_options o = {
		.program = k->ship_program,
		.spool = lane->path,
		.store = k->options->store,
		.retention = lane == &k->lanes[SPOOL] ? k->options->retention : (struct quota){ 0 },
		.retain_below = k->options->id.namespace ? k->below : NULL,
		.pruner = k->self,
	};
	const struct shipper_callbacks callbacks = { .shipped = on_shipped,
						     .failed = on_failed,
						     .idle = on_idle,
						     .held = addition_is_beginning,
						     .arg = k };

	if (find_programs(k, err) < 0)
		return -err->code;
	find_below(k);
	lane->shipper = shipper_new(base, &o, &callbacks);
	return lane->shipper ? 0 : err_set(err, ENOMEM, "shipper");
}

static int make_lane(struct event_base *base, struct keeper *k, struct lane *lane, int state_fd,
		     struct err *err)
{
	struct spool_limits limits = k->options->spool_limits;

	if (lane == &k->lanes[FALLBACK]) {
		limits.quota.bytes = SPOOL_FALLBACK_BYTES;
		limits.own_disk = true;
	}
	lane->spool = spool_new(lane->path, &limits, state_fd);
	if (!lane->spool)
		return err_set(err, ENOMEM, "keeper");
	return record_options_ships(k->options) ? make_shipper(base, k, lane, err) : 0;
}

int keeper_new(struct event_base *base, const struct record_options *options, int state_fd,
	       struct journal *journal, struct keeper **ret_keeper, struct err *err)
{
	struct keeper *k = calloc(1, sizeof(*k));

	if (!k)
		return err_set(err, ENOMEM, "keeper");
	k->work = (struct keep_work){ .options = options,
				      .on_rest = on_dropped_message,
				      .rest_arg = &k->rest,
				      .done = on_place_done,
				      .arg = k };
	int rc = keeping_init(&k->work, base, err);
	k->options = options;
	k->journal = journal;
	k->access = RECENT(ACCESS_SPACING_NS);
	k->settle = evtimer_new(base, on_settle, k);
	k->lanes[SPOOL].path = record_options_bundles(options);
	if (k->lanes[SPOOL].path && record_options_ships(options))
		k->lanes[FALLBACK].path = options->spool_fallback;
	if (!k->settle)
		rc = err_set(err, ENOMEM, "keeper");
	for (struct lane *l = k->lanes; rc >= 0 && l < k->lanes + LANES && l->path; l++)
		rc = make_lane(base, k, l, l == k->lanes ? state_fd : -1, err);
	if (rc < 0) {
		keeper_free(k);
		return rc;
	}
	*ret_keeper = k;
	return 0;
}

void keeper_free(struct keeper *k)
{
	if (!k)
		return;
	for (struct lane *l = k->lanes; l < k->lanes + LANES; l++) {
		int64_t within_ns = is_at(l, l->finishing) ? FINISH_WITHIN_NS : SETTLE_SOON_NS;
		struct settling s = { .k = k, .lane = l };

		if (is_at(l, l->finishing) || is_at(l, l->settling))
			errand_wait_outside_loop(&l->child.errand, within_ns, on_dropped_message,
						 &s);
		errand_cancel(&l->child.errand);
		shipper_free(l->shipper);
		spool_free(l->spool);
	}
	recent_release(&k->access);
	event_drop(k->settle);
	keeping_release(&k->work);
	free(k->before);
	free(k);
}

void keeper_keep(struct keeper *k, struct kept *kept)
{
	struct kept **end = &k->first;

	while (*end)
		end = &(*end)->next;
	kept->next = NULL;
	*end = kept;
	keeper_go_on(k);
}

bool keeper_is_keeping(const struct keeper *k)
{
	return k->first;
}

bool keeper_is_keeping_of(const struct keeper *k, const char *container)
{
	const struct kept *kept = k->first;

	while (kept && strcmp(kept->report->id.container, container) != 0)
		kept = kept->next;
	return kept;
}

void keeper_changed(struct keeper *k)
{
	const struct timeval now = { 0 };

	for (struct lane *l = k->lanes; l < k->lanes + LANES; l++)
		l->changed = true;
	if (k->lanes[SPOOL].spool)
		event_add(k->settle, &now);
}

int64_t keeper_room(const struct keeper *k)
{
	const struct lane *l =
		&k->lanes[k->broken.code && k->lanes[FALLBACK].spool ? FALLBACK : SPOOL];

	return l->spool ? spool_room(l->spool) : 0;
}

void keeper_stop(struct keeper *k, int64_t deadline_ns)
{
	for (struct lane *l = k->lanes; l < k->lanes + LANES; l++)
		shipper_stop(l->shipper, deadline_ns);
}

bool keeper_busy(const struct keeper *k)
{
	const struct lane *l = k->lanes;

	return k->first || shipper_busy(l[SPOOL].shipper) || shipper_busy(l[FALLBACK].shipper) ||
	       /*
	        * What an addition that is being taken back keeps in the spool is shipped
	        * afterwards.
	        */
	       (l[SPOOL].shipper &&
		(event_pending(k->settle, EV_TIMEOUT, NULL) || addition_is_undoing()));
}

void keeper_on_idle(struct keeper *k, void (*fn)(void *arg), void *arg)
{
	k->idle = fn;
	k->idle_arg = arg;
}

static void look_at_access(const void *arg, void *out)
{
	const char *path = arg;

	/* A directory that does not exist yet will be made. */
	*(int *)out = eaccess(path, W_OK | X_OK) == 0 || errno == ENOENT ? 0 : errno;
}

/*
 * Checks the spool without writing. A disk that fails although it should work shows only with the
 * next bundle.
 */
const char *keeper_spool_error(struct keeper *k)
{
	const char *path = k->lanes[SPOOL].path;
	int64_t now = now_boottime_ns();

	if (k->broken.code)
		return err_text(&k->broken);
	if (!path)
		return NULL;
	recent_look(&k->access, look_at_access, path, &k->access_errno, sizeof(k->access_errno),
		    now);
	if (recent_hangs(&k->access, now))
		snprintf(k->access_text, sizeof(k->access_text), "%s does not answer", path);
	else if (k->access_errno)
		snprintf(k->access_text, sizeof(k->access_text), "%s: %s", path,
			 strerror(k->access_errno));
	else
		return NULL;
	return k->access_text;
}

static void add_spool(struct spool_stats *sum, const struct spool_stats *s)
{
	sum->bytes += s->bytes;
	sum->bundles += s->bundles;
	sum->counted += s->counted;
	for (size_t i = 0; i < ARRAY_SIZE(sum->dropped); i++)
		sum->dropped[i] += s->dropped[i];
}

static void add_ship(struct shipper_stats *sum, const struct shipper_stats *s)
{
	sum->shipped += s->shipped;
	for (size_t i = 0; i < ARRAY_SIZE(sum->failed); i++)
		sum->failed[i] += s->failed[i];
	if (!s->failing)
		return;
	sum->failing = true;
	sum->last = s->last;
}

const struct spool_stats *keeper_spool_stats(struct keeper *k)
{
	k->spool_stats = (struct spool_stats){ 0 };
	for (const struct lane *l = k->lanes; l < k->lanes + LANES && l->spool; l++)
		add_spool(&k->spool_stats, spool_stats(l->spool));
	return k->lanes[SPOOL].spool ? &k->spool_stats : NULL;
}

const struct shipper_stats *keeper_ship_stats(struct keeper *k)
{
	k->ship_stats = (struct shipper_stats){ 0 };
	for (const struct lane *l = k->lanes; l < k->lanes + LANES && l->shipper; l++)
		add_ship(&k->ship_stats, shipper_stats(l->shipper));
	return k->lanes[SPOOL].shipper ? &k->ship_stats : NULL;
}
