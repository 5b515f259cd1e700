/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parses the answers of WebHDFS: file status, attributes, exceptions, and redirects for data. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/ship/fault.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/plan.h"

#define WEBHDFS_PREFIX "/webhdfs/v1/"

/* Sets the fault of an answer whose status is not 2xx. host is named in its text. Returns -1. */
int webhdfs_fault(const struct http_answer *answer, const char *host, struct fault *fault);
/* Reads the name of the RemoteException, such as "FileNotFoundException"; "" if there is none. */
void webhdfs_exception(const struct http_answer *answer, char name[static 64]);

/*
 * Sets the fault of an answer to a request with a ticket of Kerberos. HDFS does not say why it
 * refuses a ticket, but its clock may show the reason. host and principal are named in the text.
 * Returns -1.
 */
int webhdfs_ticket_fault(const struct http_answer *answer, const char *host, const char *principal,
			 struct fault *fault);
/* Whether the answer refuses a delegation token that has expired or is not known. */
bool webhdfs_token_refused(const struct http_answer *answer);
/* Parses the answer to GETDELEGATIONTOKEN. The caller wipes and frees *ret_token. */
int webhdfs_read_token(const struct http_answer *answer, char **ret_token, struct err *err);

struct webhdfs_status {
	bool is_file;
	int64_t length; /* bytes */
};
/* Parses the answer to GETFILESTATUS. */
int webhdfs_read_status(const struct http_answer *answer, struct webhdfs_status *ret_status,
			struct err *err);

/* Reads the SHA-256 in the answer to GETXATTRS; "" if there is none. */
void webhdfs_read_digest(const struct http_answer *answer, char ret_digest[static SHA256_TEXT_MAX]);

/*
 * Whether the answer is {"boolean": false}: the request was refused without a reason. An answer
 * without a body means success.
 */
bool webhdfs_refused(const struct http_answer *answer);

/*
 * Checks whether data may be sent to the location of a NameNode's redirect. Any host is allowed,
 * because DataNodes have names of their own, but only WebHDFS, the same operation ("op=CREATE"),
 * and never plain HTTP after TLS. Returns 0, or -1 with FAULT_REDIRECT.
 */
int webhdfs_check_location(const char *location, const char *operation, bool tls,
			   struct fault *fault);
