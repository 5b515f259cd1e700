/* SPDX-License-Identifier: Apache-2.0 */
/* Parses an answer of the API server, and describes a failure in one line. Pure. */
#pragma once

#include "lib/json.h"
#include "operator/kube/http.h"

struct client_response {
	int status; /* 0: none, or none that came whole */
	/* the server's object or Status, or NULL; take it with TAKE_PTR to keep it */
	cJSON *object;
	const char *reason; /* of a Status: "AlreadyExists", or "" */
	int64_t retry_after_ns;
	/* the request may have been carried out: it, or a try before it, got no whole answer */
	bool maybe_done;
	struct err err; /* set unless status is 2xx: says all in one line */
};

/*
 * Makes the response to a request of that method and path. fields is as in client_request. The
 * object belongs to the caller; reason points into it.
 */
void client_response_read(const struct http_response *http, const char *method, const char *path,
			  const char *const *fields, struct client_response *ret_response);

/*
 * Returns whether a write was refused because its namespace is being deleted, or is gone, so that
 * another try is useless.
 */
bool client_namespace_ends(const struct client_response *response);
