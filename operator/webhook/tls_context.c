/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an SSL_CTX from PEM texts. */
#include "operator/webhook/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include "operator/webhook/x509.h"

static int tls_context_fail(struct err *err, const char *what)
{
	unsigned long code = ERR_peek_last_error();
	const char *why = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return err_set(err, EPROTO, "%s%s%s", what, why ? ": " : "", why ? why : "");
}

static SSL_CTX *strict_context(void)
{
	SSL_CTX *context = SSL_CTX_new(TLS_server_method());

	if (!context)
		return NULL;
	SSL_CTX_set_options(context,
			    SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_NO_TICKET);
	SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
	/* Without this, an idle connection keeps 34 kB for records. */
	SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_set_num_tickets(context, 0) == 1 &&
	    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
	    SSL_CTX_set_cipher_list(context, "ECDHE+AESGCM:ECDHE+CHACHA20") == 1)
		return context;
	SSL_CTX_free(context);
	return NULL;
}

static int use_chain(SSL_CTX *context, const char *pem, struct err *err)
{
	_cleanup_bundle_ struct x509_bundle chain = { 0 };

	_Static_assert(X509_BUNDLE_MAX == TLS_CONTEXT_CHAIN_MAX, "a chain is read as a bundle");
	x509_bundle_read(&chain, pem);
	if (chain.n == 0)
		return err_set(err, EINVAL, "there is no certificate in the PEM text");
	if (SSL_CTX_use_certificate(context, chain.certs[0]) != 1)
		return tls_context_fail(err, "the certificate cannot be used");
	for (size_t i = 1; i < chain.n; i++)
		if (SSL_CTX_add1_chain_cert(context, chain.certs[i]) != 1)
			return tls_context_fail(err, "a certificate of the chain cannot be used");
	return 0;
}

/* The password of an encrypted key is "", so that OpenSSL does not ask for it on the terminal. */
static int use_key(SSL_CTX *context, const char *pem, struct err *err)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)"") : NULL;
	int r = 0;

	if (!key)
		r = tls_context_fail(err, "the private key cannot be read");
	else if (SSL_CTX_use_PrivateKey(context, key) != 1 ||
		 SSL_CTX_check_private_key(context) != 1)
		r = tls_context_fail(err, "the private key is not the certificate's");
	EVP_PKEY_free(key);
	BIO_free(in);
	return r;
}

int tls_context_new(const char *cert_pem, const char *key_pem, SSL_CTX **ret_context,
		    struct err *err)
{
	SSL_CTX *context = strict_context();
	int r = context ? use_chain(context, cert_pem, err) : tls_context_fail(err, "TLS");

	if (r == 0)
		r = use_key(context, key_pem, err);
	if (r < 0) {
		SSL_CTX_free(context);
		return r;
	}
	*ret_context = context;
	return 0;
}
