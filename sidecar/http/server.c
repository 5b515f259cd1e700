/* SPDX-License-Identifier: Apache-2.0 */
/* Serves HTTP on the pod. */
#include "sidecar/http/server.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/digest/report_mac.h"
#include "lib/json.h"
#include "lib/loop/http_server.h"
#include "lib/outlet.h"
#include "lib/units.h"
#include "sidecar/http/live_memory.h"
#include "sidecar/http/metrics.h"
#include "sidecar/keeping/recent.h"
#include "sidecar/record/heartbeat.h"

#define HEADERS_MAX (8 * 1024)
#define BACKLOG 16
#define WARNINGS_MAX 8
/* Part of the limit; less than the part from which on snapshots are taken. */
#define RESTLESS_FROM 0.7
#define RESTLESS_AFTER_NS (600 * NS_PER_SEC)
#define WARNING_JSON_MAX 1024
#define UNMET_JSON_MAX (12 * 1024)
#define SPOOL_ENTRIES_MAX 20000
#define SPOOL_LOOK_SPACING_NS (10 * NS_PER_SEC)

struct pod_server {
	const struct sidecar *sidecar;
	const char *spool;
	struct http_server *http;
	struct recent look; /* at the spool */
	int64_t spool_bytes; /* as of the last look */
	int64_t began_ns; /* with the journal's changes: which state of it an answer shows */
};

/* --- Answers --- */

static void on_health(struct evhttp_request *request, void *arg)
{
	const struct pod_server *s = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1024);
	const char *wrong = keeper_spool_error(sidecar_keeper(s->sidecar));

	strbuf_addf(&text, wrong ? "the spool cannot be written: %s\n" : "ok\n", wrong);
	strbuf_addf(&text, "heartbeat: %.1f s old, longest pause %.1f s\n",
		    (double)heartbeat_age_ns(now_boottime_ns()) / (double)NS_PER_SEC,
		    (double)heartbeat_longest_ns() / (double)NS_PER_SEC);
	http_answer(s->http, request, wrong ? HTTP_SERVUNAVAIL : HTTP_OK, HTTP_TEXT_PLAIN, &text);
}

static bool is_known(struct evhttp_request *request, const char *tag)
{
	const char *known =
		evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");

	return known && strcmp(known, tag) == 0;
}

/* Describes the store and whether bundles reach it; null if there is no store. */
static cJSON *store_to_json(const struct pod_server *s)
{
	const struct spool_stats *spool = keeper_spool_stats(sidecar_keeper(s->sidecar));
	const struct shipper_stats *ship = keeper_ship_stats(sidecar_keeper(s->sidecar));

	if (!spool || !ship)
		return cJSON_CreateNull();
	cJSON *json = cJSON_CreateObject();
	json_set_int(json, "waiting", spool->bundles);
	json_set(json, "failing", cJSON_CreateBool(ship->failing));
	json_set_str(json, "kind", ship->failing ? ship_kind_name(ship->last.kind) : NULL);
	json_set_str(json, "error", ship->failing ? ship->last.error : NULL);
	return json;
}

/* Describes the spool; null if there is no spool. */
static cJSON *spool_to_json(const char *wrong)
{
	cJSON *json = cJSON_CreateObject();

	json_set(json, "failing", cJSON_CreateBool(wrong != NULL));
	json_set_str(json, "error", wrong);
	return json;
}

static void add_places(const struct pod_server *s, cJSON *json)
{
	json_set(json, "store", store_to_json(s));
	json_set(json, "spool",
		 s->spool ? spool_to_json(keeper_spool_error(sidecar_keeper(s->sidecar))) :
			    cJSON_CreateNull());
}

static bool memory_grows(const struct observer *o)
{
	return o->growth && o->growth->forecast.growth.rate > 0;
}

