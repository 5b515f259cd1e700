/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a CA and a leaf. */
#include <errno.h>
#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <string.h>

#include "lib/strbuf.h"
#include "operator/webhook/x509.h"

#define SERIAL_BITS 127 /* positive, and within the 20 bytes of RFC 5280 */
#define SAN_MAX (X509_NAMES_MAX * 264)

static int x509_make_fail(struct err *err, const char *what)
{
	unsigned long code = ERR_get_error();
	const char *why = code ? ERR_reason_error_string(code) : NULL;

	ERR_clear_error();
	return err_set(err, EPROTO, "%s: %s", what, why ? why : "OpenSSL refuses");
}

/*
 * --- Names
 * ------------------------------------------------------------------------------------------------
 */

/*
 * Accepts only characters of a DNS name, because in OpenSSL's notation a comma begins another name.
 */
static bool is_dns_name(const char *name)
{
	return *name && strlen(name) < 254 &&
	       name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-.")] == '\0';
}

int x509_service_names(const char *service, const char *namespace, const char *domain,
		       struct x509_names *ret_names, struct err *err)
{
	struct x509_names names = { .n = domain && *domain ? 4 : 3 };

	if (strlen(service) > 63 || strlen(namespace) > 63)
		return err_set(
			err, EINVAL,
			"a Service's and a namespace's name have 63 characters at most: %.70s in %.70s",
			service, namespace);
	snprintf(names.dns[0], sizeof(names.dns[0]), "%s", service);
	snprintf(names.dns[1], sizeof(names.dns[1]), "%s.%s", service, namespace);
	snprintf(names.dns[2], sizeof(names.dns[2]), "%s.%s.svc", service, namespace);
	if (names.n == 4)
		snprintf(names.dns[3], sizeof(names.dns[3]), "%s.%s.svc.%s", service, namespace,
			 domain);
	for (size_t i = 0; i < names.n; i++)
		if (!is_dns_name(names.dns[i]) || strchr(service, '.') || strchr(namespace, '.'))
			return err_set(err, EINVAL, "%.200s is no name of a Service", names.dns[i]);
	*ret_names = names;
	return 0;
}

/*
 * --- Parts of a certificate
 * -------------------------------------------------------------------------------
 */

static bool set_serial(X509 *cert)
{
	BIGNUM *serial = BN_new();
	bool set = serial &&
		   BN_rand(serial, SERIAL_BITS, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
		   BN_to_ASN1_INTEGER(serial, X509_get_serialNumber(cert));

	BN_free(serial);
	return set;
}

static bool set_life(X509 *cert, int64_t from_ns, int64_t until_ns)
{
	return ASN1_TIME_set(X509_getm_notBefore(cert), (time_t)(from_ns / NS_PER_SEC)) &&
	       ASN1_TIME_set(X509_getm_notAfter(cert), (time_t)(until_ns / NS_PER_SEC));
}

static bool set_subject(X509 *cert, const char *common_name)
{
	return X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN", MBSTRING_ASC,
					  (const unsigned char *)common_name, -1, -1, 0) == 1;
}

static bool add_extension(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;
	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	bool added = extension && X509_add_ext(cert, extension, -1) == 1;

	X509_EXTENSION_free(extension);
	return added;
}

struct extension {
	int nid;
	const char *value;
};

static bool add_extensions(X509 *cert, X509 *issuer, const struct extension *extensions, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!add_extension(cert, issuer, extensions[i].nid, extensions[i].value))
			return false;
	return true;
}

static bool x509_make_begin(X509 *cert, EVP_PKEY *key, int64_t from_ns, int64_t until_ns,
			    const char *common_name)
{
	return X509_set_version(cert, X509_VERSION_3) == 1 && X509_set_pubkey(cert, key) == 1 &&
	       set_serial(cert) && set_life(cert, from_ns, until_ns) &&
	       set_subject(cert, common_name);
}

/*
 * --- PEM
 * --------------------------------------------------------------------------------------------------
 */

static char *x509_make_take_text(BIO *bio)
{
	char *data = NULL;
	long len = BIO_get_mem_data(bio, &data);

	return len > 0 ? strndup(data, (size_t)len) : NULL;
}

/* BIO_s_secmem overwrites its content. */
static int write_pair(const X509 *cert, const EVP_PKEY *key, struct pem_pair *ret_pair,
		      struct err *err)
{
	BIO *cert_out = BIO_new(BIO_s_mem()), *key_out = BIO_new(BIO_s_secmem());
	_cleanup_pem_pair_ struct pem_pair pair = { 0 };

