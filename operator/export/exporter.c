/* SPDX-License-Identifier: Apache-2.0 */
/* Exports RayFailures to an OpenTelemetry collector. */
#include "operator/export/exporter.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/fileio.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/export/export_queue.h"
#include "operator/export/otlp_answer.h"
#include "operator/export/otlp_headers.h"
#include "operator/export/otlp_record.h"
#include "operator/kube/backoff.h"
#include "operator/kube/http.h"

#define DEADLINE_NS (10 * NS_PER_SEC)
/* Limit of a request; more than a batch of the longest texts takes with escapes. */
#define BODY_MAX ((size_t)32 << 20)
#define CA_MAX ((size_t)1 << 20)

struct exporter {
	struct exporter_options o;
	char url[OTLP_ENDPOINT_MAX + sizeof("/v1/logs")];
	struct http *http;
	struct event *wake;
	struct export_queue queue;
	struct http_call *call; /* NULL: no request is running */
	size_t n_sent; /* the request has so many records */
	struct backoff backoff;
	/* Boottime when the pause after a failure ends; 0: there is no pause. */
	int64_t not_before_ns;
	int64_t flush_until_ns; /* boottime; 0: the process is not ending */
	void (*on_flushed)(void *arg);
	void *on_flushed_arg;
};

static void run(evutil_socket_t fd, short what, void *arg);

static void count(struct exporter *exporter, const char *result, size_t n)
{
	metrics_add(exporter->o.metrics, METRIC_OTLP_RECORDS, (double)n, "result=\"%s\"", result);
}

/* Creates series that begin at 0, because increase() does not see the first value of a series. */
static void begin_at_zero(struct exporter *exporter)
{
	static const char *const results[] = { "sent", "rejected", "refused", "dropped" };

	for (size_t i = 0; i < ARRAY_SIZE(results); i++)
		count(exporter, results[i], 0);
}

/* --- Settings in files: read for each request, because they may be renewed ------------------- */

static int read_ca(const struct exporter *exporter, struct strbuf *out, struct err *err)
{
	const char *file = exporter->o.settings->ca_file;
	int r = file ? file_read(AT_FDCWD, file, out, err) : 0;

	return r < 0 ? err_wrap(err, "--otlp-ca") : 0;
}

static int check_files(const struct exporter *exporter, struct err *err)
{
	_cleanup_strbuf_ struct strbuf ca = STRBUF_INIT(CA_MAX);
	struct otlp_headers headers = { 0 };
	int r = otlp_headers_read(exporter->o.settings->headers_file, &headers, err);

	if (r < 0)
		return err_wrap(err, "--otlp-headers");
	otlp_headers_release(&headers);
	return read_ca(exporter, &ca, err);
}

/* --- Life ------------------------------------------------------------------------------------- */

int exporter_new(const struct exporter_options *options, struct exporter **ret_exporter,
		 struct err *err)
{
	struct exporter *exporter = calloc(1, sizeof(*exporter));
	size_t len = strlen(options->settings->endpoint);
	int r;

	if (!exporter)
		return err_set(err, ENOMEM, "exporter");
	exporter->o = *options;
	while (len && options->settings->endpoint[len - 1] == '/')
		len--;
	snprintf(exporter->url, sizeof(exporter->url), "%.*s/v1/logs", (int)len,
		 options->settings->endpoint);
	backoff_init(&exporter->backoff, (uint64_t)now_boottime_ns());
	exporter->wake = evtimer_new(options->base, run, exporter);
	r = exporter->wake ? http_new(options->base, &exporter->http, err) :
			     err_set(err, ENOMEM, "exporter");
	if (r == 0)
		r = check_files(exporter, err);
	if (r < 0) {
		exporter_free(exporter);
		return r;
	}
	begin_at_zero(exporter);
	log_info("RayFailures are exported to %s", exporter->url);
	*ret_exporter = exporter;
	return 0;
}

void exporter_free(struct exporter *exporter)
{
	if (!exporter)
		return;
	http_free(exporter->http);
	if (exporter->wake)
		event_free(exporter->wake);
	export_queue_release(&exporter->queue);
	free(exporter);
}