/* Takes the warning over. */
static void add_warning(cJSON *warnings, const char *kind, const char *container, cJSON *warning)
{
	json_set_str(warning, "kind", kind);
	json_set_str(warning, "container", container);
	if (cJSON_GetArraySize(warnings) < WARNINGS_MAX)
		json_append(warnings, warning);
	else
		cJSON_Delete(warning);
}

static void add_warnings_of(const char *name, const struct observer *o, void *arg)
{
	const char *request = ray_watch_infeasible(o->ray);
	cJSON *warnings = arg;

	if (memory_grows(o))
		add_warning(warnings, "MemoryGrowing", name,
			    memory_watch_to_json(&o->growth->forecast));
	if (request) {
		cJSON *warning = cJSON_CreateObject();

		json_set_str(warning, "request", request);
		add_warning(warnings, "RequestInfeasible", name, warning);
	}
	if (o->driver_waits[0]) {
		cJSON *warning = cJSON_CreateObject();

		json_set_str(warning, "sentence", o->driver_waits);
		add_warning(warnings, "DriverWaits", name, warning);
	}
}

static void add_warnings(const struct pod_server *s, cJSON *json)
{
	cJSON *warnings = json_array_at(json, "warnings");

	if (warnings)
		sidecar_each(s->sidecar, add_warnings_of, warnings);
}

/*
 * Returns FNV-1a of the store's and the spool's state, of the warnings and of the unmet ends. These
 * change without a new failure.
 */
static uint32_t digest_state(const struct pod_server *s)
{
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *text = NULL;
	uint32_t digest = 0x811c9dc5;

	add_places(s, json);
	add_warnings(s, json);
	json_set(json, "unmetEnds", sidecar_unmet_ends(s->sidecar));
	text = cJSON_PrintUnformatted(json);
	for (const char *p = text; p && *p; p++)
		digest = (digest ^ (unsigned char)*p) * 0x01000193;
	return digest;
}

/*
 * --- How soon the operator should ask again
 * ---------------------------------------------------------------
 */

/* The next failure is likely when memory is nearly full or grows, or shortly after a failure. */
static void check_rest(const char *, const struct observer *o, void *arg)
{
	const struct memory *m = &o->last.memory;
	bool *restless = arg;

	if (m->limit > 0 &&
	    m->usage - MAX(m->inactive_file, 0) >= (int64_t)((double)m->limit * RESTLESS_FROM))
		*restless = true;
	if (memory_grows(o) || ray_watch_infeasible(o->ray))
		*restless = true;
}

static bool is_restless(const struct pod_server *s)
{
	const struct journal *j = sidecar_journal(s->sidecar);
	int64_t ago_ns = j->n ? now_realtime_ns() - j->failures[j->n - 1].ended_unix_ns : INT64_MAX;
	bool restless = ago_ns < RESTLESS_AFTER_NS && ago_ns > -RESTLESS_AFTER_NS;

	sidecar_each(s->sidecar, check_rest, &restless);
	return restless;
}

#define TAG_MAX 64

/*
 * Makes the entity tag. It has only letters, digits and dashes and fits into TAG_MAX, because the
 * operator accepts no other.
 */
static const char *make_tag(const struct pod_server *s, char tag[static TAG_MAX])
{
	const struct shipper_stats *ship = keeper_ship_stats(sidecar_keeper(s->sidecar));

	snprintf(tag, TAG_MAX, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx32,
		 (uint64_t)s->began_ns, (uint64_t)sidecar_journal(s->sidecar)->changes,
		 ship ? (uint64_t)ship->shipped : 0, digest_state(s));
	return tag;
}

