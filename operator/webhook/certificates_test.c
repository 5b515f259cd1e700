/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the certificates' I/O against a small API server with a Secret and a webhook
 * configuration.
 */
#include "operator/webhook/certificates.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/http.h>
#include <string.h>

#include "lib/log.h"
#include "operator/kube/testing.h"
#include "operator/webhook/certificate_plan.h"
#include "operator/webhook/webhook_configuration.h"

#define SECRET_PATH "/api/v1/namespaces/ops/secrets"
#define CONFIGURATION_PATH "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/hooks"

/* Everything that the API server holds, and its faults. */
static struct {
	struct event_base *base;
	struct evhttp *http;
	cJSON *secret, *configuration;
	int version, requests, writes, patches;
	int conflicts; /* so many writes are refused with 409 */
	int forbidden_secret, forbidden_configuration; /* 1: all requests get 403 */
	bool verified; /* every leaf that was written verifies by what is published */
	struct client *client;
	struct metrics metrics;
	struct certificates *certificates;
	bool may_write;
	int64_t leader_publishes_ns;
	char *leaf; /* what on_leaf got */
	int leaves, refused_leaves;
	bool served;
} t;

/*
 * --- The server
 * -------------------------------------------------------------------------------------------
 */

static void answer(struct evhttp_request *request, int status, const cJSON *object)
{
	struct evbuffer *body = evbuffer_new();
	char *text = object ? cJSON_PrintUnformatted(object) : strdup("{\"kind\":\"Status\"}");

	evbuffer_add(body, text, strlen(text));
	evhttp_send_reply(request, status, "", body);
	evbuffer_free(body);
	free(text);
}

static void touch(cJSON *object)
{
	char version[16];

	snprintf(version, sizeof(version), "%d", ++t.version);
	json_set_str(json_object_at(object, "metadata"), "resourceVersion", version);
}

/* RFC 7386, as far as objects go. */
static void merge(cJSON *into, const cJSON *patch)
{
	const cJSON *member;

	cJSON_ArrayForEach(member, patch) {
		if (cJSON_IsObject(member))
			merge(json_object_at(into, member->string), member);
		else if (cJSON_IsNull(member))
			cJSON_DeleteItemFromObjectCaseSensitive(into, member->string);
		else
			json_set(into, member->string, cJSON_Duplicate(member, true));
	}
}

static bool is_stale(const cJSON *object, const cJSON *patch)
{
	const char *version = json_str(patch, "metadata.resourceVersion");

	return t.conflicts > 0 ?
		       t.conflicts-- > 0 :
		       version &&
			       strcmp(version, json_str(object, "metadata.resourceVersion")) != 0;
}

/* Checks the main rule. */
static void check_leaf(void)
{
	_cleanup_bundle_ struct x509_bundle published = { 0 };
	_cleanup_content_ struct certificate_content content = { 0 };
	_cleanup_json_ cJSON *copy = cJSON_Duplicate(t.secret, true);
	_cleanup_x509_ X509 *leaf = NULL;
	bool uneven = true;

	assert_int_equal(certificate_content_read(copy, &content, NULL), 0);
	leaf = x509_first(content.leaf);
	assert_int_equal(webhook_configuration_read(t.configuration, &published, &uneven, NULL), 0);
	t.verified &= leaf && !uneven && x509_verifies(leaf, &published, now_realtime_ns());
}

static void serve_secret(struct evhttp_request *request, enum evhttp_cmd_type method,
			 const cJSON *body)
{
	if (t.forbidden_secret) {
		answer(request, 403, NULL);
	} else if (method == EVHTTP_REQ_POST) {
		assert_null(t.secret);
		t.secret = cJSON_Duplicate(body, true);
	} else if (!t.secret) {
		answer(request, 404, NULL);
		return;
	} else if (method == EVHTTP_REQ_PATCH) {
		if (is_stale(t.secret, body)) {
			answer(request, 409, NULL);
			return;
		}
		merge(t.secret, body);
	}
	if (t.forbidden_secret)
		return;
	if (method != EVHTTP_REQ_GET) {
		touch(t.secret);
		t.writes++;
		if (t.configuration)
			check_leaf();
	}
	answer(request, method == EVHTTP_REQ_POST ? 201 : 200, t.secret);
}

static void patch_webhooks(const cJSON *patch)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_get(patch, "webhooks"))
		merge(json_find(json_get(t.configuration, "webhooks"), "name",
				json_str(entry, "name")),
		      entry);
}

