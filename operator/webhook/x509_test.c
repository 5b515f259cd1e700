/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of certificates: those that we make are accepted, wrong ones are not, and foreign texts do
 * no harm.
 */
#include "operator/webhook/x509.h"

#include <errno.h>
#include <openssl/x509v3.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"

#define DAY (24 * 3600 * NS_PER_SEC)
#define T0 (1800000000 * NS_PER_SEC)

static struct x509_names names;
static struct pem_pair ca, leaf;

static int set_up(void **state)
{
	(void)state;
	return x509_service_names("hook", "ops", "cluster.local", &names, NULL) < 0 ||
	       x509_make_ca(T0, &ca, NULL) < 0 || x509_make_leaf(&ca, &names, T0, &leaf, NULL) < 0;
}

static int tear_down(void **state)
{
	(void)state;
	pem_pair_release(&ca);
	pem_pair_release(&leaf);
	return 0;
}

static void a_leaf_has_the_names_of_its_service_and_no_other(void **state)
{
	_cleanup_x509_ X509 *cert = x509_first(leaf.cert);
	struct x509_names other;
	(void)state;

	assert_int_equal(names.n, 4);
	assert_string_equal(names.dns[0], "hook");
	assert_string_equal(names.dns[3], "hook.ops.svc.cluster.local");
	assert_true(x509_has_names(cert, &names));
	assert_int_equal(x509_service_names("hook", "other", NULL, &other, NULL), 0);
	assert_int_equal(other.n, 3);
	assert_false(x509_has_names(cert, &other));
	/* The common name does not count as a name. */
	snprintf(other.dns[0], sizeof(other.dns[0]), "afterglow-webhook");
	other.n = 1;
	assert_false(x509_has_names(cert, &other));
}

static void names_as_long_as_kubernetes_allows_fit(void **state)
{
	_cleanup_x509_ X509 *cert = NULL;
	struct x509_names longest;
	struct pem_pair pair;
	char name[65];
	(void)state;

	memset(name, 'x', 64);
	name[63] = '\0';
	assert_int_equal(x509_service_names(name, name, "cluster.local", &longest, NULL), 0);
	assert_int_equal(x509_make_leaf(&ca, &longest, T0, &pair, NULL), 0);
	cert = x509_first(pair.cert);
	assert_true(x509_has_names(cert, &longest));
	pem_pair_release(&pair);
	name[63] = 'x';
	name[64] = '\0';
	assert_int_equal(x509_service_names(name, "ops", NULL, &longest, NULL), -EINVAL);
	assert_int_equal(x509_service_names("hook", "ops", "a,IP:1.2.3.4", &longest, NULL),
			 -EINVAL);
}

static void lives_are_as_long_as_requested_and_no_longer_than_the_ca(void **state)
{
	_cleanup_x509_ X509 *ca_cert = x509_first(ca.cert), *cert = x509_first(leaf.cert),
			    *late = NULL;
	struct pem_pair pair;
	(void)state;

	assert_int_equal(x509_begins_ns(ca_cert), T0 - X509_BACKDATE_NS);
	assert_int_equal(x509_ends_ns(ca_cert), T0 + 365 * DAY);
	assert_int_equal(x509_begins_ns(cert), T0 - X509_BACKDATE_NS);
	assert_int_equal(x509_ends_ns(cert), T0 + 7 * DAY);
	assert_false(x509_is_due(cert, T0 + 4 * DAY));
	assert_true(x509_is_due(cert, T0 + 5 * DAY));
	assert_true(x509_is_valid(cert, T0 - X509_BACKDATE_NS));
	assert_false(x509_is_valid(cert, T0 - X509_BACKDATE_NS - NS_PER_SEC));
	assert_false(x509_is_valid(cert, T0 + 7 * DAY));
	assert_int_equal(x509_make_leaf(&ca, &names, T0 + 363 * DAY, &pair, NULL), 0);
	late = x509_first(pair.cert);
	assert_int_equal(x509_ends_ns(late), T0 + 365 * DAY);
	pem_pair_release(&pair);
}

