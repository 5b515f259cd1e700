/* SPDX-License-Identifier: Apache-2.0 */
/* What WebHDFS answers: file status, attributes, exceptions as faults, where to send data. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_WEBHDFS_ANSWER_H
#define AFTERGLOW_SIDECAR_SHIP_WEBHDFS_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/plan.h"

#define WEBHDFS_PREFIX "/webhdfs/v1/"

/* The fault that an answer is which is not of 2xx. host: whom a message names. Returns -1. */
int webhdfs_fault(const struct http_answer *answer, const char *host, struct fault *fault);
/* "FileNotFoundException" and the like; "" when the answer has no RemoteException. */
void webhdfs_exception(const struct http_answer *answer, char name[static 64]);

struct webhdfs_status {
	bool is_file;
	int64_t length;
};
int webhdfs_read_status(const struct http_answer *answer, struct webhdfs_status *ret_status, struct err *err);

/* The digest that an answer to GETXATTRS holds, "" for none. */
void webhdfs_read_digest(const struct http_answer *answer, char ret_digest[static SHA256_TEXT_MAX]);

/* {"boolean": false}: refused without a reason. An answer without a body is a yes. */
bool webhdfs_said_no(const struct http_answer *answer);

/*
 * Whether a NameNode's redirect may be followed with the data: to any host, as its
 * DataNodes are, but to WebHDFS, for the same operation ("op=CREATE"), and not from TLS to plain text.
 */
int webhdfs_check_location(const char *location, const char *operation, bool tls, struct fault *fault);

#endif
