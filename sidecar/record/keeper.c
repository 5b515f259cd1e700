/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps what is reported: into the spool first, and from there to the store. */
#include "sidecar/record/keeper.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/json.h"
#include "lib/log.h"
#include "lib/units.h"
#include "sidecar/record/events.h"
#include "sidecar/store/bundle.h"

#define SHIP_PROGRAM_NAME "afterglow-ship"

struct keeper {
	const struct recorder_options *options;
	struct journal *journal;
	struct spool *spool; /* NULL: nothing is written anywhere */
	struct shipper *shipper; /* NULL: what is written stays there */
	struct event *settle;
	char ship_program[PATH_MAX], self[PATH_MAX];
	char below[BUNDLE_PATH_MAX]; /* of this cluster, in the store */
	void (*idle)(void *arg);
	void *idle_arg;
};

/* What the report calls the bundle that is at path below the spool. */
static void name_of(const struct keeper *k, const char *path, char name[static BUNDLE_PATH_MAX])
{
	snprintf(name, BUNDLE_PATH_MAX, "%s/%s", recorder_store_name(k->options), path);
}

static void emit(const struct keeper *k, const char *event, cJSON *fields)
{
	if (k->options->events)
		event_emit(k->options->report_fd, event, NULL, fields);
	else
		cJSON_Delete(fields);
}

static void on_shipped(const char *path, void *arg)
{
	struct keeper *k = arg;
	cJSON *fields = cJSON_CreateObject();
	char name[BUNDLE_PATH_MAX];

	name_of(k, path, name);
	if (k->journal)
		journal_set_place(k->journal, name, PLACE_STORE);
	json_set_str(fields, "bundle", name);
	emit(k, "shipped", fields);
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
	emit(k, "not-shipped", fields);
	on_idle(k);
}

static void on_settle(evutil_socket_t fd, short what, void *arg)
{
	struct keeper *k = arg;

	(void)fd;
	(void)what;
	spool_settle(k->spool, on_dropped, k);
	shipper_kick(k->shipper);
}

/* "NAMESPACE/CLUSTER" */
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
	const char *slash;

	if (n < 0)
		return err_set(err, errno, "readlink /proc/self/exe");
	k->self[n] = '\0';
	slash = strrchr(k->self, '/');
	if (k->options->ship_program)
		snprintf(k->ship_program, sizeof(k->ship_program), "%s", k->options->ship_program);
	else if ((size_t)snprintf(k->ship_program, sizeof(k->ship_program), "%.*s/" SHIP_PROGRAM_NAME,
				  slash ? (int)(slash - k->self) : 0, k->self) >= sizeof(k->ship_program))
		return err_set(err, ENAMETOOLONG, "%s", k->self);
	return 0;
}

static int make_shipper(struct event_base *base, struct keeper *k, struct err *err)
{
	struct shipper_options o = {
		.program = k->ship_program,
		.spool = recorder_bundles(k->options),
		.store = k->options->store,
		.retention = k->options->retention,
		.retain_below = k->options->id.namespace ? k->below : NULL,
		.pruner = k->self,
	};
	const struct shipper_callbacks callbacks = { .shipped = on_shipped, .failed = on_failed, .idle = on_idle, .arg = k };

	if (find_programs(k, err) < 0)
		return -err->code;
	find_below(k);
	k->shipper = shipper_new(base, &o, &callbacks);
	return k->shipper ? 0 : err_set(err, ENOMEM, "shipper");
}

int keeper_new(struct event_base *base, const struct recorder_options *options, int state_fd, struct journal *journal,
	       struct keeper **ret_keeper, struct err *err)
{
	struct keeper *k = calloc(1, sizeof(*k));
	const char *bundles = recorder_bundles(options);
	int rc = 0;

	if (!k)
		return err_set(err, ENOMEM, "keeper");
	k->options = options;
	k->journal = journal;
	k->settle = evtimer_new(base, on_settle, k);
	if (bundles)
		k->spool = spool_new(bundles, &options->spool_limits, state_fd);
	if (!k->settle || (bundles && !k->spool))
		rc = err_set(err, ENOMEM, "keeper");
	if (rc >= 0 && recorder_ships(options))
		rc = make_shipper(base, k, err);
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
	shipper_free(k->shipper);
	spool_free(k->spool);
	if (k->settle)
		event_free(k->settle);
	free(k);
}

int keeper_keep(struct keeper *k, struct report *r, const struct observer *o, struct err *err)
{
	int rc = postmortem_keep(r, o, k->options, k->spool, err);

	if (rc >= 0 && r->directory[0])
		keeper_changed(k);
	return rc;
}

void keeper_changed(struct keeper *k)
{
	const struct timeval now = { 0 };

	if (k->spool)
		event_add(k->settle, &now);
}

int64_t keeper_room(const struct keeper *k)
{
	return k->spool ? spool_room(k->spool) : 0;
}

void keeper_stop(struct keeper *k, int64_t deadline_ns)
{
	shipper_stop(k->shipper, deadline_ns);
}

bool keeper_busy(const struct keeper *k)
{
	return shipper_busy(k->shipper) || (k->shipper && event_pending(k->settle, EV_TIMEOUT, NULL));
}

void keeper_on_idle(struct keeper *k, void (*fn)(void *arg), void *arg)
{
	k->idle = fn;
	k->idle_arg = arg;
}

const struct spool_stats *keeper_spool_stats(const struct keeper *k)
{
	return k->spool ? spool_stats(k->spool) : NULL;
}

const struct shipper_stats *keeper_ship_stats(const struct keeper *k)
{
	return k->shipper ? shipper_stats(k->shipper) : NULL;
}
