/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves our identity to HTTP servers by Kerberos: gets tickets from a KDC with the keytab of a
 * Secret, and keeps them in memory. Neither the environment nor a krb5.conf of the machine counts,
 * and no library that a krb5.conf names is loaded (lib/static/no_plugins.c).
 * Asking KDCs blocks: for 18 s if there is one and it does not answer, for about a minute if there
 * are three that accept connections.
 */
#pragma once

#include "lib/strbuf.h"
#include "sidecar/ship/credentials.h"

struct kerberos;

/*
 * Reads krb5.conf and the keytab, and chooses the principal: that of the Secret, or else the
 * keytab's first. credentials must have a keytab and outlive *ret_kerberos, which the caller frees
 * with kerberos_free. Returns 0, or -1 with fault.
 */
int kerberos_new(const struct credentials *credentials, struct kerberos **ret_kerberos,
		 struct fault *fault);
/* Wipes and frees all tickets. */
void kerberos_free(struct kerberos *k);

/* Our name, such as "ray@EXAMPLE.COM". */
const char *kerberos_principal(const struct kerberos *k);

/*
 * Appends "Authorization: Negotiate ..." for a server to header, which has room for
 * NEGOTIATE_HEADER_MAX. host is HOST[:PORT]. Gets new tickets each time, so none has expired. The
 * header is for one request: a server refuses it the second time.
 */
int kerberos_authorize(struct kerberos *k, const char *host, struct strbuf *header,
		       struct fault *fault);
