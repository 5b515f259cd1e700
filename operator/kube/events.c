/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Events: POST; if the Event exists, GET and PATCH of its series. */
#include "operator/kube/events.h"

#include <errno.h>
#include <string.h>

#include "lib/oom.h"

#define PATH_MAX_LEN 2048

struct report {
	struct client *client;
	char *path; /* of the existing Event */
	char *time; /* when it happened again */
	bool once;
	client_done_fn done;
	void *arg;
};

static void report_free(void *arg)
{
	struct report *report = arg;

	if (!report)
		return;
	free(report->path);
	free(report->time);
	free(report);
}

static void events_finish(void *arg, struct client_response *response)
{
	struct report *report = arg;

	report->done(report->arg, response);
	report_free(report);
}

static int events_ask(struct report *report, const char *method, const char *body,
		      client_done_fn done)
{
	struct client_request request = {
		.method = method,
		.path = report->path,
		.content_type = body ? "application/merge-patch+json" : NULL,
		.body = body,
		.drop = report_free,
	};

	return client_start(report->client, &request, done, report, NULL, NULL);
}

/* A second occurrence begins the series, so the count starts with 2. */
static char *series_patch(const cJSON *event, const char *time)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *patch = cJSON_CreateObject();
	cJSON *series = json_object_at(patch, "series");
	int64_t before = json_int(event, "series.count", 1);

	json_set_int(series, "count", MIN(MAX(before, 1), INT32_MAX - 1) + 1);
	json_set_str(series, "lastObservedTime", time);
	return oom_count() == lost ? cJSON_PrintUnformatted(patch) : NULL;
}

static void events_on_read(void *arg, struct client_response *response)
{
	struct report *report = arg;
	_cleanup_free_ char *patch =
		response->status == 200 ? series_patch(response->object, report->time) : NULL;

	if (!patch || events_ask(report, "PATCH", patch, events_finish) < 0)
		events_finish(report, response);
}

static void events_on_created(void *arg, struct client_response *response)
{
	struct report *report = arg;
	bool there = response->status == 409 && strcmp(response->reason, "AlreadyExists") == 0;

	if (!there || report->once || events_ask(report, "GET", NULL, events_on_read) < 0)
		events_finish(report, response);
}

static struct report *report_new(struct client *client, const cJSON *event, client_done_fn done,
				 void *arg)
{
	struct report *report = calloc(1, sizeof(*report));
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	const char *time = json_str_or(event, "eventTime", ""),
		   *name = json_str_or(event, "metadata.name", "");

	if (!report)
		return NULL;
	*report = (struct report){ .client = client, .done = done, .arg = arg };
	resource_path(resource_of(event), json_str(event, "metadata.namespace"), name, NULL, &path);
	report->path = strbuf_detach(&path);
	report->time = strdup(time);
	if (report->path && report->time)
		return report;
	report_free(report);
	return NULL;
}

int client_event(struct client *client, const cJSON *event, bool once, client_done_fn done,
		 void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	_cleanup_free_ char *body = cJSON_PrintUnformatted(event);

	if (!resource_of(event))
		return err_set(err, EINVAL, "not an event");
	struct report *report = body ? report_new(client, event, done, arg) : NULL;
	if (!report)
		return err_set(err, ENOMEM, "event");
	report->once = once;
	resource_path(resource_of(event), json_str(event, "metadata.namespace"), NULL, NULL, &path);
	strbuf_adds(&path, "?fieldManager=afterglow");
	struct client_request request = {
		.method = "POST", .path = strbuf_str(&path), .body = body, .drop = report_free
	};
	int r = strbuf_failed(&path) ?
			err_set(err, ENAMETOOLONG, "event") :
			client_start(client, &request, events_on_created, report, NULL, err);
	if (r < 0)
		report_free(report);
	return r;
}
