/* SPDX-License-Identifier: Apache-2.0 */
/* Parses one answer of the API server. */
#include "operator/kube/client_response.h"

#include <errno.h>
#include <string.h>

#include "lib/units.h"
#include "operator/kube/salvage.h"

static bool is_json(const struct http_response *http)
{
	return http->len > 0 && *http->body == '{';
}

/* Makes "POST /api/v1/namespaces/ns/pods: 409 AlreadyExists: pods "x" already exists". */
static void client_response_describe(const char *method, const char *path,
				     struct client_response *response)
{
	const char *question = strchr(path, '?');
	int len = question ? (int)(question - path) : (int)strlen(path);
	const char *message = json_str(response->object, "message");

	if (response->status == 0 || response->err.code)
		err_wrap(&response->err, "%s %.*s", method, len, path);
	else
		err_set(&response->err, EPROTO, "%s %.*s: %d%s%s%s%s", method, len, path,
			response->status, *response->reason ? " " : "", response->reason,
			message ? ": " : "", message ? message : "");
}

bool client_namespace_ends(const struct client_response *response)
{
	if (response->status == 404)
		return json_is(response->object, "details.kind", "namespaces");
	return response->status == 403 && json_find(json_get(response->object, "details.causes"),
						    "reason", "NamespaceTerminating");
}

void client_response_read(const struct http_response *http, const char *method, const char *path,
			  const char *const *fields, struct client_response *ret_response)
{
	struct client_response response = {
		.status = http->status,
		.reason = "",
		.retry_after_ns = http->retry_after_ns,
		.maybe_done = http->maybe_done,
		.err = http->err,
	};

	if (!http->err.code && is_json(http))
		salvage_text(http->body, http->len, http->status / 100 == 2 ? fields : NULL,
			     &response.object, http->status / 100 == 2 ? &response.err : NULL);
	if (http->status / 100 != 2 && json_str(response.object, "reason"))
		response.reason = json_str(response.object, "reason");
	/* The Status of a 429 may have the delay if the header does not. */
	if (!response.retry_after_ns && http->status >= 400)
		response.retry_after_ns =
			MIN(MAX(json_int(response.object, "details.retryAfterSeconds", 0), 0),
			    3600) *
			NS_PER_SEC;
	if (http->status / 100 != 2 || response.err.code)
		client_response_describe(method, path, &response);
	*ret_response = response;
}
