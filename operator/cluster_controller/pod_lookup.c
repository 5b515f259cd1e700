/* SPDX-License-Identifier: Apache-2.0 */
/* Asks the API server for pods that may or may not exist. */
#include "operator/cluster_controller/pod_lookup.h"

#include <errno.h>
#include <stdio.h>

#include "lib/log.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "operator/cache/list_watch.h"
#include "operator/raycluster/pod_labels.h"
#include "operator/raycluster/pod_state.h"

#define PATH_LEN_MAX 4096

static void pod_lookup_fail(struct pod_lookup *l, const struct client_response *response)
{
	l->done(l->arg, response->retry_after_ns, &response->err);
}

/* --- By name ------------------------------------------------------------------------------ */

static void on_restored(void *arg, struct client_response *response)
{
	struct pod_lookup *l = arg;
	_cleanup_json_ cJSON *pod = TAKE_PTR(l->pod);

	if (response->status / 100 == 2) {
		log_info("pod %s/%s: restored the labels by which RayCluster %s finds it",
			 l->namespace, l->name, l->cluster);
		watches_learn(l->watches, TAKE_PTR(response->object));
	} else if (response->status / 100 != 4 || response->status == 429) {
		pod_lookup_fail(l, response);
		return;
	} else {
		log_warning_limited("pod %s/%s: its labels were not restored: %s", l->namespace,
				    l->name, err_text(&response->err));
		/*
		 * The pod exists in any case. If it were missing from our copies, another one would
		 * be made.
		 */
		if (response->status != 404 && response->status != 409)
			watches_learn(l->watches, TAKE_PTR(pod));
	}
	expectations_settle(l->expected, l->name);
	pod_lookup_start(l);
}

/* Returns whether there is an answer to wait for. */
static bool pod_lookup_restore_labels(struct pod_lookup *l, const cJSON *pod)
{
	_cleanup_json_ cJSON *patch =
		pod_is_terminating(pod) ? NULL : pod_labels_patch(pod, l->cluster);
	struct err err = { 0 };

	return patch && l->may_write(l->arg) &&
	       client_merge(l->client, patch, on_restored, l, &err) == 0;
}

static void pod_lookup_on_pod(void *arg, struct client_response *response)
{
	struct pod_lookup *l = arg;

	if (response->status == 404) {
		expectations_absent(l->expected, l->name, now_boottime_ns());
	} else if (response->status != 200) {
		pod_lookup_fail(l, response);
		return;
	} else if (!pod_is_owned(response->object, l->cluster_uid)) {
		expectations_settle(l->expected, l->name);
	} else if (pod_lookup_restore_labels(l, response->object)) {
		l->pod = TAKE_PTR(response->object);
		return;
	} else {
		watches_learn(l->watches, TAKE_PTR(response->object));
		expectations_settle(l->expected, l->name);
	}
	pod_lookup_start(l);
}

void pod_lookup_start(struct pod_lookup *l)
{
	const char *name = expectations_next(l->expected);
	struct err err = { 0 };

	if (!name || l->n++ >= POD_LOOKUP_MAX) {
		l->done(l->arg, 0, NULL);
		return;
	}
	snprintf(l->name, sizeof(l->name), "%s", name);
	if (client_get(l->client, resource_find("v1", "Pod"), l->namespace, l->name,
		       pod_lookup_on_pod, l, &err) < 0)
		l->done(l->arg, 0, &err);
}

/* --- All pods ----------------------------------------------------------------------------- */

static int pod_lookup_list_page(struct pod_lookup *l, const char *token, struct err *err);

static void pod_lookup_take_names(struct pod_lookup *l, const cJSON *list)
{
	const struct store *store = watches_store(l->watches, WATCH_PODS);
	char key[512];

	json_each(item, json_get(list, "items")) {
		const char *name = json_str(item, "metadata.name");

		if (name &&
		    snprintf(key, sizeof(key), "%s/%s", l->namespace, name) < (int)sizeof(key) &&
		    !store_has(store, key))
			expectations_ask(l->expected, name, NULL);
	}
}

static void on_page(void *arg, struct client_response *response)
{
	const char *token = json_str(response->object, "metadata.continue");
	struct pod_lookup *l = arg;
	struct err err = { 0 };

	if (response->status != 200) {
		pod_lookup_fail(l, response);
		return;
	}
	pod_lookup_take_names(l, response->object);
	if (!token || !*token)
		pod_lookup_start(l);
	else if (pod_lookup_list_page(l, token, &err) < 0)
		l->done(l->arg, 0, &err);
}

/*
 * Asks for a page. The names of clusters and the tokens of pages need no escaping. Only the pods'
 * metadata is requested: whole pods are several times as long.
 */
static int pod_lookup_list_page(struct pod_lookup *l, const char *token, struct err *err)
{
	static const char *const fields[] = { "metadata.continue", "items.metadata.name", NULL };
	static const struct list_watch metadata = { .metadata_only = true };
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_LEN_MAX);

	resource_path(resource_find("v1", "Pod"), l->namespace, NULL, NULL, &path);
	strbuf_addf(&path,
		    "?labelSelector="
		    "ray.io%%2Fcluster%%3D%s&limit=500",
		    l->cluster);
	if (token)
		strbuf_addf(&path, "&continue=%s", token);
	struct client_request request = { .method = "GET",
					  .path = strbuf_str(&path),
					  .accept = list_watch_accept(&metadata, true),
					  .fields = fields };
	return strbuf_failed(&path) ? err_set(err, ENAMETOOLONG, "a list of pods") :
				      client_start(l->client, &request, on_page, l, NULL, err);
}

void pod_lookup_start_with_list(struct pod_lookup *l)
{
	struct err err = { 0 };

	if (pod_lookup_list_page(l, NULL, &err) < 0)
		l->done(l->arg, 0, &err);
}
