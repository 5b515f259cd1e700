/* SPDX-License-Identifier: Apache-2.0 */
/* The sidecar: listens for launchers, keeps a container object for each. */
#include "sidecar/record/sidecar.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/loop/errand.h"
#include "lib/loop/timer.h"
#include "lib/memory_needs.h"
#include "lib/outlet.h"
#include "lib/units.h"
#include "sidecar/crash/addition.h"
#include "sidecar/crash/core_stream.h"
#include "sidecar/ending/memory_needs.h"
#include "sidecar/keeping/events.h"
#include "sidecar/keeping/recovery.h"
#include "sidecar/keeping/state_dir.h"
#include "sidecar/node/nodes.h"
#include "sidecar/record/container.h"
#include "sidecar/record/heartbeat.h"
#include "sidecar/record/node_words.h"
#include "sidecar/record/stacks.h"
#include "sidecar/socket/discard.h"
#include "sidecar/socket/listener.h"

#define CONTAINERS_MAX 32 /* connections at a time; more are refused */
/*
 * Containers that run at a time. A pod has a few, but a process in one of them can say hello under
 * many names, and each costs a table of processes and a child that follows its logs.
 */
#define WATCHED_MAX 8
#define DIGEST_MAX (128 * 1024)
#define FINISH_LOOK_MS 10 /* between two looks whether all reports are written */

struct sidecar {
	struct event_base *base;
	const struct record_options *options;
	struct listener *listener;
	struct nodes *nodes; /* NULL: there is no connection to the node agent */
	struct node_words *words; /* what the node agent said */
	/* Until this time the node agent watches signals; 0: there is no node agent. */
	int64_t node_watches_until_ns;
	struct container *containers[CONTAINERS_MAX];
	uint64_t numbers[CONTAINERS_MAX]; /* numbered in the order in which they came */
	uint64_t n_connections;
	struct recovery *recovery;
	struct keeper *keeper;
	struct event *reconnect_over, *tick;
	struct stacks *stacks; /* NULL: nobody can ask */
	unsigned int ticks; /* seconds, counted by the loop */
	struct journal journal;
	struct taken *taken; /* cores */
	struct core_stats core_stats;
	char last_bundle[512];
	bool pod_terminating;
	bool greeted; /* a launcher has sent hello */
	bool ended, succeeded; /* a container has ended; the last one with exit code 0 */
	cJSON *needs; /* the sum of what the containers that have ended needed */
	uint64_t n_digested; /* failures that the last digest covered */
	void (*idle)(void *arg);
	void *idle_arg;
};

static void remove_container(struct sidecar *r, struct container *c)
{
	const struct observer *o = container_observer(c);

	if (o && o->history && container_is_over(c)) {
		recovery_forget(r->recovery, history_life(o->history));
		r->ticks = STATE_COPY_S - 1;
	} else if (o && o->history) {
		recovery_park(r->recovery, history_life(o->history));
	}
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] == c)
			r->containers[i] = NULL;
	stacks_forget(r->stacks, c);
	container_free(c);
}

/* Returns whether nothing of it is left to be reported. */
static bool may_be_removed(struct container *c)
{
	container_workers_due(c, INT64_MAX);
	return !container_publishes(c);
}

static bool is_same_start(const struct container *c, const struct launch_message *hello)
{
	return strcmp(container_name(c), hello->name) == 0 &&
	       container_started_ns(c) == hello->started_ns;
}

/*
 * How many run besides the one that says hello; *ret_oldest_silent: the first of them whose
 * launcher has left, or CONTAINERS_MAX.
 */
static size_t count_watched(const struct sidecar *r, const struct container *but,
			    const struct launch_message *hello, size_t *ret_oldest_silent)
{
	size_t n = 0, oldest = CONTAINERS_MAX;

	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		const struct container *c = r->containers[i];

		/* A launcher that comes back on a new connection takes the place of its old one. */
		if (!c || c == but || !container_observer(c) || container_is_over(c) ||
		    is_same_start(c, hello))
			continue;
		n++;
		if (container_is_silent(c) &&
		    (oldest == CONTAINERS_MAX || r->numbers[i] < r->numbers[oldest]))
			oldest = i;
	}
	*ret_oldest_silent = oldest;
	return n;
}

/*
 * Whether a launcher of that container is connected. Any process of the container can say hello
 * like its launcher, but the launcher does so before it starts the command, and has one connection
 * at a time.
 */
static bool has_launcher(const struct sidecar *r, const char *name)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] && strcmp(container_name(r->containers[i]), name) == 0 &&
		    container_is_connected(r->containers[i]))
			return true;
	return false;
}

