/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for single objects: read, create, apply, merge, delete. */
#include "operator/kube/client.h"

#include <errno.h>

#include "lib/oom.h"
#include "lib/strbuf.h"
#include "lib/utf8.h"

#define URL_MAX 16384

/* Starts a request for the path that was collected in `path`. */
static int start_simple(struct client *client, const char *method, const struct strbuf *path,
			const char *content_type, const char *body, const char *const *fields,
			client_done_fn done, void *arg, struct err *err)
{
	struct client_request request = {
		.method = method,
		.fields = fields,
		.path = strbuf_str(path),
		.content_type = content_type,
		.body = body,
	};

	if (strbuf_failed(path))
		return err_set(err, ENAMETOOLONG, "path of a %s", method);
	return client_start(client, &request, done, arg, NULL, err);
}

int client_get(struct client *client, const struct resource *resource, const char *namespace,
	       const char *name, client_done_fn done, void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);

	resource_path(resource, namespace, name, NULL, &path);
	return start_simple(client, "GET", &path, NULL, NULL, NULL, done, arg, err);
}

/* Makes the path of a write: to the object, or to the list of its kind. */
static int object_path(const cJSON *object, bool to_list, const char *subresource,
		       struct strbuf *path, struct err *err)
{
	const struct resource *resource = resource_of(object);
	const char *namespace = json_str(object, "metadata.namespace"),
		   *name = json_str(object, "metadata.name");

	if (!resource)
		return err_set(err, EINVAL, "no such kind: %s %s", json_str(object, "apiVersion"),
			       json_str(object, "kind"));
	if (!namespace && !resource_is_cluster_wide(resource))
		return err_set(err, EINVAL, "%s without a namespace", resource->kind);
	if (!name && !to_list)
		return err_set(err, EINVAL, "%s without a name", resource->kind);
	resource_path(resource, namespace, to_list ? NULL : name, subresource, path);
	return 0;
}

int client_create(struct client *client, const cJSON *object, const char *const *fields,
		  client_done_fn done, void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);
	_cleanup_free_ char *body = cJSON_PrintUnformatted(object);
	int r = object_path(object, true, NULL, &path, err);

	if (r < 0)
		return r;
	if (!body)
		return err_set(err, ENOMEM, "create a %s", json_str(object, "kind"));
	strbuf_adds(&path, "?fieldManager=" CLIENT_FIELD_MANAGER);
	return start_simple(client, "POST", &path, "application/json", body, fields, done, arg,
			    err);
}

static int client_objects_patch(struct client *client, const cJSON *object, const char *subresource,
				const char *query, const char *content_type, client_done_fn done,
				void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX),
				       body = STRBUF_INIT(CLIENT_OBJECT_MAX);
	_cleanup_free_ char *text = cJSON_PrintUnformatted(object);
	int r = object_path(object, false, subresource, &path, err);

	if (r < 0)
		return r;
	if (text)
		utf8_escape_json(text, &body); /* what is applied is read as YAML */
	if (!text || strbuf_failed(&body))
		return err_set(err, ENOMEM, "patch a %s", json_str(object, "kind"));
	strbuf_adds(&path, query);
	return start_simple(client, "PATCH", &path, content_type, strbuf_str(&body), NULL, done,
			    arg, err);
}

int client_apply(struct client *client, const cJSON *object, const char *subresource,
		 client_done_fn done, void *arg, struct err *err)
{
	return client_objects_patch(client, object, subresource,
				    "?fieldManager=" CLIENT_FIELD_MANAGER "&force=true",
				    "application/apply-patch+yaml", done, arg, err);
}

int client_merge(struct client *client, const cJSON *object, client_done_fn done, void *arg,
		 struct err *err)
{
	return client_objects_patch(client, object, NULL, "?fieldManager=" CLIENT_FIELD_MANAGER,
				    "application/merge-patch+json", done, arg, err);
}

int client_merge_status(struct client *client, const cJSON *object, client_done_fn done, void *arg,
			struct err *err)
{
	return client_objects_patch(client, object, "status", "?fieldManager=" CLIENT_FIELD_MANAGER,
				    "application/merge-patch+json", done, arg, err);
}

static char *delete_options(const cJSON *object, int grace_s)
{
	size_t lost = oom_count();
	_cleanup_json_ cJSON *options = cJSON_CreateObject();
	static const char *const fields[] = { "uid", "resourceVersion" };

	json_set_str(options, "apiVersion", "v1");
	json_set_str(options, "kind", "DeleteOptions");
	json_set_str(options, "propagationPolicy", "Background");
	if (grace_s >= 0)
		json_set_int(options, "gracePeriodSeconds", grace_s);
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *value = json_str(json_get(object, "metadata"), fields[i]);
		if (value)
			json_set_str(json_object_at(options, "preconditions"), fields[i], value);
	}
	/*
	 * Without its preconditions the request would delete any object that has the name by then.
	 */
	return oom_count() == lost ? cJSON_PrintUnformatted(options) : NULL;
}

int client_delete(struct client *client, const cJSON *object, int grace_s, client_done_fn done,
		  void *arg, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(URL_MAX);
	_cleanup_free_ char *body = delete_options(object, grace_s);
	int r = object_path(object, false, NULL, &path, err);

	if (r < 0)
		return r;
	if (!json_str(object, "metadata.uid"))
		return err_set(err, EINVAL, "delete a %s without a uid", json_str(object, "kind"));
	if (!body)
		return err_set(err, ENOMEM, "delete a %s", json_str(object, "kind"));
	return start_simple(client, "DELETE", &path, "application/json", body, NULL, done, arg,
			    err);
}
