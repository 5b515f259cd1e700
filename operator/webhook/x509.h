/* SPDX-License-Identifier: Apache-2.0 */
/*
 * X.509 with OpenSSL: makes a CA and the webhook's leaf (ECDSA P-256), reads
 * PEM texts, and verifies as the API server does. Times are nanoseconds since
 * 1970; a certificate has whole seconds. No function here asks the clock.
 */
#pragma once

#include <openssl/x509.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/units.h"

#define X509_CA_LIFE_NS (365 * 24 * 3600 * NS_PER_SEC)
#define X509_LEAF_LIFE_NS (7 * 24 * 3600 * NS_PER_SEC)
/* Certificates begin this long before now, for an API server whose clock is behind ours. */
#define X509_BACKDATE_NS (300 * NS_PER_SEC)
#define X509_PEM_MAX 65536 /* bytes of a PEM text that is read; a longer text counts as empty */

/* A certificate and its private key as PEM texts. */
struct pem_pair {
	char *cert, *key;
};
/* Overwrites a key before its memory is given back. NULL is allowed. */
void pem_free_key(char *key);
void pem_pair_release(struct pem_pair *pair);
#define _cleanup_pem_pair_ _cleanup_(pem_pair_release)

/*
 * --- Making
 * -----------------------------------------------------------------------------------------------
 */

#define X509_NAMES_MAX 4
struct x509_names {
	char dns[X509_NAMES_MAX][256];
	size_t n;
};
/*
 * Makes SERVICE, SERVICE.NS, SERVICE.NS.svc and, with a domain, SERVICE.NS.svc.DOMAIN.
 * Returns -EINVAL if one of them is not a DNS name. domain may be NULL.
 */
int x509_service_names(const char *service, const char *namespace, const char *domain,
		       struct x509_names *ret_names, struct err *err);

int x509_make_ca(int64_t now_ns, struct pem_pair *ret_ca, struct err *err);
/* Ends with its CA, if that is earlier. */
int x509_make_leaf(const struct pem_pair *ca, const struct x509_names *names, int64_t now_ns,
		   struct pem_pair *ret_leaf, struct err *err);

/*
 * --- Reading
 * ----------------------------------------------------------------------------------------------
 */

/* Returns the first certificate of a PEM text, which the caller owns; NULL if none can be read. */
X509 *x509_first(const char *pem);
static inline void x509_freep(X509 **cert)
{
	X509_free(*cert);
}
#define _cleanup_x509_ _cleanup_(x509_freep)

/* 0 for a time that cannot be read. */
int64_t x509_begins_ns(const X509 *cert);
int64_t x509_ends_ns(const X509 *cert);
/* Return whether now is in the certificate's life, and whether two thirds of that life are over. */
bool x509_is_valid(const X509 *cert, int64_t now_ns);
bool x509_is_due(const X509 *cert, int64_t now_ns);

bool x509_is_ca(X509 *cert);
bool x509_key_matches(const X509 *cert, const char *key_pem);
bool x509_has_names(X509 *cert, const struct x509_names *names);

/*
 * --- Bundles
 * ----------------------------------------------------------------------------------------------
 */

/* Different certificates in an order. The API server trusts each of them. */
#define X509_BUNDLE_MAX 8
struct x509_bundle {
	X509 *certs[X509_BUNDLE_MAX];
	size_t n;
};
void x509_bundle_release(struct x509_bundle *bundle);
#define _cleanup_bundle_ _cleanup_(x509_bundle_release)

/*
 * Appends the readable certificates of a PEM text (NULL: none). It leaves out duplicates, and those
 * beyond the maximum.
 */
void x509_bundle_read(struct x509_bundle *bundle, const char *pem);
/*
 * Appends a certificate, of which the caller keeps its own reference. Returns false if the bundle
 * is full.
 */
bool x509_bundle_add(struct x509_bundle *bundle, X509 *cert);
bool x509_bundle_has(const struct x509_bundle *bundle, const X509 *cert);
bool x509_bundle_has_all(const struct x509_bundle *bundle, const struct x509_bundle *part);
bool x509_bundle_equal(const struct x509_bundle *a, const struct x509_bundle *b);
/* Returns the bundle as PEM, "" if it is empty; NULL if there is no memory. The caller frees it. */
char *x509_bundle_text(const struct x509_bundle *bundle);

/*
 * Returns whether a client that trusts the CAs of the bundle and nothing else accepts the leaf as a
 * server's at that time.
 */
bool x509_verifies(X509 *leaf, const struct x509_bundle *bundle, int64_t now_ns);