void exporter_metrics(const struct exporter *exporter)
{
	if (exporter)
		metrics_set(exporter->o.metrics, METRIC_OTLP_WAITING,
			    (double)exporter->queue.share.n, "%s", "");
}

/* --- Sending ---------------------------------------------------------------------------------- */

static void wake_at(struct exporter *exporter, int64_t at_ns)
{
	int64_t delay = MAX(at_ns - now_boottime_ns(), NS_PER_MS);

	event_add(exporter->wake,
		  &(struct timeval){ delay / NS_PER_SEC, delay % NS_PER_SEC / 1000 });
}

static void wake_now(struct exporter *exporter)
{
	event_active(exporter->wake, 0, 0);
}

/*
 * Adds the facts about the failure's incident that have become known meanwhile. It does so only
 * once, because a request may be sent again.
 */
static void complete(const struct exporter *exporter, struct export_item *item)
{
	if (!item->completed)
		otlp_record_set_incident(item->record,
					 exporter->o.find_failure(exporter->o.arg, item->key));
	item->completed = true;
}

static void write_body(const struct exporter *exporter, size_t n, struct strbuf *body)
{
	struct export_item *item = exporter->queue.first;

	strbuf_adds(body, "{\"resourceLogs\":[");
	for (size_t i = 0; i < n; i++, item = item->next) {
		complete(exporter, item);
		_cleanup_free_ char *text = cJSON_PrintUnformatted(item->record);

		strbuf_adds(body, i ? "," : "");
		strbuf_adds(body, text ? text : "{}");
	}
	strbuf_adds(body, "]}");
}

static void try_again(struct exporter *exporter, int64_t least_ns, const struct err *err,
		      int status)
{
	int64_t now = now_boottime_ns(),
		delay = MAX(backoff_next(&exporter->backoff, now), least_ns);
	char text[DURATION_TEXT_MAX];

	exporter->not_before_ns = now + delay;
	if (status)
		log_warning_limited(
			"%s answered %d; %zu RayFailures wait to be exported; again in %s",
			exporter->url, status, exporter->queue.share.n,
			duration_format(delay, text));
	else
		log_warning_limited("%s: %s; %zu RayFailures wait to be exported; again in %s",
				    exporter->url, err_text(err), exporter->queue.share.n,
				    duration_format(delay, text));
}

/* Called when the collector answers. */
static void takes_again(struct exporter *exporter)
{
	if (exporter->not_before_ns)
		log_info("%s answers again", exporter->url);
	exporter->not_before_ns = 0;
	exporter->backoff.failures = 0;
}

static void take_sent(struct exporter *exporter, const struct http_response *response, size_t n)
{
	struct otlp_answer answer;

	otlp_answer_read(response->body, response->len, n, &answer);
	if (answer.rejected)
		log_warning_limited("%s rejected %zu of %zu RayFailures: %s", exporter->url,
				    answer.rejected, n,
				    *answer.text ? answer.text : "it does not say why");
	count(exporter, "rejected", answer.rejected);
	count(exporter, "sent", n - answer.rejected);
	export_queue_drop(&exporter->queue, n);
	takes_again(exporter);
}

static void on_answer(void *arg, const struct http_response *response)
{
	struct exporter *exporter = arg;
	size_t n = exporter->n_sent;

	exporter->call = NULL;
	switch (otlp_outcome_of(response->status)) {
	case OTLP_SENT:
		take_sent(exporter, response, n);
		break;
	case OTLP_AGAIN:
		try_again(exporter, response->retry_after_ns, &response->err, response->status);
		break;
	case OTLP_REFUSED:
		log_warning_limited("%s answered %d: %zu RayFailures are not exported",
				    exporter->url, response->status, n);
		count(exporter, "refused", n);
		export_queue_drop(&exporter->queue, n);
		takes_again(exporter);
		break;
	}
	wake_now(exporter);
}

