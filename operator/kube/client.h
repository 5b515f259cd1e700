/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes requests to the API server: read, create, apply, delete, and raw requests for lists
 * and watches. The client adds our credentials and reads their files anew: every minute,
 * and at once after a 401, after which it tries the request once more. It parses the
 * answers.
 *
 * Requests are sent in their order. There is no limit of their rate: the API server guards itself
 * by priority and fairness, and knows its other clients; and the number of ours that are under way
 * is bounded. Before a write is sent, the fence is asked.
 */
#pragma once

#include "lib/json.h"
#include "operator/kube/client_response.h"
#include "operator/kube/http.h"
#include "operator/kube/kubeconfig.h"
#include "operator/kube/resource.h"

#define CLIENT_DEADLINE_NS ((int64_t)30 * 1000000000)
#define CLIENT_OBJECT_MAX ((size_t)16 << 20) /* bytes of one object */
#define CLIENT_FIELD_MANAGER "afterglow" /* who owns what we write, in managedFields */

struct client;
struct client_call;

typedef void (*client_done_fn)(void *arg, struct client_response *response);

/* Called after each request, for metrics; code 0 means no answer. */
typedef void (*client_observe_fn)(void *arg, const char *method, int code);
/* Called when credentials could not be read again; the old ones stay in use. */
typedef void (*client_trouble_fn)(void *arg, const struct err *err);

/* Takes the content of config, which is empty afterwards, even on failure. */
int client_new(struct event_base *base, struct kubeconfig *config, struct client **ret_client,
	       struct err *err);
void client_free(struct client *client); /* drops all calls without their callbacks */
void client_observe(struct client *client, client_observe_fn observe, client_trouble_fn trouble,
		    void *arg);
/*
 * The fence: returns whether we may write at this moment. It is asked right before each write is
 * sent, when its connection is established.
 */
typedef bool (*client_fence_fn)(void *arg);
void client_set_fence(struct client *client, client_fence_fn fence, void *arg);
/* Returns the host and port, "10.0.0.1:443", for metrics. */
const char *client_host(const struct client *client);
/* Returns the URL, "https://10.0.0.1:443". */
const char *client_server(const struct client *client);
/* Returns the namespace of the kubeconfig's context, or of our pod. */
const char *client_namespace(const struct client *client);

struct client_request {
	const char *method;
	const char *path; /* with the query */
	const char *accept; /* NULL: application/json */
	const char *content_type;
	const char *body; /* NULL: none */
	int64_t deadline_ns; /* 0: CLIENT_DEADLINE_NS */
	size_t answer_max; /* 0: CLIENT_OBJECT_MAX */
	bool asks; /* a POST that changes nothing, so the fence is not asked */
	/* called in place of done when the call is cancelled; may be NULL */
	void (*drop)(void *arg);
	/*
	 * an answer that is not a Status keeps only these (projection.h); NULL: all. Must outlive
	 * the call
	 */
	const char *const *fields;
	/* gets the bytes of a stream, so that done gets none; NULL: done gets the whole answer */
	http_data_fn data;
};
/* Calls done once unless cancelled; never before it returns. */
int client_start(struct client *client, const struct client_request *request, client_done_fn done,
		 void *arg, struct client_call **ret_call, struct err *err);
void client_cancel(struct client_call *call);

int client_get(struct client *client, const struct resource *resource, const char *namespace,
	       const char *name, client_done_fn done, void *arg, struct err *err);
/* POST of an object with apiVersion, kind and namespace. fields: as in client_request. */
int client_create(struct client *client, const cJSON *object, const char *const *fields,
		  client_done_fn done, void *arg, struct err *err);
/*
 * Applies object on the server side as field manager "afterglow", forced, so that we own these
 * fields. subresource is NULL or "status".
 */
int client_apply(struct client *client, const cJSON *object, const char *subresource,
		 client_done_fn done, void *arg, struct err *err);
/*
 * Merges the object into the stored object. If it has a resourceVersion, only if that is still the
 * same.
 */
int client_merge(struct client *client, const cJSON *object, client_done_fn done, void *arg,
		 struct err *err);
/*
 * Does the same for the status subresource. The server ignores the rest of object, except
 * metadata.uid, which must be the same.
 */
int client_merge_status(struct client *client, const cJSON *object, client_done_fn done, void *arg,
			struct err *err);
/*
 * Deletes the object that metadata.{namespace,name} names, if it still has metadata.uid (and
 * resourceVersion, if given), so that a successor of the same name is safe. grace_s < 0 means the
 * object's own grace period.
 */
int client_delete(struct client *client, const cJSON *object, int grace_s, client_done_fn done,
		  void *arg, struct err *err);