static void a_leaf_verifies_by_its_ca_in_its_time_only(void **state)
{
	_cleanup_x509_ X509 *ca_cert = x509_first(ca.cert), *cert = x509_first(leaf.cert),
			    *other_cert = NULL;
	_cleanup_bundle_ struct x509_bundle own = { 0 }, other = { 0 }, both = { 0 },
					    itself = { 0 }, none = { 0 };
	struct pem_pair another;
	(void)state;

	assert_int_equal(x509_make_ca(T0, &another, NULL), 0);
	other_cert = x509_first(another.cert);
	x509_bundle_add(&own, ca_cert);
	x509_bundle_add(&other, other_cert);
	x509_bundle_add(&both, other_cert);
	x509_bundle_add(&both, ca_cert);
	x509_bundle_add(&itself, cert);
	assert_true(x509_verifies(cert, &own, T0));
	assert_true(x509_verifies(cert, &both, T0));
	assert_false(x509_verifies(cert, &other, T0));
	assert_false(x509_verifies(cert, &itself, T0));
	assert_false(x509_verifies(cert, &none, T0));
	assert_false(x509_verifies(cert, &own, T0 + 7 * DAY));
	assert_false(x509_verifies(cert, &own, T0 - DAY));
	assert_false(x509_verifies(ca_cert, &own, T0)); /* a CA is no server certificate */
	assert_true(x509_is_ca(ca_cert));
	assert_false(x509_is_ca(cert));
	pem_pair_release(&another);
}

static void keys_match_their_own_certificate(void **state)
{
	_cleanup_x509_ X509 *ca_cert = x509_first(ca.cert), *cert = x509_first(leaf.cert);
	static const char encrypted[] =
		"-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
		"MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAg=\n-----END ENCRYPTED PRIVATE KEY-----\n";
	(void)state;

	assert_true(x509_key_matches(ca_cert, ca.key));
	assert_true(x509_key_matches(cert, leaf.key));
	assert_false(x509_key_matches(cert, ca.key));
	assert_false(x509_key_matches(cert, NULL));
	assert_false(x509_key_matches(cert, "garbage"));
	assert_false(x509_key_matches(cert, leaf.cert));
	assert_false(x509_key_matches(cert, encrypted)); /* and no password is asked for */
}

static void a_bundle_takes_what_is_readable_once_and_no_more_than_fits(void **state)
{
	_cleanup_bundle_ struct x509_bundle bundle = { 0 }, again = { 0 };
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	_cleanup_free_ char *written = NULL;
	(void)state;

	strbuf_addf(&text, "# ours\n%s%s", ca.cert, ca.cert);
	strbuf_adds(
		&text,
		"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n????\n");
	strbuf_addf(&text, "-----END CERTIFICATE-----\n%s%s-----BEGIN CERTIFICATE-----\n", leaf.key,
		    leaf.cert);
	x509_bundle_read(&bundle, strbuf_str(&text));
	assert_int_equal(bundle.n, 2);
	written = x509_bundle_text(&bundle);
	assert_int_equal(strncmp(written, ca.cert, strlen(ca.cert)), 0);
	assert_string_equal(written + strlen(ca.cert), leaf.cert);
	x509_bundle_read(&again, written);
	assert_true(x509_bundle_equal(&bundle, &again));
	for (int i = 0; i < X509_BUNDLE_MAX; i++) {
		struct pem_pair another;

		assert_int_equal(x509_make_ca(T0, &another, NULL), 0);
		x509_bundle_read(&bundle, another.cert);
		pem_pair_release(&another);
	}
	assert_int_equal(bundle.n, X509_BUNDLE_MAX);
	x509_bundle_release(&again);
	x509_bundle_read(&again, NULL);
	x509_bundle_read(&again, "");
	assert_int_equal(again.n, 0);
	strbuf_reset(&text);
	while (text.len <= X509_PEM_MAX)
		strbuf_adds(&text, ca.cert);
	x509_bundle_read(&again, strbuf_str(&text));
	assert_int_equal(again.n, 0); /* a text that is too long counts as none */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_leaf_has_the_names_of_its_service_and_no_other),
		cmocka_unit_test(names_as_long_as_kubernetes_allows_fit),
		cmocka_unit_test(lives_are_as_long_as_requested_and_no_longer_than_the_ca),
		cmocka_unit_test(a_leaf_verifies_by_its_ca_in_its_time_only),
		cmocka_unit_test(keys_match_their_own_certificate),
		cmocka_unit_test(a_bundle_takes_what_is_readable_once_and_no_more_than_fits),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