static void on_failures(struct evhttp_request *request, void *arg)
{
	const struct pod_server *s = arg;
	_cleanup_strbuf_ struct strbuf text =
		STRBUF_INIT(JOURNAL_JSON_MAX + WARNINGS_MAX * WARNING_JSON_MAX + UNMET_JSON_MAX +
			    REPORT_MAC_ROOM);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_free_ char *printed = NULL;
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	char tag[TAG_MAX], quoted[TAG_MAX + 2];

	snprintf(quoted, sizeof(quoted), "\"%s\"", make_tag(s, tag));
	evhttp_add_header(headers, "ETag", quoted);
	evhttp_add_header(headers, "Cache-Control",
			  is_restless(s) ? "private, max-age=10" : "private, max-age=300");
	if (is_known(request, quoted)) {
		http_answer_not_modified(s->http, request);
		return;
	}
	json = journal_to_json(sidecar_journal(s->sidecar));
	/*
	 * The operator checks the pod's UID, because the address may belong to another pod by now.
	 */
	json_set_str(json, "podUID", sidecar_record_options(s->sidecar)->id.pod_uid);
	json_set_str(json, "tag", tag);
	add_places(s, json);
	add_warnings(s, json);
	json_set(json, "unmetEnds", sidecar_unmet_ends(s->sidecar));
	printed = cJSON_PrintUnformatted(json);
	report_mac_append(sidecar_record_options(s->sidecar)->id.report_key, REPORT_MAC_FAILURES,
			  printed ? printed : "{}", &text);
	strbuf_addc(&text, '\n');
	http_answer(s->http, request, HTTP_OK, "application/json", &text);
}

static void add_live_memory(const char *name, const struct observer *o, void *arg)
{
	live_memory_add(arg, name, o, now_boottime_ns());
}

static void on_memory(struct evhttp_request *request, void *arg)
{
	const struct pod_server *s = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(LIVE_MEMORY_JSON_MAX);
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *printed = NULL;
	cJSON *containers = json_array_at(json, "containers");

	json_set_str(json, "podUID", sidecar_record_options(s->sidecar)->id.pod_uid);
	if (containers)
		sidecar_each(s->sidecar, add_live_memory, containers);
	printed = cJSON_PrintUnformatted(json);
	strbuf_adds(&text, printed ? printed : "{}");
	strbuf_addc(&text, '\n');
	http_answer(s->http, request, HTTP_OK, "application/json", &text);
}

static void add_container(const char *name, const struct observer *o, void *arg)
{
	struct pod_values *v = arg;
	struct container_values *c = &v->containers[v->n_containers];

	/*
	 * Two containers of one name would give one series twice. That happens when a launcher has
	 * reconnected and its old connection still exists.
	 */
	for (size_t i = 0; i < v->n_containers; i++)
		if (strcmp(v->containers[i].name, name) == 0)
			return;
	if (v->n_containers == HTTP_CONTAINERS_MAX)
		return;
	v->n_containers++;
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->memory = o->last.memory;
	c->n_processes = o->last.n_processes;
	c->samples = o->samples;
	c->delay_ns = o->delay_ns;
	c->spilled = o->spill ? o->spill->forecast.bytes : -1;
	c->spill_left_ns = o->spill ? o->spill->forecast.left_ns : -1;
	c->growth = o->growth ? o->growth->forecast.growth.rate : 0;
	c->tasks = o->table ? process_table_tasks(o->table) : NULL;
	c->growth_left_ns = o->growth ? o->growth->forecast.growth.left_ns : -1;
}

static struct {
	int64_t bytes;
	unsigned int entries;
} walk;

static int add_size(const char *, const struct stat *st, int type, struct FTW *)
{
	if (type == FTW_F || type == FTW_D)
		walk.bytes += (int64_t)st->st_blocks * 512;
	return ++walk.entries > SPOOL_ENTRIES_MAX;
}

static void measure_spool(const void *arg, void *out)
{
	walk.bytes = walk.entries = 0;
	nftw(arg, add_size, 8, FTW_PHYS | FTW_MOUNT);
	*(int64_t *)out = walk.bytes;
}

