/* SPDX-License-Identifier: Apache-2.0 */
/* RayFailures as Events of their RayCluster. */
#include "operator/herald.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/failure_class.h"
#include "lib/json.h"
#include "lib/log.h"
#include "lib/strmap.h"
#include "lib/units.h"
#include "operator/kube/events.h"
#include "operator/raycluster/event.h"
#include "operator/told.h"

#define AGAIN_NS (600 * NS_PER_SEC)
#define KEY_MAX 600

struct herald {
	struct client *client;
	struct watches *watches;
	struct strmap told; /* "CLASS namespace/name" -> int64_t: when */
};

int herald_new(struct client *client, struct watches *watches, struct herald **ret_herald, struct err *err)
{
	struct herald *herald = calloc(1, sizeof(*herald));

	if (!herald)
		return err_set(err, ENOMEM, "herald");
	herald->client = client;
	herald->watches = watches;
	*ret_herald = herald;
	return 0;
}

void herald_free(struct herald *herald)
{
	if (!herald)
		return;
	strmap_release(&herald->told, free);
	free(herald);
}

static bool is_time(struct herald *herald, const char *class, const char *cluster)
{
	char key[KEY_MAX];

	snprintf(key, sizeof(key), "%s %s", class, cluster);
	return told_is_time(&herald->told, key, now_boottime_ns(), AGAIN_NS);
}

/* That somebody deleted a pod is no news to him. */
static bool is_news(const char *class)
{
	return class && strcmp(class, failure_class_name(FAILURE_POD_DELETED)) != 0;
}

static void on_written(void *arg, struct client_response *response)
{
	(void)arg;
	if (response->err.code)
		log_warning_limited("an Event was not written: %s", err_text(&response->err));
}

static cJSON *event_of(const cJSON *cluster, const cJSON *failure)
{
	const char *namespace = json_str(failure, "metadata.namespace"), *verdict = json_str(failure, "spec.verdict");
	size_t len = MIN(strlen(verdict), (size_t)500);
	char note[1024];

	/* The recorder's sentences end with a full stop, the operator's do not. */
	while (len && verdict[len - 1] == '.')
		len--;
	snprintf(note, sizeof(note), "%.*s. More: kubectl describe rayfailure -n %.63s %.200s; all: kubectl get rayfailures -n %.63s -l "
		 "ray.io/cluster=%.63s", (int)len, verdict, namespace, json_str(failure, "metadata.name"), namespace,
		 json_str(cluster, "metadata.name"));
	return event_warning(cluster, json_str(failure, "spec.class"), "Record", note, now_realtime_ns());
}

void herald_tell(struct herald *herald, const cJSON *failure)
{
	const char *class = json_str(failure, "spec.class"), *namespace = json_str(failure, "metadata.namespace");
	const char *name = json_str(failure, "spec.cluster");
	_cleanup_json_ cJSON *event = NULL;
	struct err err = { 0 };
	const cJSON *cluster;
	char key[512];

	if (!is_news(class) || !name || !namespace || !json_str(failure, "spec.verdict"))
		return;
	snprintf(key, sizeof(key), "%s/%s", namespace, name);
	cluster = store_get(watches_store(herald->watches, WATCH_CLUSTERS), key);
	if (cluster && is_time(herald, class, key))
		event = event_of(cluster, failure);
	watches_drop_views(herald->watches);
	if (event && client_event(herald->client, event, on_written, NULL, &err) < 0)
		log_warning_limited("an Event was not written: %s", err_text(&err));
}