/*
 * Whether the hello has to wait for a report of a container of that name, or for the termination
 * message of its own old connection: what is said of the previous instance comes first, and a
 * connection that has lost its launcher makes room for the new one.
 */
static bool waits_for_report(struct sidecar *r, const struct container *but,
			     const struct launch_message *hello)
{
	recovery_finish_older(r->recovery, hello->name, hello->started_ns);
	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		struct container *c = r->containers[i];

		if (c && c != but && strcmp(container_name(c), hello->name) == 0 &&
		    (container_is_judging(c) || (is_same_start(c, hello) && !may_be_removed(c))))
			return true;
	}
	return keeper_is_keeping_of(r->keeper, hello->name);
}

static enum container_admission on_hello(struct container *c, const struct launch_message *hello,
					 void *arg)
{
	struct sidecar *r = arg;
	size_t oldest;

	if (waits_for_report(r, c, hello))
		return CONTAINER_PUT_OFF;
	if (has_launcher(r, hello->name)) {
		log_warning_limited(
			"%s: a second launcher of that name is not listened to, as the first is connected",
			hello->name);
		return CONTAINER_REFUSED;
	}
	while (count_watched(r, c, hello, &oldest) >= WATCHED_MAX) {
		if (oldest == CONTAINERS_MAX) {
			log_warning_limited(
				"%s: not watched, because %d containers are watched already",
				hello->name, WATCHED_MAX);
			return CONTAINER_REFUSED;
		}
		if (!may_be_removed(r->containers[oldest]))
			return CONTAINER_PUT_OFF;
		remove_container(r, r->containers[oldest]);
	}
	return CONTAINER_ADMITTED;
}

static struct history *on_history(struct container *c, const struct life *life, void *arg)
{
	struct sidecar *r = arg;

	/* A launcher that lost its connection connects again. */
	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		struct container *old = r->containers[i];

		if (old && old != c && strcmp(container_name(old), life->name) == 0 &&
		    container_started_ns(old) == life->started_ns)
			remove_container(r, old);
	}
	return recovery_history(r->recovery, life);
}

static void on_attached(struct container *c, void *arg)
{
	struct sidecar *r = arg;
	const char *last =
		container_resumed(c) ? NULL : journal_last_report(&r->journal, container_name(c));

	r->greeted = true;
	if (r->pod_terminating)
		container_pod_terminating(c);
	container_node_watches(c, r->node_watches_until_ns);
	node_words_meet(r->words, container_observer(c)->kernel.cgroup);
	if (last) {
		container_say(c,
			      "[afterglow] how the previous instance of this container ended:\n");
		container_say(c, last);
	}
}

static void on_recovered(const struct failure *f, const char *text, void *arg)
{
	struct sidecar *r = arg;

	/*
	 * The copy to the spool is due at once, so that a report is not repeated after the node's
	 * next start.
	 */
	r->ticks = STATE_COPY_S - 1;
	outlet_write(r->options->report_fd, text, strlen(text));
	snprintf(r->last_bundle, sizeof(r->last_bundle), "%s", f->bundle);
	journal_add(&r->journal, f, text);
}

static void on_reported(struct container *, const struct failure *f, const char *text, void *arg)
{
	on_recovered(f, text, arg);
}

static void needs_add(cJSON *sum, const struct container *c)
{
	const struct observer *o = container_observer(c);
	_cleanup_json_ cJSON *needs = o ? memory_needs_json(o) : NULL;

	memory_needs_add(sum, needs, MEMORY_NEEDS_KEPT);
}

static void on_done(struct container *c, void *arg)
{
	struct sidecar *r = arg;

	if (container_is_over(c)) {
		r->ended = true;
		r->succeeded = container_succeeded(c);
		needs_add(r->needs, c);
	}
	remove_container(r, c);
	if (r->idle)
		r->idle(r->idle_arg);
}

static void on_dumped(struct container *c, const struct launch_message *m, const int *fds,
		      size_t n_fds, void *arg)
{
	struct sidecar *r = arg;

	stacks_dumped(r->stacks, c, m, fds, n_fds);
}

static bool on_hangs(struct container *c, bool drivers, void *arg)
{
	struct sidecar *r = arg;

	return stacks_take(r->stacks, c, drivers);
}

/*
 * Returns the place for a new connection. If all are taken, it is that of the oldest connection
 * without a hello, because a launcher sends hello at once. CONTAINERS_MAX: all have sent it.
 */
