/* SPDX-License-Identifier: Apache-2.0 */
/* Serves HTTP on the pod, with evhttp. */
#include "sidecar/http/server.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <ftw.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/digest/report_mac.h"
#include "lib/json.h"
#include "lib/listen_address.h"
#include "lib/log.h"
#include "lib/loop/inner_loop.h"
#include "lib/loop/shared_text.h"
#include "lib/outlet.h"
#include "lib/units.h"
#include "sidecar/http/live_memory.h"
#include "sidecar/http/metrics.h"
#include "sidecar/record/heartbeat.h"
#include "sidecar/record/recent.h"

#define HEADERS_MAX (8 * 1024)
#define BACKLOG 16
#define RECOUNT_MS 10
#define GIVEN_UP_AT_ONCE (HTTP_CONNECTIONS_MAX / 4)
#define WARNINGS_MAX 8
/* Part of the limit; less than the part from which on snapshots are taken. */
#define RESTLESS_FROM 0.7
#define RESTLESS_AFTER_NS (600 * NS_PER_SEC)
#define WARNING_JSON_MAX 1024
#define UNMET_JSON_MAX (12 * 1024)
#define SPOOL_ENTRIES_MAX 20000
#define SPOOL_LOOK_SPACING_NS (10 * NS_PER_SEC)

/* A connection of ours, as it was found among the descriptors. */
struct connection {
	int fd;
	ino_t inode; /* of its socket: another connection with the same descriptor has another */
	uint64_t number; /* in the order in which they were found */
	bool given_up; /* it was shut down, and evhttp has not closed it yet */
};

#define CONNECTIONS_SEEN_MAX (4 * HTTP_CONNECTIONS_MAX) /* more are counted, and not given up */

struct http_server {
	/* A loop of its own, so that it answers even while the outer loop waits for a disk */
	struct inner_loop *loop;
	const struct sidecar *sidecar;
	const char *spool;
	struct evhttp *http;
	struct evconnlistener *listener; /* listener of http */
	struct event *recount;
	unsigned int n_connections; /* at most: those that have ended are not taken off */
	struct connection connections[CONNECTIONS_SEEN_MAX]; /* as of the last count */
	size_t n_seen;
	uint64_t n_found;
	struct shared_text *metrics;
	struct recent look; /* at the spool */
	int64_t spool_bytes; /* as of the last look */
	int64_t began_ns; /* with the journal's changes: which state of it an answer shows */
	uint16_t port;
};

/* --- Answers --- */

static void answer_body(struct evhttp_request *request, int status, const char *type,
			struct evbuffer *body)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);

	evhttp_add_header(headers, "Content-Type", type);
	if (!evhttp_find_header(headers, "Cache-Control"))
		evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_send_reply(request, status, NULL, body);
}

static void answer(struct evhttp_request *request, int status, const char *type,
		   const struct strbuf *text)
{
	struct evbuffer *body = evbuffer_new();

	if (!body || strbuf_failed(text) || evbuffer_add(body, strbuf_str(text), text->len) < 0)
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
	else
		answer_body(request, status, type, body);
	if (body)
		evbuffer_free(body);
}

static void on_health(struct evhttp_request *request, void *arg)
{
	const struct http_server *s = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1024);
	const char *wrong = keeper_spool_error(sidecar_keeper(s->sidecar));

	strbuf_addf(&text, wrong ? "the spool cannot be written: %s\n" : "ok\n", wrong);
	strbuf_addf(&text, "heartbeat: %.1f s old, longest pause %.1f s\n", (double)heartbeat_age_ns(now_boottime_ns()) / (double)NS_PER_SEC,
		    (double)heartbeat_longest_ns() / (double)NS_PER_SEC);
	answer(request, wrong ? HTTP_SERVUNAVAIL : HTTP_OK, "text/plain; charset=utf-8", &text);
}

static bool is_known(struct evhttp_request *request, const char *tag)
{
	const char *known = evhttp_find_header(evhttp_request_get_input_headers(request), "If-None-Match");

	return known && strcmp(known, tag) == 0;
}

