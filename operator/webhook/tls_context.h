/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an SSL_CTX for the webhook's server from PEM texts. */
#pragma once

#include <openssl/ssl.h>

#include "lib/err.h"

#define TLS_CONTEXT_CHAIN_MAX 8 /* certificates, the server's own included; more are left out */

/*
 * The context has TLS 1.2 or later, without renegotiation, compression and resumption, so that each
 * connection is verified with the certificate that it gets. err says which of the texts is wrong.
 */
int tls_context_new(const char *cert_pem, const char *key_pem, SSL_CTX **ret_context,
		    struct err *err);