static int start(struct exporter *exporter, const struct otlp_headers *headers, const char *ca,
		 const struct strbuf *body, struct err *err)
{
	int64_t left = exporter->flush_until_ns ? exporter->flush_until_ns - now_boottime_ns() :
						  DEADLINE_NS;
	const struct http_request request = {
		.method = "POST",
		.url = exporter->url,
		.headers = headers->lines,
		.body = strbuf_str(body),
		.body_len = body->len,
		.deadline_ns = MIN(left, DEADLINE_NS),
		.answer_max = OTLP_ANSWER_MAX,
		.tls = { .ca = ca },
	};

	if (strbuf_failed(body))
		return err_set(err, ENOMEM, "no memory for a request");
	return http_start(exporter->http, &request, NULL, on_answer, exporter, &exporter->call,
			  err);
}

static void send_first(struct exporter *exporter, size_t n)
{
	_cleanup_strbuf_ struct strbuf ca = STRBUF_INIT(CA_MAX), body = STRBUF_INIT(BODY_MAX);
	struct otlp_headers headers = { 0 };
	struct err err = { 0 };
	int r = otlp_headers_read(exporter->o.settings->headers_file, &headers, &err);

	if (r == 0)
		r = read_ca(exporter, &ca, &err);
	if (r == 0) {
		write_body(exporter, n, &body);
		exporter->n_sent = n;
		r = start(exporter, &headers,
			  exporter->o.settings->ca_file ? strbuf_str(&ca) : NULL, &body, &err);
	}
	otlp_headers_release(&headers);
	if (r < 0) {
		try_again(exporter, 0, &err, 0);
		wake_now(exporter);
	}
}

/*
 * Returns whether nothing more will be sent. At the end of the process a failed request is not
 * repeated.
 */
static bool is_flushed(const struct exporter *exporter, int64_t now_ns)
{
	return now_ns >= exporter->flush_until_ns ||
	       (!exporter->call && (!exporter->queue.share.n || exporter->not_before_ns));
}

static void run(evutil_socket_t fd, short what, void *arg)
{
	struct exporter *exporter = arg;
	int64_t now = now_boottime_ns();
	bool ends = exporter->flush_until_ns;

	(void)fd;
	(void)what;
	if (ends && is_flushed(exporter, now)) {
		if (exporter->on_flushed)
			TAKE_PTR(exporter->on_flushed)(exporter->on_flushed_arg);
		return;
	}
	if (ends)
		wake_at(exporter, exporter->flush_until_ns);
	if (exporter->call || !exporter->queue.share.n)
		return; /* the answer wakes us, or the next record does */
	if (now < exporter->not_before_ns) {
		wake_at(exporter, exporter->not_before_ns);
		return;
	}
	size_t n = export_queue_ready(&exporter->queue, ends ? INT64_MAX : now);
	if (n)
		send_first(exporter, n);
	else
		wake_at(exporter, exporter->queue.first->ready_ns);
}

void exporter_add(struct exporter *exporter, const cJSON *failure)
{
	int64_t hold_ns, now = now_boottime_ns();
	cJSON *record;

	if (!exporter)
		return;
	hold_ns = (exporter->o.hold_ms ? exporter->o.hold_ms : EXPORTER_HOLD_MS) * NS_PER_MS;
	record = otlp_record_new(failure, exporter->o.settings, now_realtime_ns());
	if (!record ||
	    !export_queue_add(&exporter->queue, json_str(failure, "metadata.namespace"),
			      json_str(failure, "metadata.name"), record, now + hold_ns)) {
		count(exporter, "dropped", 1);
		log_warning_limited(
			"a RayFailure is not exported: too many wait already, or there is no memory");
		return;
	}
	if (!exporter->call)
		wake_now(exporter);
}

void exporter_flush(struct exporter *exporter, void (*on_flushed)(void *arg), void *arg)
{
	int64_t patience_ms = exporter->o.flush_ms ? exporter->o.flush_ms : EXPORTER_FLUSH_MS;

	exporter->flush_until_ns = now_boottime_ns() + patience_ms * NS_PER_MS;
	exporter->on_flushed = on_flushed;
	exporter->on_flushed_arg = arg;
	/* The collector may be back, whatever failed before. */
	exporter->not_before_ns = 0;
	wake_now(exporter);
}