static void serve_configuration(struct evhttp_request *request, enum evhttp_cmd_type method,
				const cJSON *body)
{
	const char *type =
		evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");

	if (t.forbidden_configuration || !t.configuration) {
		answer(request, t.forbidden_configuration ? 403 : 404, NULL);
		return;
	}
	if (method == EVHTTP_REQ_PATCH) {
		assert_string_equal(type, "application/strategic-merge-patch+json");
		if (is_stale(t.configuration, body)) {
			answer(request, 409, NULL);
			return;
		}
		patch_webhooks(body);
		touch(t.configuration);
		t.patches++;
	}
	answer(request, 200, t.configuration);
}

static void on_request(struct evhttp_request *request, void *arg)
{
	struct evbuffer *in = evhttp_request_get_input_buffer(request);
	size_t len = evbuffer_get_length(in);
	enum evhttp_cmd_type method = evhttp_request_get_command(request);
	const char *uri = evhttp_request_get_uri(request);
	_cleanup_json_ cJSON *body = NULL;
	(void)arg;

	t.requests++;
	if (len > 0)
		assert_int_equal(
			json_parse((const char *)evbuffer_pullup(in, -1), len, &body, NULL), 0);
	if (strncmp(uri, SECRET_PATH, strlen(SECRET_PATH)) == 0)
		serve_secret(request, method, body);
	else if (strncmp(uri, CONFIGURATION_PATH, strlen(CONFIGURATION_PATH)) == 0)
		serve_configuration(request, method, body);
	else
		fail_msg("%s", uri);
}

/*
 * --- The test's side
 * --------------------------------------------------------------------------------------
 */

static bool may_write(void *arg)
{
	(void)arg;
	return t.may_write;
}

static int on_leaf(void *arg, const char *cert, const char *key, struct err *err)
{
	_cleanup_x509_ X509 *leaf = x509_first(cert);
	(void)arg;

	assert_true(x509_key_matches(leaf, key));
	if (t.refused_leaves > 0) {
		t.refused_leaves--;
		return err_set(err, EADDRINUSE, "listen");
	}
	free(t.leaf);
	t.leaf = strdup(cert);
	t.leaves++;
	t.served = true;
	return 0;
}

static void turn(int ms)
{
	event_base_loopexit(t.base, &(struct timeval){ ms / 1000, ms % 1000 * 1000 });
	event_base_dispatch(t.base);
}

/* Runs until no request has come for a moment. There is a look at least every two seconds. */
static void turn_until_quiet(void)
{
	for (int quiet = 0, seen = t.requests; quiet < 5; quiet++) {
		turn(100);
		if (t.requests != seen)
			quiet = 0;
		seen = t.requests;
	}
}

static void make_configuration(void)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"hooks\",\"resourceVersion\":\"1\"},\"webhooks\":["
		"{\"name\":\"pods.afterglow.dev\",\"clientConfig\":{\"service\":{\"name\":\"hook\"}}},"
		"{\"name\":\"ray.afterglow.dev\",\"clientConfig\":{\"service\":{\"name\":\"hook\"}}}]}";

	assert_int_equal(json_parse(text, strlen(text), &t.configuration, NULL), 0);
}

static struct certificates *new_replica(bool external)
{
	const struct certificates_options options = {
		.base = t.base,
		.client = t.client,
		.place.namespace = "ops",
		.place.service = "hook",
		.place.secret = "certificates",
		.place.configuration = "hooks",
		.place.external = external,
		.metrics = &t.metrics,
		.may_write = may_write,
		.leader_publishes_ns = t.leader_publishes_ns,
		.on_leaf = on_leaf,
	};
	struct certificates *certificates = NULL;

	assert_int_equal(certificates_new(&options, &certificates, NULL), 0);
	return certificates;
}