static size_t make_room(struct sidecar *r)
{
	size_t oldest = CONTAINERS_MAX;

	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		if (!r->containers[i])
			return i;
		if (container_is_silent(r->containers[i]) &&
		    !container_publishes(r->containers[i]) &&
		    (oldest == CONTAINERS_MAX || r->numbers[i] < r->numbers[oldest]))
			oldest = i;
	}
	if (oldest < CONTAINERS_MAX && may_be_removed(r->containers[oldest])) {
		log_warning_limited("more than %d connections at a time: dropped a silent one",
				    CONTAINERS_MAX);
		remove_container(r, r->containers[oldest]);
		return oldest;
	}
	return CONTAINERS_MAX;
}

static void on_connection(int connection, void *arg)
{
	struct sidecar *r = arg;
	const struct container_callbacks callbacks = {
		.taken = r->taken,
		.core_stats = &r->core_stats,
		.node_log = &r->words->log,
		.node_syslog = &r->words->syslog,
		.admits = on_hello,
		.history = on_history,
		.attached = on_attached,
		.reported = on_reported,
		.dumped = on_dumped,
		.hangs = on_hangs,
		.done = on_done,
		.arg = r,
	};
	struct err err = { 0 };
	size_t slot = make_room(r);

	if (slot == CONTAINERS_MAX) {
		log_warning_limited("more than %d launchers at a time: refused one",
				    CONTAINERS_MAX);
		discard_connection(connection);
		return;
	}
	r->numbers[slot] = ++r->n_connections;
	r->containers[slot] =
		container_new(r->base, connection, r->options, r->keeper, &callbacks, &err);
	if (!r->containers[slot])
		log_error("a launcher's connection: %s", err_text(&err));
}

/* Returns the container, or NULL if its launcher is not connected. */
static struct container *container_of_id(const struct sidecar *r, const char *container_id)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] && container_observer(r->containers[i]) &&
		    container_has_id(r->containers[i], container_id))
			return r->containers[i];
	return NULL;
}

static int on_node_offer(const struct node_message *offer, void *arg, struct err *err)
{
	const struct container *c = container_of_id(arg, offer->container_id);

	return c ? container_offer_core(c, err) :
		   err_set(err, ESRCH, "no launcher of that container is connected");
}

static int on_node_open(uint64_t *ret_room, void *arg, struct err *err)
{
	const struct sidecar *r = arg;

	return core_stream_open(r->options->spool, ret_room, err);
}

static void on_node_core(const struct node_message *offer, int fd, int file, uint64_t room,
			 void *arg)
{
	struct container *c = container_of_id(arg, offer->container_id);

	/*
	 * The child that reads the dump has its own copies. If there is no child, closing this one
	 * ends the dump.
	 */
	if (c)
		container_node_core(c, offer, fd, file, room);
	discard((int[]){ fd, c ? -1 : file }, 2);
}

static void on_node_other(const char *text, size_t len, void *arg)
{
	struct sidecar *r = arg;
	char id[NODE_SIGNALS_ID_LEN + 1];
	struct container *c;
	struct node_signal s;
	int64_t watches_ns;

	node_words_take(r->words, text, len);
	if (node_signal_parse(text, len, id, &s)) {
		c = container_of_id(r, id);
		if (c)
			container_node_signal(c, &s);
		else
			node_words_note(r->words, id, &s);
	}
	if (!node_watching_parse(text, len, &watches_ns))
		return;
	if (r->node_watches_until_ns < now_boottime_ns())
		log_info("the node agent sees who sends signals");
	r->node_watches_until_ns = now_boottime_ns() + watches_ns;
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i])
			container_node_watches(r->containers[i], r->node_watches_until_ns);
}

static void on_node_over(void *arg)
{
	struct sidecar *r = arg;

	node_words_settle(r->words);
}

/* If this fails, the sidecar works as it does on a node without an agent. */
static void listen_to_node(struct sidecar *r)
{
	const struct nodes_callbacks callbacks = { .offer = on_node_offer,
						   .open = on_node_open,
						   .core = on_node_core,
						   .other = on_node_other,
						   .other_over = on_node_over,
						   .arg = r };
	struct err err = { 0 };

	if (!r->options->node_socket)
		return;
	if (nodes_new(r->base, r->options->node_socket, &callbacks, &r->nodes, &err) < 0)
		log_warning("%s", err_text(&err));
	else
		node_words_await(r->words);
}

struct each_process {
	struct container *container;
	pid_t launcher;
	stacks_fn *fn;
	void *arg;
};

static void pass_process(const struct process *p, void *arg)
{
	const struct each_process *each = arg;

	if (p->pid != each->launcher && strncmp(p->name, "afterglow-", 10) != 0)
		each->fn(each->container, p, each->arg);
}