	if (cert_out && key_out && PEM_write_bio_X509(cert_out, cert) == 1 &&
	    PEM_write_bio_PKCS8PrivateKey(key_out, key, NULL, NULL, 0, NULL, NULL) == 1) {
		pair.cert = x509_make_take_text(cert_out);
		pair.key = x509_make_take_text(key_out);
	}
	BIO_free(cert_out);
	BIO_free(key_out);
	if (!pair.cert || !pair.key)
		return x509_make_fail(err, "writing a certificate");
	*ret_pair = pair;
	pair = (struct pem_pair){ 0 };
	return 0;
}

/* --- The two kinds of certificate ------------------------------------------------------------ */

/* Gives each CA a name of its own, because verifiers first look for the issuer by its name. */
static int fill_ca(X509 *cert, EVP_PKEY *key, int64_t now_ns)
{
	static const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:TRUE,pathlen:0" },
		{ NID_key_usage, "critical,keyCertSign,cRLSign" },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid" },
	};
	unsigned char id[8];
	char name[64];
	size_t n = 0;

	if (RAND_bytes(id, sizeof(id)) != 1)
		return -1;
	n += (size_t)snprintf(name, sizeof(name), "afterglow-webhook-ca-");
	for (size_t i = 0; i < sizeof(id); i++)
		n += (size_t)snprintf(name + n, sizeof(name) - n, "%02x", id[i]);
	if (!x509_make_begin(cert, key, now_ns - X509_BACKDATE_NS, now_ns + X509_CA_LIFE_NS,
			     name) ||
	    X509_set_issuer_name(cert, X509_get_subject_name(cert)) != 1 ||
	    !add_extensions(cert, cert, extensions, ARRAY_SIZE(extensions)))
		return -1;
	return X509_sign(cert, key, EVP_sha256()) > 0 ? 0 : -1;
}

int x509_make_ca(int64_t now_ns, struct pem_pair *ret_ca, struct err *err)
{
	X509 *cert = X509_new();
	EVP_PKEY *key = EVP_EC_gen("P-256");
	int r;

	if (cert && key && fill_ca(cert, key, now_ns) == 0)
		r = write_pair(cert, key, ret_ca, err);
	else
		r = x509_make_fail(err, "making a CA");
	X509_free(cert);
	EVP_PKEY_free(key);
	return r;
}

static int fill_leaf(X509 *cert, EVP_PKEY *key, X509 *ca, EVP_PKEY *ca_key,
		     const struct x509_names *names, int64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf san = STRBUF_INIT(SAN_MAX);
	int64_t until_ns = MIN(now_ns + X509_LEAF_LIFE_NS, x509_ends_ns(ca));

	for (size_t i = 0; i < names->n; i++)
		strbuf_addf(&san, "%sDNS:%s", i ? "," : "", names->dns[i]);
	const struct extension extensions[] = {
		{ NID_basic_constraints, "critical,CA:FALSE" },
		{ NID_key_usage, "critical,digitalSignature" },
		{ NID_ext_key_usage, "serverAuth" },
		{ NID_subject_key_identifier, "hash" },
		{ NID_authority_key_identifier, "keyid" },
		{ NID_subject_alt_name, strbuf_str(&san) },
	};
	if (strbuf_failed(&san) ||
	    !x509_make_begin(cert, key, now_ns - X509_BACKDATE_NS, until_ns, "afterglow-webhook") ||
	    X509_set_issuer_name(cert, X509_get_subject_name(ca)) != 1 ||
	    !add_extensions(cert, ca, extensions, ARRAY_SIZE(extensions)))
		return -1;
	return X509_sign(cert, ca_key, EVP_sha256()) > 0 ? 0 : -1;
}

/* Returns NULL if the text is not a key, or is an encrypted one. */
static EVP_PKEY *read_key(const char *pem)
{
	BIO *in = BIO_new_mem_buf(pem, -1);
	EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, NULL, (void *)"") : NULL;

	BIO_free(in);
	return key;
}

int x509_make_leaf(const struct pem_pair *ca, const struct x509_names *names, int64_t now_ns,
		   struct pem_pair *ret_leaf, struct err *err)
{
	_cleanup_x509_ X509 *ca_cert = x509_first(ca->cert), *cert = X509_new();
	EVP_PKEY *ca_key = read_key(ca->key), *key = EVP_EC_gen("P-256");
	int r;

	if (ca_cert && cert && ca_key && key &&
	    fill_leaf(cert, key, ca_cert, ca_key, names, now_ns) == 0)
		r = write_pair(cert, key, ret_leaf, err);
	else
		r = x509_make_fail(err, "making a certificate for the webhook");
	EVP_PKEY_free(ca_key);
	EVP_PKEY_free(key);
	return r;
}