static int64_t spool_bytes(struct pod_server *s)
{
	if (!s->spool)
		return -1;
	recent_look(&s->look, measure_spool, s->spool, &s->spool_bytes, sizeof(s->spool_bytes),
		    now_boottime_ns());
	return s->spool_bytes;
}

static void add_keeping(const struct pod_server *s, struct pod_values *v)
{
	const struct spool_stats *spool = keeper_spool_stats(sidecar_keeper(s->sidecar));
	const struct shipper_stats *ship = keeper_ship_stats(sidecar_keeper(s->sidecar));

	v->heartbeat_age_ns = heartbeat_age_ns(now_boottime_ns());
	v->longest_pause_ns = heartbeat_longest_ns();
	v->output_dropped = outlet_dropped();
	v->spool_failing = keeper_spool_error(sidecar_keeper(s->sidecar)) != NULL;
	if (spool) {
		v->spool_bundles = spool->bundles;
		v->counted = spool->counted;
		memcpy(v->dropped, spool->dropped, sizeof(v->dropped));
	}
	if (ship) {
		v->ships = true;
		v->shipped = ship->shipped;
		v->store_failing = ship->failing;
		memcpy(v->ship_failed, ship->failed, sizeof(v->ship_failed));
	}
}

static void render_metrics(void *arg, struct strbuf *out)
{
	struct pod_server *s = arg;
	const struct journal *j = sidecar_journal(s->sidecar);
	_cleanup_free_ struct pod_values *v = calloc(1, sizeof(*v));

	if (!v)
		return;
	sidecar_each(s->sidecar, add_container, v);
	memcpy(v->failures, j->by_class, sizeof(v->failures));
	v->last_failure_unix_ns = j->n ? j->failures[j->n - 1].ended_unix_ns : 0;
	v->spool_bytes = spool_bytes(s);
	add_keeping(s, v);
	v->takes_cores = sidecar_record_options(s->sidecar)->cores != CORES_OFF;
	v->cores = *sidecar_core_stats(s->sidecar);
	metrics_render(v, out);
}

/* --- Beginning and end --- */

struct event_base *pod_server_loop(void)
{
	const struct timeval turn_max = { .tv_usec = POD_TURN_MS * 1000 };
	struct event_config *config = event_config_new();

	if (!config)
		return NULL;
	event_config_set_max_dispatch_interval(config, &turn_max, -1, 0);
	struct event_base *base = event_base_new_with_config(config);
	event_config_free(config);
	return base;
}

int pod_server_new(struct event_base *base, const char *address, const struct sidecar *sidecar,
		   const char *spool, struct pod_server **ret_server, struct err *err)
{
	struct pod_server *s = calloc(1, sizeof(*s));
	struct http_server_options options = {
		.option = "--http",
		.address = address,
		.connections_max = POD_CONNECTIONS_MAX,
		.backlog = BACKLOG,
		.headers_max = HEADERS_MAX,
		.idle_s = POD_IDLE_S,
		.metrics_max = METRICS_TEXT_MAX,
		.metrics = render_metrics,
		.arg = s,
	};

	if (!s)
		return err_set(err, ENOMEM, "--http");
	*s = (struct pod_server){ .sidecar = sidecar,
				  .spool = spool,
				  .began_ns = now_realtime_ns(),
				  .look = RECENT(SPOOL_LOOK_SPACING_NS) };
	int rc = http_server_new(base, &options, &s->http, err);
	if (rc < 0) {
		pod_server_free(s);
		return rc;
	}
	/* The first answers have what these looks find. */
	spool_bytes(s);
	keeper_spool_error(sidecar_keeper(sidecar));
	http_server_handle(s->http, "/healthz", on_health);
	http_server_handle(s->http, "/failures", on_failures);
	http_server_handle(s->http, "/memory", on_memory);
	*ret_server = s;
	return 0;
}

void pod_server_free(struct pod_server *s)
{
	if (!s)
		return;
	http_server_free(s->http);
	recent_release(&s->look);
	free(s);
}
