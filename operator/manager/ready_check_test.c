/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests that the check of a webhook accepts the certificates that the API server would accept, and
 * no others.
 */
#include "operator/manager/ready_check.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "lib/fileio.h"
#include "lib/log.h"
#include "lib/testing_network.h"
#include "lib/units.h"
#include "operator/webhook/tls_server.h"
#include "operator/webhook/x509.h"

#define OLD_NS (X509_LEAF_LIFE_NS + 3600 * NS_PER_SEC)

struct hook {
	char dir[32];
	struct pem_pair ca, other_ca;
	struct event_base *base;
	struct tls_server *server;
	pthread_t thread;
	atomic_bool over;
};

static int hook_answer(void *arg, const char *path, const char *content_type, const char *body,
		       size_t len, struct strbuf *answer)
{
	(void)arg, (void)path, (void)content_type, (void)body, (void)len, (void)answer;
	return 200;
}

static void put(const struct hook *h, const char *name, const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "%s/%s", h->dir, name);
	assert_int_equal(file_put(AT_FDCWD, path, text, strlen(text), 0600, NULL), 0);
}

static void *hook_serve(void *arg)
{
	struct hook *h = arg;

	while (!atomic_load(&h->over)) {
		event_base_loopexit(h->base, &(struct timeval){ .tv_usec = 20000 });
		event_base_dispatch(h->base);
	}
	return NULL;
}

/* Serves with a certificate for name that is age_ns old. */
static void hook_start(struct hook *h, const char *name, int64_t age_ns)
{
	struct x509_names names = { .n = 1 };
	_cleanup_pem_pair_ struct pem_pair leaf = { 0 };
	int64_t now_ns = now_realtime_ns();

	*h = (struct hook){ .dir = "/tmp/ready-check-XXXXXX", .base = event_base_new() };
	assert_non_null(mkdtemp(h->dir));
	snprintf(names.dns[0], sizeof(names.dns[0]), "%s", name);
	assert_int_equal(x509_make_ca(now_ns - age_ns, &h->ca, NULL), 0);
	assert_int_equal(x509_make_ca(now_ns, &h->other_ca, NULL), 0);
	assert_int_equal(x509_make_leaf(&h->ca, &names, now_ns - age_ns, &leaf, NULL), 0);
	put(h, "ca.crt", h->ca.cert);
	put(h, "other.crt", h->other_ca.cert);
	put(h, "empty.crt", "");
	assert_int_equal(
		tls_server_new(h->base, "127.0.0.1:0", hook_answer, NULL, &h->server, NULL), 0);
	assert_int_equal(tls_server_set_certificate(h->server, leaf.cert, leaf.key, NULL), 0);
	assert_int_equal(pthread_create(&h->thread, NULL, hook_serve, h), 0);
}

static void hook_stop(struct hook *h)
{
	atomic_store(&h->over, true);
	pthread_join(h->thread, NULL);
	tls_server_free(h->server);
	event_base_loopexit(h->base, &(struct timeval){ .tv_usec = 1000 });
	event_base_dispatch(h->base);
	event_base_free(h->base);
	pem_pair_release(&h->ca);
	pem_pair_release(&h->other_ca);
	assert_true(tree_remove(AT_FDCWD, h->dir));
}

/* Asks once. scheme is http or https; file is below the hook's directory, NULL: no file. */
static int hook_check(const struct hook *h, const char *scheme, const char *file,
		      struct strbuf *out, struct err *err)
{
	char url[64], path[64];

	snprintf(url, sizeof(url), "%s://localhost:%d/", scheme, listening_port());
	snprintf(path, sizeof(path), "%s/%s", h->dir, file ? file : "");
	return ready_check(url, file ? path : NULL, 0, out, err);
}

static void expect(const struct hook *h, const char *scheme, const char *file, int expected,
		   const char *words)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(4096);
	struct err err = { 0 };
	int r = hook_check(h, scheme, file, &out, &err);
	const char *text = r < 0 ? err_text(&err) : strbuf_str(&out);

	if (r != expected || !strstr(text, words))
		fail_msg("%s with %s: %d, %s", scheme, file ? file : "no file", r, text);
}

static void a_webhook_is_ready_if_the_authority_of_the_file_signed_its_certificate(void **state)
{
	struct hook h;
	(void)state;

	hook_start(&h, "localhost", 0);
	expect(&h, "https", "ca.crt", 0, "answers, with a certificate");
	expect(&h, "https", "other.crt", -ETIMEDOUT, "certificate");
	expect(&h, "https", "empty.crt", -ETIMEDOUT, "is not ready");
	expect(&h, "https", "missing.crt", -ENOENT, "missing.crt");
	/* No authority of this machine signed it, and a status other than 200 is no readiness. */
	expect(&h, "https", NULL, -ETIMEDOUT, "certificate");
	expect(&h, "http", "ca.crt", -EINVAL, "must begin with https://");
	hook_stop(&h);
}

static void a_certificate_for_another_name_or_of_last_week_is_refused(void **state)
{
	struct hook h;
	(void)state;

	hook_start(&h, "elsewhere", 0);
	expect(&h, "https", "ca.crt", -ETIMEDOUT, "localhost");
	hook_stop(&h);
	hook_start(&h, "localhost", OLD_NS);
	expect(&h, "https", "ca.crt", -ETIMEDOUT, "expired");
	hook_stop(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_webhook_is_ready_if_the_authority_of_the_file_signed_its_certificate),
		cmocka_unit_test(a_certificate_for_another_name_or_of_last_week_is_refused),
	};

	log_set_level(LOG_LEVEL_ERROR);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
