/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the Azure store share these: the identity, the place of the container, and the functions that make a request. */
#pragma once

#include "sidecar/ship/azure_answer.h"
#include "sidecar/ship/azure_identity.h"
#include "sidecar/ship/azure_sign.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/object.h"
#include "sidecar/ship/store.h"

struct azure {
	struct store store;
	struct http *http;
	struct azure_place place;
	char endpoint[600]; /* without a slash at its end */
	struct azure_identity identity;
};

/* A request to a blob. Members that it shares with struct http_request mean the same. */
struct azure_request {
	const char *method, *key;
	struct azure_param params[AZURE_PARAMS_MAX + 1]; /* in the order of their names */
	const char *md5;				 /* base64, of the body; NULL: the body is empty */
	const char *headers[4];				 /* additional headers "x-ms-...", NULL-terminated */
	const char *body;
	int fd;
	int64_t offset, len;
	int64_t stall_s;
	bool unasked;
	void (*on_sent)(void *arg, int64_t sent);
	void *arg;
};

/* A request that is under way, with everything it points to. The caller zeroes it, and releases it when the request is over. */
struct azure_call {
	struct strbuf url;
	char date[64], md5[64], authorization[CREDENTIAL_MAX + 64];
	const char *headers[AZURE_HEADERS_MAX + 1];
	struct http_request request;
};
int azure_start(struct azure *azure, const struct azure_request *request, struct azure_call *call, struct fault *fault);
void azure_call_release(struct azure_call *call);

/* Makes a request and waits for it. Returns 0 if it was answered, whatever the status; see http_call. */
int azure_call(struct azure *azure, const struct azure_request *request, struct http_transfer **ret_transfer, struct fault *fault);

/* The headers with the type and the digest of a blob. */
struct azure_blob_headers {
	char type[120], meta[100];
};
void azure_blob_headers(const struct item *item, struct azure_blob_headers *ret_headers);

/* The MD5 of text, with which Azure checks the data that it receives. -1: there is no memory. */
int azure_md5(const char *text, size_t len, char ret_md5[static MD5_TEXT_MAX]);

/* Sends a file in blocks. Blocks that an earlier run has sent are not sent again. */
int azure_put_blocks(struct azure *azure, const struct item *item, const char *key, struct fault *fault);