static int set_up(void **state)
{
	struct sockaddr_in address;
	socklen_t len = sizeof(address);
	(void)state;

	log_set_level(LOG_LEVEL_ERROR);
	memset(&t, 0, sizeof(t));
	t.base = event_base_new();
	t.http = evhttp_new(t.base);
	t.may_write = t.verified = true;
	evhttp_set_allowed_methods(t.http, 0xffff);
	evhttp_set_gencb(t.http, on_request, NULL);
	struct evhttp_bound_socket *bound = evhttp_bind_socket_with_handle(t.http, "127.0.0.1", 0);
	assert_int_equal(
		getsockname(evhttp_bound_socket_get_fd(bound), (struct sockaddr *)&address, &len),
		0);
	struct fake_server server = { .base = t.base };
	snprintf(server.url, sizeof(server.url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	t.client = fake_client(&server, NULL);
	make_configuration();
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	certificates_free(t.certificates);
	client_free(t.client);
	evhttp_free(t.http);
	event_base_free(t.base);
	metrics_release(&t.metrics);
	cJSON_Delete(t.secret);
	cJSON_Delete(t.configuration);
	free(t.leaf);
	return 0;
}

static void start(bool external)
{
	t.certificates = new_replica(external);
	certificates_look(t.certificates);
}

static void start_and_serve(void)
{
	t.served = false;
	start(false);
	turn_until(t.base, &t.served);
	turn_until_quiet();
	assert_true(t.verified);
}

static void look(void)
{
	certificates_look(t.certificates);
	turn_until_quiet();
}

static size_t n_published(void)
{
	_cleanup_bundle_ struct x509_bundle published = { 0 };
	bool uneven = true;

	assert_int_equal(webhook_configuration_read(t.configuration, &published, &uneven, NULL), 0);
	assert_false(uneven);
	return published.n;
}

/*
 * --- Tests
 * ------------------------------------------------------------------------------------------------
 */

static void the_first_start_publishes_a_ca_and_then_writes_its_leaf(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 20);
	(void)state;

	start_and_serve();
	assert_int_equal(n_published(), 1);
	assert_true(t.writes == 1 && t.patches == 1 && t.leaves == 1);
	assert_true(certificates_ready(t.certificates));
	assert_string_equal(json_str(t.secret, "type"), "kubernetes.io/tls");
	assert_null(cJSON_GetObjectItemCaseSensitive(
		cJSON_GetObjectItemCaseSensitive(t.secret, "data"), "next-ca.crt"));
	metrics_render(&t.metrics, &text);
	assert_non_null(strstr(
		strbuf_str(&text),
		"afterglow_webhook_certificate_expiry_timestamp_seconds{certificate=\"ca\"}"));
	assert_non_null(strstr(
		strbuf_str(&text),
		"afterglow_webhook_certificate_expiry_timestamp_seconds{certificate=\"leaf\"}"));
	/* Afterwards everything is right. */
	look();
	assert_true(t.writes == 1 && t.patches == 1 && t.leaves == 1);
}

static void an_empty_secret_of_the_chart_is_filled(void **state)
{
	static const char text[] =
		"{\"metadata\":{\"name\":\"certificates\",\"labels\":{\"a\":\"b\"},\"resourceVersion\":\"7\"},\"type\":\"Opaque\"}";
	(void)state;

	assert_int_equal(json_parse(text, strlen(text), &t.secret, NULL), 0);
	start_and_serve();
	assert_string_equal(json_str(t.secret, "metadata.labels.a"), "b");
	assert_string_equal(json_str(t.secret, "type"), "Opaque");
}

static void a_deleted_secret_comes_back_the_same(void **state)
{
	_cleanup_free_ char *before = NULL, *after = NULL;
	(void)state;

	start_and_serve();
	before = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(t.secret, "data"));
	cJSON_Delete(TAKE_PTR(t.secret));
	look();
	assert_non_null(t.secret);
	after = cJSON_PrintUnformatted(cJSON_GetObjectItemCaseSensitive(t.secret, "data"));
	assert_string_equal(before, after);
	assert_int_equal(t.leaves, 1);
}

static void a_new_replica_without_the_secret_keeps_the_published_ca(void **state)
{
	(void)state;
	start_and_serve();
	certificates_free(t.certificates);
	cJSON_Delete(TAKE_PTR(t.secret));
	start_and_serve();
	assert_int_equal(n_published(), 2);
	assert_int_equal(t.leaves, 2);
}

static void a_configuration_that_was_reset_is_repaired(void **state)
{
	(void)state;
	start_and_serve();
	cJSON_Delete(t.configuration);
	make_configuration();
	look();
	assert_int_equal(n_published(), 1);
	assert_int_equal(t.writes, 1);
}

static void a_replica_that_does_not_act_only_reads(void **state)
{
	(void)state;
	t.may_write = false;
	start(false);
	turn_until_quiet();
	assert_null(t.secret);
	assert_false(certificates_ready(t.certificates));
	/* Another replica acts, and this one has the leaf within seconds. */
	t.may_write = true;
	struct certificates *leader = new_replica(false);
	certificates_look(leader);
	turn_until(t.base, &t.served);
	t.may_write = false;
	for (int i = 0; i < 100 && !certificates_ready(t.certificates); i++)
		turn(100);
	assert_true(certificates_ready(t.certificates));
	cJSON_Delete(t.configuration);
	make_configuration();
	look();
	assert_int_equal(n_published(), 0);
	certificates_free(leader);
}

/*
 * A rolling upgrade that switches the webhook on waits for this replica before it ends the leader
 * of before.
 */
