/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the requests for a list, a watch or a stream. */
#include "operator/cache/list_watch.h"

#include <string.h>

#include "lib/json.h"
#include "operator/kube/object.h"

#define INITIAL_EVENTS_END "k8s.io/initial-events-end"

const char *list_watch_accept(const struct list_watch *lw, bool list)
{
	if (!lw->metadata_only)
		return NULL;
	return list ? "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1" :
		      "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
}

static void list_watch_add_query(struct strbuf *path, const char *name, const char *value)
{
	if (!value || !*value)
		return;
	strbuf_addf(path, "&%s=", name);
	url_encode(value, path);
}

void list_watch_list_path(const struct list_watch *lw, const char *token, bool unlimited,
			  struct strbuf *out)
{
	resource_path(lw->resource, lw->namespace, NULL, NULL, out);
	strbuf_adds(out, unlimited ? "?limit=0" : "?limit=500");
	list_watch_add_query(out, "labelSelector", lw->label_selector);
	list_watch_add_query(out, "continue", token);
}

void list_watch_watch_path(const struct list_watch *lw, const char *rv, int timeout_s,
			   struct strbuf *out)
{
	resource_path(lw->resource, lw->namespace, NULL, NULL, out);
	strbuf_addf(out, "?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d", timeout_s);
	list_watch_add_query(out, "labelSelector", lw->label_selector);
	if (rv)
		list_watch_add_query(out, "resourceVersion", rv);
	else
		strbuf_adds(
			out,
			"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&resourceVersion=");
}

bool list_watch_ends_initial(const cJSON *bookmark)
{
	return TEXT_IS_ONE_OF(object_annotation(bookmark, INITIAL_EVENTS_END), "true");
}

/*
 * Returns the code that a Status stands for. Old servers sent the reason Expired with
 * another code; and a version that is too new for the server, after it was
 * restored from a copy, is as useless as one that is too old.
 */
int list_watch_code(const cJSON *status, int fallback)
{
	const char *reason = json_str(status, "reason");
	const cJSON *causes = json_get(status, "details.causes");

	if (json_find(causes, "reason", "ResourceVersionTooLarge"))
		return 410;
	if (reason && (strcmp(reason, "Expired") == 0 || strcmp(reason, "Gone") == 0))
		return 410;
	return (int)json_int(status, "code", fallback);
}