/* Describes the store and whether bundles reach it; null if there is no store. */
static cJSON *store_to_json(const struct http_server *s)
{
	const struct spool_stats *spool = keeper_spool_stats(sidecar_keeper(s->sidecar));
	const struct shipper_stats *ship = keeper_ship_stats(sidecar_keeper(s->sidecar));
	cJSON *json;

	if (!spool || !ship)
		return cJSON_CreateNull();
	json = cJSON_CreateObject();
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

static void add_places(const struct http_server *s, cJSON *json)
{
	json_set(json, "store", store_to_json(s));
	json_set(json, "spool", s->spool ? spool_to_json(keeper_spool_error(sidecar_keeper(s->sidecar))) : cJSON_CreateNull());
}

static void add_warning(const char *name, const struct observer *o, void *arg)
{
	cJSON *warning, *warnings = arg;

	if (!o->growth || o->growth->forecast.growth.rate <= 0 || cJSON_GetArraySize(warnings) == WARNINGS_MAX)
		return;
	warning = memory_watch_to_json(&o->growth->forecast);
	json_set_str(warning, "kind", "MemoryGrowing");
	json_set_str(warning, "container", name);
	json_append(warnings, warning);
}

static void add_warnings(const struct http_server *s, cJSON *json)
{
	cJSON *warnings = json_array_at(json, "warnings");

	if (warnings)
		sidecar_each(s->sidecar, add_warning, warnings);
}

/*
 * Returns FNV-1a of the store's and the spool's state, of the warnings and of the unmet ends. These
 * change without a new failure.
 */
static uint32_t digest_state(const struct http_server *s)
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

/* --- How soon the operator should ask again --------------------------------------------------------------- */

/* The next failure is likely when memory is nearly full or grows, or shortly after a failure. */
static void check_rest(const char *name, const struct observer *o, void *arg)
{
	const struct memory *m = &o->last.memory;
	bool *restless = arg;

	(void)name;
	if (m->limit > 0 && m->usage - MAX(m->inactive_file, 0) >= (int64_t)((double)m->limit * RESTLESS_FROM))
		*restless = true;
	if (o->growth && o->growth->forecast.growth.rate > 0)
		*restless = true;
}

static bool is_restless(const struct http_server *s)
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
static const char *make_tag(const struct http_server *s, char tag[static TAG_MAX])
{
	const struct shipper_stats *ship = keeper_ship_stats(sidecar_keeper(s->sidecar));

	snprintf(tag, TAG_MAX, "%" PRIx64 "-%" PRIx64 "-%" PRIx64 "-%" PRIx32, (uint64_t)s->began_ns,
		 (uint64_t)sidecar_journal(s->sidecar)->changes, ship ? (uint64_t)ship->shipped : 0, digest_state(s));
	return tag;
}

static void on_failures(struct evhttp_request *request, void *arg)
{
	const struct http_server *s = arg;
	_cleanup_strbuf_ struct strbuf text =
		STRBUF_INIT(JOURNAL_JSON_MAX + WARNINGS_MAX * WARNING_JSON_MAX + UNMET_JSON_MAX +
			    REPORT_MAC_ROOM);
	_cleanup_json_ cJSON *json = NULL;
	_cleanup_free_ char *printed = NULL;
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	char tag[TAG_MAX], quoted[TAG_MAX + 2];

	snprintf(quoted, sizeof(quoted), "\"%s\"", make_tag(s, tag));
	evhttp_add_header(headers, "ETag", quoted);
	evhttp_add_header(headers, "Cache-Control", is_restless(s) ? "private, max-age=10" : "private, max-age=300");
	if (is_known(request, quoted)) {
		evhttp_send_reply(request, HTTP_NOTMODIFIED, NULL, NULL);
		return;
	}
	json = journal_to_json(sidecar_journal(s->sidecar));
	/*
	 * The operator checks the pod's UID, because the address may belong to another pod by now.
	 */
	json_set_str(json, "podUID", sidecar_pod_uid(s->sidecar));
	json_set_str(json, "tag", tag);
	add_places(s, json);
	add_warnings(s, json);
	json_set(json, "unmetEnds", sidecar_unmet_ends(s->sidecar));
	printed = cJSON_PrintUnformatted(json);
	report_mac_append(sidecar_report_key(s->sidecar), REPORT_MAC_FAILURES,
			  printed ? printed : "{}", &text);
	strbuf_addc(&text, '\n');
	answer(request, HTTP_OK, "application/json", &text);
}

static void add_live_memory(const char *name, const struct observer *o, void *arg)
{
	live_memory_add(arg, name, o, now_boottime_ns());
}

static void on_memory(struct evhttp_request *request, void *arg)
{
	const struct http_server *s = arg;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(LIVE_MEMORY_JSON_MAX);
	_cleanup_json_ cJSON *json = cJSON_CreateObject();
	_cleanup_free_ char *printed = NULL;
	cJSON *containers = json_array_at(json, "containers");

	json_set_str(json, "podUID", sidecar_pod_uid(s->sidecar));
	if (containers)
		sidecar_each(s->sidecar, add_live_memory, containers);
	printed = cJSON_PrintUnformatted(json);
	strbuf_adds(&text, printed ? printed : "{}");
	strbuf_addc(&text, '\n');
	answer(request, HTTP_OK, "application/json", &text);
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
	c->growth_left_ns = o->growth ? o->growth->forecast.growth.left_ns : -1;
}

static struct {
	int64_t bytes;
	unsigned int entries;
} walk;

static int add_size(const char *path, const struct stat *st, int type, struct FTW *where)
{
	(void)path;
	(void)where;
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

static int64_t spool_bytes(struct http_server *s)
{
	if (!s->spool)
		return -1;
	recent_look(&s->look, measure_spool, s->spool, &s->spool_bytes, sizeof(s->spool_bytes), now_boottime_ns());
	return s->spool_bytes;
}

static void add_keeping(const struct http_server *s, struct pod_values *v)
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
	struct http_server *s = arg;
	const struct journal *j = sidecar_journal(s->sidecar);
	_cleanup_free_ struct pod_values *v = calloc(1, sizeof(*v));

	if (!v)
		return;
	sidecar_each(s->sidecar, add_container, v);
	memcpy(v->failures, j->by_class, sizeof(v->failures));
	v->last_failure_unix_ns = j->n ? j->failures[j->n - 1].ended_unix_ns : 0;
	v->spool_bytes = spool_bytes(s);
	add_keeping(s, v);
	v->takes_cores = sidecar_takes_cores(s->sidecar);
	v->cores = *sidecar_core_stats(s->sidecar);
	metrics_render(v, out);
}

static void on_metrics(struct evhttp_request *request, void *arg)
{
	struct http_server *s = arg;
	struct evhttp_connection *connection = evhttp_request_get_connection(request);
	int fd = bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
	struct evbuffer *body = evbuffer_new();

	if (!body || shared_text_add(s->metrics, fd, now_boottime_ns(), body) < 0)
		evhttp_send_error(request, HTTP_INTERNAL, NULL);
	else
		answer_body(request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", body);
	if (body)
		evbuffer_free(body);
}

/* --- Connections --- */

static uint16_t port_of(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 0;
	if (address.ss_family != AF_INET && address.ss_family != AF_INET6)
		return 0;
	/* The port is at the same offset in both structures. */
	return ntohs(((struct sockaddr_in *)&address)->sin_port);
}

static bool is_connection(const struct http_server *s, int fd)
{
	struct sockaddr_storage peer;
	socklen_t len = sizeof(peer);

	return port_of(fd) == s->port && getpeername(fd, (struct sockaddr *)&peer, &len) == 0;
}

/* What is known of it from the last count, or what a new one is. */
static struct connection describe(struct http_server *s, int fd)
{
	struct connection c = { .fd = fd };
	struct stat st;

	if (fstat(fd, &st) == 0)
		c.inode = st.st_ino;
	for (size_t i = 0; i < s->n_seen; i++)
		if (s->connections[i].fd == fd && s->connections[i].inode == c.inode)
			return s->connections[i];
	c.number = ++s->n_found;
	return c;
}

/* Finds this process's connections to our port. Returns how many there are. One that was shut down may have no peer any more. */
static unsigned int count_connections(struct http_server *s)
{
	struct connection found[CONNECTIONS_SEEN_MAX];
	DIR *dir = opendir("/proc/self/fd");
	unsigned int n = 0;

	if (!dir)
		return 0;
	/* Lower descriptors come first: of those that are new, these were accepted first, as a rule. */
	for (const struct dirent *entry; (entry = readdir(dir));) {
		int fd = (int)strtol(entry->d_name, NULL, 10);

		if (!is_connection(s, fd))
			continue;
		if (n < CONNECTIONS_SEEN_MAX)
			found[n] = describe(s, fd);
		n++;
	}
	closedir(dir);
	s->n_seen = MIN(n, (unsigned int)CONNECTIONS_SEEN_MAX);
	memcpy(s->connections, found, s->n_seen * sizeof(found[0]));
	return n;
}

/* evhttp finds the end of its input, and closes it. */
static void give_up_oldest(struct http_server *s)
{
	struct connection *oldest = NULL;

	for (struct connection *c = s->connections; c < s->connections + s->n_seen; c++)
		if (!c->given_up && (!oldest || c->number < oldest->number))
			oldest = c;
	if (!oldest)
		return;
	oldest->given_up = true;
	shutdown(oldest->fd, SHUT_RDWR);
}

static unsigned int count_given_up(const struct http_server *s)
{
	unsigned int n = 0;

	for (size_t i = 0; i < s->n_seen; i++)
		n += s->connections[i].given_up;
	return n;
}

/*
 * evhttp neither limits its connections nor tells of the end of one: when there may be too many, they are counted. The oldest
 * are given up for new ones: a request takes milliseconds, and whoever sends a byte a second would keep its place for hours.
 */
static void check_connections(struct http_server *s)
{
	const struct timeval soon = { .tv_usec = RECOUNT_MS * 1000 };

	if (s->n_connections < HTTP_CONNECTIONS_MAX)
		return;
	s->n_connections = count_connections(s);
	if (s->n_connections < HTTP_CONNECTIONS_MAX) {
		evconnlistener_enable(s->listener);
		return;
	}
	if (count_given_up(s) == 0)
		for (int i = 0; i < GIVEN_UP_AT_ONCE; i++)
			give_up_oldest(s);
	evconnlistener_disable(s->listener);
	event_add(s->recount, &soon);
}

static void on_recount(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	check_connections(arg);
}

/* Called by evhttp for each new connection, which it counts. Returns NULL, so that evhttp makes its usual bufferevent. */
static struct bufferevent *on_connection(struct event_base *base, void *arg)
{
	struct http_server *s = arg;

	(void)base;
	s->n_connections++;
	check_connections(s);
	return NULL;
}

/*
 * The server of this process. It is a static variable because evhttp passes its own argument to a
 * listener's error callback.
 */
static struct http_server *the_server;

/*
 * Called when no descriptor is left. Without this callback libevent would log that and try again at
 * once, for ever.
 */
static void on_accept_error(struct evconnlistener *listener, void *arg)
{
	const struct timeval later = { .tv_sec = 1 };
	struct http_server *s = the_server;

	(void)arg;
	log_warning_limited("--http: cannot accept a connection: %s", strerror(EVUTIL_SOCKET_ERROR()));
	evconnlistener_disable(listener);
	/* Makes the next check count them and enable the listener */
	s->n_connections = HTTP_CONNECTIONS_MAX;
	event_add(s->recount, &later);
}

/* --- Beginning and end --- */

static int listen_at(const char *address, uint16_t *ret_port, struct err *err)
{
	_cleanup_close_ int fd = -1;

	if (listen_address_bind(address, &fd, ret_port, err) < 0)
		return err_wrap(err, "--http");
	if (listen(fd, BACKLOG) < 0)
		return err_set(err, errno, "--http: %s", address);
	return TAKE_FD(fd);
}

int http_server_new(struct event_base *base, const char *address, const struct sidecar *sidecar, const char *spool,
		    struct http_server **ret_server, struct err *err)
{
	struct http_server *s = calloc(1, sizeof(*s));
	struct evhttp_bound_socket *bound;
	int fd, rc;

	if (!s)
		return err_set(err, ENOMEM, "--http");
	*s = (struct http_server){ .sidecar = sidecar, .spool = spool, .began_ns = now_realtime_ns(), .look = RECENT(SPOOL_LOOK_SPACING_NS) };
	fd = listen_at(address, &s->port, err);
	if (fd < 0) {
		free(s);
		return fd;
	}
	rc = inner_loop_new(base, &s->loop, err);
	if (rc < 0) {
		close(fd);
		free(s);
		return rc;
	}
	s->http = evhttp_new(inner_loop_base(s->loop));
	s->recount = evtimer_new(inner_loop_base(s->loop), on_recount, s);
	s->metrics = shared_text_new(METRICS_TEXT_MAX, render_metrics, s);
	bound = s->http && s->recount && s->metrics ?
			evhttp_accept_socket_with_handle(s->http, fd) :
			NULL;
	if (!bound) {
		close(fd);
		http_server_free(s);
		return err_set(err, ENOMEM, "--http");
	}
	s->listener = evhttp_bound_socket_get_listener(bound);
	the_server = s;
	evconnlistener_set_error_cb(s->listener, on_accept_error);
	evhttp_set_bevcb(s->http, on_connection, s);
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET);
	evhttp_set_max_headers_size(s->http, HEADERS_MAX);
	evhttp_set_max_body_size(s->http, 0);
	evhttp_set_timeout(s->http, HTTP_IDLE_S);
	evhttp_set_cb(s->http, "/healthz", on_health, s);
	evhttp_set_cb(s->http, "/failures", on_failures, s);
	evhttp_set_cb(s->http, "/memory", on_memory, s);
	evhttp_set_cb(s->http, "/metrics", on_metrics, s);
	*ret_server = s;
	return 0;
}

void http_server_free(struct http_server *s)
{
	if (!s)
		return;
	if (s->http)
		evhttp_free(s->http);
	if (s->recount)
		event_free(s->recount);
	shared_text_free(s->metrics);
	inner_loop_free(s->loop);
	recent_release(&s->look);
	free(s);
}

void http_server_turn(void *arg)
{
	struct http_server *s = arg;

	inner_loop_turn(s->loop);
}

uint16_t http_server_port(const struct http_server *s)
{
	return s->port;
}