static void a_replica_whose_leader_publishes_nothing_is_ready_to_follow_it(void **state)
{
	(void)state;
	t.may_write = false;
	t.leader_publishes_ns = 1;
	t.forbidden_secret = 1;
	start(false);
	turn_until_quiet();
	assert_false(certificates_ready(t.certificates));
	t.forbidden_secret = 0;
	look();
	assert_true(certificates_ready(t.certificates));
	assert_null(t.secret);
	/* It leads now. */
	t.may_write = true;
	assert_false(certificates_ready(t.certificates));
	certificates_look(t.certificates);
	turn_until(t.base, &t.served);
	turn_until_quiet();
	assert_true(certificates_ready(t.certificates));
	assert_int_equal(n_published(), 1);
}

static void conflicts_are_looked_at_again(void **state)
{
	(void)state;
	t.conflicts = 2;
	start_and_serve();
	assert_int_equal(n_published(), 1);
}

static void what_is_forbidden_is_tried_again_and_nothing_is_written(void **state)
{
	(void)state;
	t.forbidden_configuration = 1;
	start(false);
	turn_until_quiet();
	assert_null(t.secret);
	t.forbidden_configuration = 0;
	t.forbidden_secret = 1;
	look();
	assert_int_equal(t.patches, 0);
	t.forbidden_secret = 0;
	certificates_look(t.certificates);
	turn_until(t.base, &t.served);
	assert_true(t.verified);
}

static void without_a_configuration_nothing_is_made(void **state)
{
	(void)state;
	cJSON_Delete(TAKE_PTR(t.configuration));
	start(false);
	turn_until_quiet();
	assert_null(t.secret);
	make_configuration();
	certificates_look(t.certificates);
	turn_until(t.base, &t.served);
}

static void garbage_does_not_replace_what_is_served(void **state)
{
	(void)state;
	start_and_serve();
	t.may_write = false;
	json_set_str(cJSON_GetObjectItemCaseSensitive(t.secret, "data"), "tls.crt", "Z2FyYmFnZQ==");
	look();
	assert_int_equal(t.leaves, 1);
	t.may_write = true;
	look();
	assert_int_equal(t.leaves, 1);
	assert_true(t.verified && t.writes == 2);
}

static void certificates_of_somebody_else_are_only_read(void **state)
{
	_cleanup_content_ struct certificate_content content = { 0 };
	struct pem_pair ca, leaf;
	struct x509_names names;
	(void)state;

	assert_int_equal(x509_service_names("hook", "ops", NULL, &names, NULL), 0);
	assert_int_equal(x509_make_ca(now_realtime_ns(), &ca, NULL), 0);
	assert_int_equal(x509_make_leaf(&ca, &names, now_realtime_ns(), &leaf, NULL), 0);
	start(true);
	turn_until_quiet();
	assert_false(certificates_ready(t.certificates));
	content.leaf = leaf.cert;
	content.leaf_key = leaf.key;
	t.secret = certificate_content_secret(&content, false);
	look();
	assert_true(certificates_ready(t.certificates));
	assert_true(t.writes == 0 && t.patches == 0);
	assert_int_equal(n_published(), 0);
	pem_pair_release(&ca);
}

static void a_leaf_that_is_not_taken_comes_again(void **state)
{
	(void)state;
	t.refused_leaves = 1;
	start(false);
	turn_until_quiet();
	assert_false(certificates_ready(t.certificates));
	look();
	assert_true(certificates_ready(t.certificates));
	assert_int_equal(t.leaves, 1);
}

static void a_name_that_is_none_is_refused(void **state)
{
	static const char *const wrong[] = {
		"", "a,DNS:evil", "Upper", "two.parts",
		"a-name-that-is-longer-than-the-sixty-three-characters-of-a-dns-label"
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		const struct certificates_options options = { .base = t.base,
							      .client = t.client,
							      .place.namespace = "ops",
							      .place.service = wrong[i],
							      .place.secret = "s",
							      .place.configuration = "c",
							      .metrics = &t.metrics };
		struct certificates *certificates;
		struct err err = { 0 };

		if (certificates_new(&options, &certificates, &err) != -EINVAL)
			fail_msg("%s", wrong[i]);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_start_publishes_a_ca_and_then_writes_its_leaf),
		TEST(an_empty_secret_of_the_chart_is_filled),
		TEST(a_deleted_secret_comes_back_the_same),
		TEST(a_new_replica_without_the_secret_keeps_the_published_ca),
		TEST(a_configuration_that_was_reset_is_repaired),
		TEST(a_replica_that_does_not_act_only_reads),
		TEST(a_replica_whose_leader_publishes_nothing_is_ready_to_follow_it),
		TEST(conflicts_are_looked_at_again),
		TEST(what_is_forbidden_is_tried_again_and_nothing_is_written),
		TEST(without_a_configuration_nothing_is_made),
		TEST(garbage_does_not_replace_what_is_served),
		TEST(certificates_of_somebody_else_are_only_read),
		TEST(a_leaf_that_is_not_taken_comes_again),
		TEST(a_name_that_is_none_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
