/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and verifies certificates, and bundles of them. */
#include "operator/webhook/x509.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <string.h>

void pem_free_key(char *key)
{
	if (key)
		OPENSSL_cleanse(key, strlen(key));
	free(key);
}

void pem_pair_release(struct pem_pair *pair)
{
	free(pair->cert);
	pem_free_key(pair->key);
	*pair = (struct pem_pair){ 0 };
}

/* Returns NULL if the text is missing or too long. */
static BIO *open_text(const char *text)
{
	size_t len = text ? strnlen(text, X509_PEM_MAX + 1) : 0;

	return len > 0 && len <= X509_PEM_MAX ? BIO_new_mem_buf(text, (int)len) : NULL;
}

/*
 * --- One certificate
 * --------------------------------------------------------------------------------------
 */

X509 *x509_first(const char *pem)
{
	BIO *in = open_text(pem);
	X509 *cert = in ? PEM_read_bio_X509(in, NULL, NULL, NULL) : NULL;

	BIO_free(in);
	ERR_clear_error();
	return cert;
}

static int64_t time_ns(const ASN1_TIME *time)
{
	struct tm tm;

	if (!time || ASN1_TIME_to_tm(time, &tm) != 1)
		return 0;
	time_t s = timegm(&tm);
	return s > INT64_MAX / NS_PER_SEC ? INT64_MAX : (int64_t)s * NS_PER_SEC;
}

int64_t x509_begins_ns(const X509 *cert)
{
	return time_ns(X509_get0_notBefore(cert));
}

int64_t x509_ends_ns(const X509 *cert)
{
	return time_ns(X509_get0_notAfter(cert));
}

bool x509_is_valid(const X509 *cert, int64_t now_ns)
{
	return x509_begins_ns(cert) <= now_ns && now_ns < x509_ends_ns(cert);
}

bool x509_is_due(const X509 *cert, int64_t now_ns)
{
	int64_t begins_ns = x509_begins_ns(cert), ends_ns = x509_ends_ns(cert);

	return now_ns >= ends_ns - (ends_ns / 3 - begins_ns / 3);
}

bool x509_is_ca(X509 *cert)
{
	return X509_check_ca(cert) == 1;
}

/* Without this callback OpenSSL would ask for a password on the terminal. */
static int no_password(char *, int, int, void *)
{
	return -1;
}

bool x509_key_matches(const X509 *cert, const char *key_pem)
{
	BIO *in = open_text(key_pem);
	EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_password, NULL) : NULL;
	bool matches = key && X509_check_private_key(cert, key) == 1;

	EVP_PKEY_free(key);
	BIO_free(in);
	ERR_clear_error();
	return matches;
}

bool x509_has_names(X509 *cert, const struct x509_names *names)
{
	for (size_t i = 0; i < names->n; i++)
		if (X509_check_host(cert, names->dns[i], 0, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT,
				    NULL) != 1)
			return false;
	return true;
}

/*
 * --- Bundles
 * ----------------------------------------------------------------------------------------------
 */

void x509_bundle_release(struct x509_bundle *bundle)
{
	for (size_t i = 0; i < bundle->n; i++)
		X509_free(bundle->certs[i]);
	*bundle = (struct x509_bundle){ 0 };
}

bool x509_bundle_has(const struct x509_bundle *bundle, const X509 *cert)
{
	for (size_t i = 0; i < bundle->n; i++)
		if (X509_cmp(bundle->certs[i], cert) == 0)
			return true;
	return false;
}

bool x509_bundle_has_all(const struct x509_bundle *bundle, const struct x509_bundle *part)
{
	for (size_t i = 0; i < part->n; i++)
		if (!x509_bundle_has(bundle, part->certs[i]))
			return false;
	return true;
}

bool x509_bundle_equal(const struct x509_bundle *a, const struct x509_bundle *b)
{
	if (a->n != b->n)
		return false;
	for (size_t i = 0; i < a->n; i++)
		if (X509_cmp(a->certs[i], b->certs[i]) != 0)
			return false;
	return true;
}

bool x509_bundle_add(struct x509_bundle *bundle, X509 *cert)
{
	if (x509_bundle_has(bundle, cert))
		return true;
	if (bundle->n == X509_BUNDLE_MAX || X509_up_ref(cert) != 1)
		return false;
	bundle->certs[bundle->n++] = cert;
	return true;
}

/*
 * Reads the certificates. PEM_read_bio skips text between the blocks; after a block that cannot be
 * read, it continues with the next.
 */
void x509_bundle_read(struct x509_bundle *bundle, const char *pem)
{
	BIO *in = open_text(pem);

	while (in && !BIO_eof(in)) {
		X509 *cert = PEM_read_bio_X509(in, NULL, NULL, NULL);

		if (cert)
			x509_bundle_add(bundle, cert);
		X509_free(cert);
	}
	BIO_free(in);
	ERR_clear_error();
}

char *x509_bundle_text(const struct x509_bundle *bundle)
{
	BIO *out = BIO_new(BIO_s_mem());
	bool written = out != NULL;
	char *data = NULL, *text = NULL;

	for (size_t i = 0; written && i < bundle->n; i++)
		written = PEM_write_bio_X509(out, bundle->certs[i]) == 1;
	if (written) {
		long len = BIO_get_mem_data(out, &data);
		text = strndup(data ? data : "", len > 0 ? (size_t)len : 0);
	}
	BIO_free(out);
	return text;
}

/*
 * Verifies as Go's verifier does, which the API server uses: it takes every certificate of the
 * bundle for a root, so a partial chain is enough.
 */
static bool x509_verify(X509_STORE *store, X509_STORE_CTX *ctx, X509 *leaf, int64_t now_ns)
{
	if (X509_STORE_CTX_init(ctx, store, leaf, NULL) != 1)
		return false;
	X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_PARTIAL_CHAIN | X509_V_FLAG_X509_STRICT);
	X509_VERIFY_PARAM_set_time(param, (time_t)(now_ns / NS_PER_SEC));
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	return X509_verify_cert(ctx) == 1;
}

bool x509_verifies(X509 *leaf, const struct x509_bundle *bundle, int64_t now_ns)
{
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	bool good = store && ctx;

	for (size_t i = 0; good && i < bundle->n; i++)
		good = !x509_is_ca(bundle->certs[i]) ||
		       X509_STORE_add_cert(store, bundle->certs[i]) == 1;
	good = good && x509_verify(store, ctx, leaf, now_ns);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	ERR_clear_error();
	return good;
}
