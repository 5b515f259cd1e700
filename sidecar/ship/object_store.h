/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store of objects, S3 or Azure Blob Storage: its requests, and the operations that are the same
 * for both. What differs stands in a struct object_service of store_s3.c and of store_azure.c.
 */
#pragma once

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/object.h"

#define OBJECT_PARAMS_MAX 4
#define OBJECT_HEADERS_MAX 10

struct object_store;

/* A parameter of a URL, not encoded. */
struct object_param {
	const char *name, *value; /* name NULL: the end of a list */
};

/* A request to an object. */
struct object_request {
	struct http_request http; /* without URL, headers and signature */
	const char *key;
	struct object_param params[OBJECT_PARAMS_MAX + 1]; /* in the order of their names */
	const char *sha256; /* of the body, in hexadecimal, for S3; NULL: the body is empty */
	const char *md5; /* of the body, in base64; NULL: none is sent, nor another checksum */
	/* the object that the request creates, for the headers of objects; NULL: none */
	const struct item *creates;
	const char *header; /* an additional header; NULL: none */
};

/*
 * A request that is under way, with everything it points to. The caller releases it when the
 * request is over.
 */
struct object_call {
	struct strbuf url;
	char text[CREDENTIAL_MAX + 4096]; /* of the headers */
	size_t used;
	const char *headers[OBJECT_HEADERS_MAX + 1];
	size_t n_headers;
	struct http_request request;
};

struct object_service {
	const char *range; /* the name of the header that asks for a part of an object */
	const char *put_header; /* of a request that writes a whole object; NULL: none */
	int stored; /* the status of an answer: the body is stored */
	/* Makes the URL, and the headers that are the service's own, and signs. */
	int (*prepare)(struct object_store *o, const struct object_request *request,
		       struct object_call *call, struct fault *fault);
	/* Sets the fault of an answer that is an error. Returns -1. */
	int (*refused)(struct object_store *o, struct http_answer *answer, struct fault *fault);
	/*
	 * Whether the answer says that there is no such object, in a bucket or container that
	 * exists.
	 */
	bool (*is_missing)(const struct http_answer *answer);
	/* Sends a file in parts. Parts that an earlier run has sent are not sent again. */
	int (*put_parts)(struct object_store *o, const struct item *item, const char *key,
			 struct fault *fault);
};

struct object_store {
	struct store store;
	const struct object_service *service;
	struct http *http;
	int64_t single_max; /* bytes; larger files are sent in parts */
};

/* Appends "?NAME=VALUE&..." to a URL. */
void object_add_params(struct strbuf *url, const struct object_param *params);
/* Adds a header to a request that is being prepared. Without room for it the request fails. */
void object_add_header(struct object_call *call, const char *format, ...) _printf_(2, 3);

int object_start(struct object_store *o, const struct object_request *request,
		 struct object_call *call, struct fault *fault);
void object_call_release(struct object_call *call);
/*
 * Makes a request and waits for it. Returns 0 if it was answered, whatever the status; see
 * http_call.
 */
int object_call(struct object_store *o, const struct object_request *request,
		struct http_transfer **ret_transfer, struct fault *fault);
/* Makes the fault of an answer. Returns -1. */
static inline int object_refused(struct object_store *o, struct http_answer *answer,
				 struct fault *fault)
{
	return o->service->refused(o, answer, fault);
}

/* For the table of the store's operations (store.h). */
int object_store_look(struct store *s, const struct item *item, enum look *ret_look,
		      struct fault *fault);
int object_store_put(struct store *s, const struct item *item, struct fault *fault);
int object_store_get(struct store *s, const char *path, int64_t offset, size_t len,
		     struct strbuf *out, struct fault *fault);