static void each_process(stacks_fn *fn, void *fn_arg, void *arg)
{
	struct sidecar *r = arg;

	for (size_t i = 0; i < CONTAINERS_MAX; i++) {
		const struct observer *o =
			r->containers[i] ? container_observer(r->containers[i]) : NULL;
		struct each_process each = { r->containers[i], o ? o->launcher : 0, fn, fn_arg };

		if (o && o->table)
			process_table_each(o->table, pass_process, &each);
	}
}

/* If this fails, nobody can ask for stacks. */
static void listen_for_questions(struct sidecar *r)
{
	struct err err = { 0 };
	const struct stacks_callbacks callbacks = {
		.each = each_process,
		.taken = container_take_stacks,
		.shares_memory = r->options->own_launcher,
		.arg = r,
	};

	if (stacks_new(r->base, &callbacks, &r->stacks, &err) < 0)
		log_warning("%s", err_text(&err));
}

static void on_reconnect_over(evutil_socket_t, short, void *arg)
{
	struct sidecar *r = arg;

	recovery_give_up(r->recovery);
	keeper_changed(r->keeper);
}

static void greet_again(struct sidecar *r)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i])
			container_greet_again(r->containers[i]);
}

static void on_kept(void *arg)
{
	struct sidecar *r = arg;

	greet_again(r);
	if (r->idle)
		r->idle(r->idle_arg);
}

static void on_tick(evutil_socket_t, short, void *arg)
{
	struct sidecar *r = arg;

	heartbeat_beat(now_boottime_ns());
	outlet_flush();
	greet_again(r); /* the termination message that a hello waited for may be written */
	if (++r->ticks % STATE_COPY_S == 0)
		recovery_copy_state(r->recovery);
}

static void on_taken_back(void *arg)
{
	struct sidecar *r = arg;

	keeper_changed(r->keeper);
}

static int start_recovery(struct sidecar *r, struct err *err)
{
	const struct timeval within = { .tv_sec = r->options->reconnect_s },
			     second = { .tv_sec = 1 };
	int rc;

	r->recovery = recovery_new(r->options, on_recovered, r);
	if (!r->recovery)
		return err_set(err, ENOMEM, "sidecar");
	journal_open(&r->journal, recovery_dirfd(r->recovery));
	r->taken = taken_new(recovery_dirfd(r->recovery));
	if (!r->taken)
		return err_set(err, ENOMEM, "sidecar");
	rc = keeper_new(r->base, r->options, recovery_dirfd(r->recovery), &r->journal, &r->keeper,
			err);
	if (rc < 0)
		return rc;
	keeper_on_idle(r->keeper, on_kept, r);
	addition_on_taken_back(on_taken_back, r);
	recovery_set_keeper(r->recovery, r->keeper);
	recovery_start(r->recovery);
	r->tick = event_new(r->base, -1, EV_PERSIST, on_tick, r);
	if (!r->tick || event_add(r->tick, &second) < 0)
		return err_set(err, ENOMEM, "sidecar events");
	/*
	 * Shipping begins only when every bundle in the spool was reported, and when launchers had
	 * time to bring a core for one of them.
	 */
	if (!recovery_waiting(r->recovery)) {
		keeper_changed(r->keeper);
		return 0;
	}
	r->reconnect_over = evtimer_new(r->base, on_reconnect_over, r);
	if (!r->reconnect_over || event_add(r->reconnect_over, &within) < 0)
		return err_set(err, ENOMEM, "sidecar events");
	return 0;
}

int sidecar_new(struct event_base *base, const struct record_options *options,
		struct sidecar **ret_sidecar, struct err *err)
{
	struct sidecar *r = calloc(1, sizeof(*r));

	if (!r || !(r->words = calloc(1, sizeof(*r->words)))) {
		free(r);
		return err_set(err, ENOMEM, "sidecar");
	}
	r->base = base;
	r->options = options;
	r->needs = cJSON_CreateObject();
	r->journal.dirfd = -1;
	node_words_init(r->words, options->id.pod_uid);
	int rc = listener_new(base, options->socket_path, on_connection, r, &r->listener, err);
	if (rc >= 0)
		rc = start_recovery(r, err);
	if (rc >= 0)
		rc = listener_start(r->listener, err);
	if (rc >= 0) {
		errand_loop_runs(true);
		listen_to_node(r);
		listen_for_questions(r);
	}
	if (rc < 0) {
		sidecar_free(r);
		return rc;
	}
	*ret_sidecar = r;
	return 0;
}

