/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the identity with which requests to HDFS are made. It uses the first of these that
 * exists:
 *   the keytab of the Secret, with which Kerberos proves our identity to the NameNode. The NameNode
 *   then gives us a delegation token
 *   the delegation token of the Secret
 *   the user's name, which an HDFS without Kerberos believes
 *
 * As in Hadoop's own clients, Kerberos is used only to get a token: the NameNode's redirects to
 * DataNodes contain the token, a ticket for each request would cost two more messages to a KDC, and
 * a server can use the token at this HDFS alone. Each run has a token of its own, and cancels it at
 * its end.
 */
#pragma once

#include "sidecar/ship/credentials.h"
#include "sidecar/ship/http.h"
#include "sidecar/ship/kerberos.h"
#include "sidecar/ship/options.h"

struct webhdfs_identity {
	const struct ship_options *options;
	struct credentials credentials;
	struct kerberos *kerberos; /* NULL: there is no keytab */
	char *token; /* got by Kerberos; NULL: there is none yet, or it was dropped */
};

/*
 * Reads the Secret and chooses the identity, without the network. options must outlive it. The
 * caller releases it, also after a failure.
 */
int webhdfs_identity_open(struct webhdfs_identity *id, const struct ship_options *options,
			  struct fault *fault);
void webhdfs_identity_release(struct webhdfs_identity *id);

/*
 * To be called before each request to the NameNode: gets a token if there is a keytab and no token,
 * else does nothing.
 */
int webhdfs_identity_renew(struct webhdfs_identity *id, struct http *http, struct fault *fault);
/* Appends a URL up to its operation. query is "GETFILESTATUS" or more, encoded. */
void webhdfs_identity_begin_url(const struct webhdfs_identity *id, const char *path,
				const char *query, struct strbuf *url);
/*
 * Appends the identity to the URL of a request: "&delegation=..." or "&user.name=...", or nothing.
 */
void webhdfs_identity_add(const struct webhdfs_identity *id, struct strbuf *url);
/*
 * To be called when HDFS refused the token. Returns whether the next webhdfs_identity_renew gets
 * another one.
 */
bool webhdfs_identity_drop(struct webhdfs_identity *id);
/*
 * Cancels the token, so that the NameNode need not remember it until it expires. Failing to do so
 * is no fault.
 */
void webhdfs_identity_end(struct webhdfs_identity *id, struct http *http);