void sidecar_free(struct sidecar *r)
{
	if (!r)
		return;
	sidecar_finish_reports(r);
	errand_loop_runs(false);
	nodes_free(r->nodes);
	stacks_free(TAKE_PTR(r->stacks));
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		container_free(r->containers[i]);
	node_words_release(r->words);
	free(r->words);
	addition_on_taken_back(NULL, NULL);
	addition_finish();
	journal_close(&r->journal);
	taken_free(r->taken);
	recovery_free(r->recovery);
	keeper_free(r->keeper);
	cJSON_Delete(r->needs);
	event_drop(r->reconnect_over);
	event_drop(r->tick);
	listener_free(r->listener);
	free(r);
}

void sidecar_on_idle(struct sidecar *r, void (*fn)(void *arg), void *arg)
{
	r->idle = fn;
	r->idle_arg = arg;
}

bool sidecar_keeps_core(const struct sidecar *r)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] && container_keeps_core(r->containers[i]))
			return true;
	return false;
}

enum sidecar_leave sidecar_leave(const struct sidecar *r)
{
	enum leave_after after = r->options->leave_after;

	if (!r->ended || after == LEAVE_AFTER_NONE || sidecar_active(r) > 0)
		return SIDECAR_STAYS;
	if (r->succeeded)
		return SIDECAR_LEAVES;
	return after == LEAVE_AFTER_ANY ? SIDECAR_LEAVES_WHEN_SHIPPED : SIDECAR_STAYS;
}

bool sidecar_was_greeted(const struct sidecar *r)
{
	return r->greeted;
}

unsigned int sidecar_active(const struct sidecar *r)
{
	unsigned int n = 0;

	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		n += r->containers[i] != NULL;
	return n;
}

/* Writes a summary of the failures at the end of the sidecar's log, for `kubectl logs -p`. */
static void say_digest(struct sidecar *r)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(DIGEST_MAX);
	uint64_t n = r->journal.forgotten + r->journal.n;

	if (n == r->n_digested)
		return;
	r->n_digested = n;
	cJSON *fields = cJSON_CreateObject();
	json_set_int(fields, "failures", (int64_t)n);
	event_emit(r->options, "digest", NULL, fields);
	journal_digest(&r->journal, &text);
	outlet_write(r->options->report_fd, strbuf_str(&text), text.len);
}

static bool sidecar_makes_report(const struct sidecar *r)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] && container_is_judging(r->containers[i]))
			return true;
	return keeper_is_keeping(r->keeper);
}

void sidecar_finish_reports(struct sidecar *r)
{
	const struct timeval look = { .tv_usec = FINISH_LOOK_MS * 1000 };

	/* With EVLOOP_ONCE it would not return while clients always have one more request. */
	while (r->keeper && sidecar_makes_report(r) && event_base_loopexit(r->base, &look) == 0 &&
	       event_base_loop(r->base, 0) == 0)
		;
}

void sidecar_conclude(struct sidecar *r)
{
	recovery_give_up(r->recovery);
	sidecar_finish_reports(r);
	say_digest(r);
}

void sidecar_needs_message(struct sidecar *r, struct strbuf *out)
{
	_cleanup_json_ cJSON *sum = cJSON_Duplicate(r->needs, true);

	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i])
			needs_add(sum, r->containers[i]);
	if (json_get(sum, "tasks"))
		memory_needs_message(sum, out);
}

void sidecar_ship_until(struct sidecar *r, int64_t deadline_ns)
{
	keeper_stop(r->keeper, deadline_ns);
}

bool sidecar_is_shipping(const struct sidecar *r)
{
	return keeper_busy(r->keeper);
}

struct keeper *sidecar_keeper(const struct sidecar *r)
{
	return r->keeper;
}

const struct journal *sidecar_journal(const struct sidecar *r)
{
	return &r->journal;
}

cJSON *sidecar_unmet_ends(const struct sidecar *r)
{
	return node_words_to_json(r->words);
}

const struct core_stats *sidecar_core_stats(const struct sidecar *r)
{
	return &r->core_stats;
}

const struct record_options *sidecar_record_options(const struct sidecar *r)
{
	return r->options;
}

void sidecar_each(const struct sidecar *r,
		  void (*fn)(const char *name, const struct observer *o, void *arg), void *arg)
{
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i] && container_observer(r->containers[i]))
			fn(container_name(r->containers[i]), container_observer(r->containers[i]),
			   arg);
}

void sidecar_pod_terminating(struct sidecar *r)
{
	say_digest(r);
	r->pod_terminating = true;
	for (size_t i = 0; i < CONTAINERS_MAX; i++)
		if (r->containers[i])
			container_pod_terminating(r->containers[i]);
}

const char *sidecar_last_bundle(const struct sidecar *r)
{
	return r->last_bundle;
}
