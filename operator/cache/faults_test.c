/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The Nth allocation fails, for every N until all succeed, in the client. There must be no crash,
 * no leak (under the address sanitizer) and an error text, and what was held before must be
 * complete.
 */
#include <errno.h>
#include <unistd.h>

#include "operator/cache/informer.h"
#include "operator/cache/list_decoder.h"
#include "operator/cache/watch_decoder.h"
#include "operator/kube/testing.h"
#include "operator/kube/workqueue.h"

#include "lib/faults_testing.h"
#include "lib/units.h"

#define POD(name, uid, rv) "{\"metadata\":{\"name\":\"" name "\",\"namespace\":\"ns\",\"uid\":\"" uid "\",\"resourceVersion\":\"" rv \
	"\",\"labels\":{\"ray.io/cluster\":\"demo\"},\"managedFields\":[{}]},\"status\":{\"phase\":\"Running\"}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"

static char directory[64];

static void want_error(int r, const struct err *err)
{
	assert_true(r < 0 && failed);
	assert_int_equal(err->code, -r);
	assert_true(strlen(err->text) > 0);
}

/*
 * --- Bodies
 * ---------------------------------------------------------------------------------------------
 */

static void parse_kubeconfig(void)
{
	static const char text[] =
		"apiVersion: v1\ncurrent-context: here\ncontexts:\n- name: here\n  context: {cluster: c, user: u, namespace: ray}\n"
		"clusters:\n- name: c\n  cluster: {server: \"https://10.0.0.1:6443/\", certificate-authority-data: Q0EK}\n"
		"users:\n- name: u\n  user: {client-certificate-data: Q0VSVAo=, client-key-data: S0VZCg==, token: t}\n";
	struct kubeconfig k = { 0 };
	struct err err = { 0 };
	int r = kubeconfig_parse(text, strlen(text), "kc", NULL, &k, &err);

	until_failure = NEVER;
	if (r < 0) {
		want_error(r, &err);
		return;
	}
	assert_string_equal(k.server, "https://10.0.0.1:6443");
	assert_string_equal(k.namespace, "ray");
	assert_string_equal(k.ca.text, "CA\n");
	assert_string_equal(k.key.text, "KEY\n");
	assert_string_equal(k.token.text, "t");
	kubeconfig_release(&k);
}

/* The token that is read again is either replaced or kept. */
static void use_service_account(void)
{
	struct kubeconfig k = { 0 };
	struct err err = { 0 };
	bool changed = false;
	int r = kubeconfig_in_cluster("10.0.0.1", "443", directory, &k, &err);

	if (r < 0) {
		until_failure = NEVER;
		want_error(r, &err);
		return;
	}
	r = kubeconfig_refresh(&k, now_boottime_ns(), true, &changed, &err);
	until_failure = NEVER;
	if (r < 0)
		want_error(r, &err);
	assert_string_equal(k.server, "https://10.0.0.1:443");
	assert_string_equal(k.token.text, "secret");
	kubeconfig_release(&k);
}

static bool by_cluster(const cJSON *object, char *buf, size_t size)
{
	const cJSON *label = cJSON_GetObjectItemCaseSensitive(json_get(object, "metadata.labels"),
							      "ray.io/cluster");

	return cJSON_IsString(label) &&
	       snprintf(buf, size, "ns/%s", label->valuestring) < (int)size;
}

static int put_event(void *arg, struct watch_event *event)
{
	return store_put(arg, TAKE_PTR(event->object), false, NULL, NULL);
}

static int put_item(void *arg, cJSON *item)
{
	return store_put(arg, item, false, NULL, NULL);
}

/* Checks that the store is complete, and that objects are found by key and by index alike. */
static void check_store(struct store *s)
{
	const struct store_entry *entry = NULL;
	size_t indexed = 0;

	until_failure = NEVER;
	for (; (entry = store_index_next(s, "ns/demo", entry)); indexed++) {
		const cJSON *object = store_entry_object(s, entry);
		_cleanup_free_ char *key = object_key(object);
		assert_ptr_equal(store_get(s, key), object);
		assert_string_equal(json_str(object, "status.phase"), "Running");
		assert_null(json_get(object, "metadata.managedFields"));
	}
	assert_int_equal(indexed, s->entries.n);
	store_drop_views(s);
}

static void decode_watch(void)
{
	static const char text[] = EVENT("ADDED", POD("a", "1", "5"))
		EVENT("ADDED", POD("b", "2", "6")) EVENT("MODIFIED", POD("a", "1", "7"));
	struct watch_decoder d;
	struct store s;
	struct err err = { 0 };

	watch_decoder_init(&d);
	store_init(&s, by_cluster);
	int r = watch_decoder_feed(&d, text, 50, put_event, &s, &err);
	if (r == 0)
		r = watch_decoder_feed(&d, text + 50, strlen(text) - 50, put_event, &s, &err);
	until_failure = NEVER;
	if (r < 0)
		want_error(r, &err);
	else
		assert_int_equal(s.entries.n, 2);
	check_store(&s);
	store_release(&s);
	watch_decoder_release(&d);
}

static void decode_list(void)
{
	static const char text[] =
		"{\"kind\":\"PodList\",\"metadata\":{\"resourceVersion\":\"9\"},\"items\":[" POD(
			"a", "1", "5") "," POD("b", "2", "6") "]}";
	struct list_decoder d;
	struct store s;
	struct err err = { 0 };

	list_decoder_init(&d);
	store_init(&s, by_cluster);
	int r = list_decoder_feed(&d, text, strlen(text), put_item, &s, &err);
	if (r == 0)
		r = list_decoder_finish(&d, &err);
	until_failure = NEVER;
	if (r < 0)
		want_error(r, &err);
	else
		assert_int_equal(s.entries.n, 2);
	check_store(&s);
	store_release(&s);
	list_decoder_release(&d);
}

static void count_change(void *arg, enum store_change change, const cJSON *before,
			 const cJSON *after)
{
	assert_true((change == STORE_ADDED) == !before && (change == STORE_REMOVED) == !after);
	(*(size_t *)arg)++;
}

static cJSON *parse(const char *text)
{
	cJSON *json = NULL;

	assert_int_equal(json_parse(text, strlen(text), &json, NULL), 0);
	return json;
}

/* A fresh list replaces the old one. What we wrote after it is carried over if there is memory. */
static void swap_stores(void)
{
	uint32_t armed = until_failure;
	struct store s, fresh;
	size_t seen = 0;

	until_failure = NEVER;
	store_init(&s, by_cluster);
	store_init(&fresh, by_cluster);
	store_put(&s, parse(POD("a", "1", "5")), false, NULL, NULL);
	store_put(&s, parse(POD("gone", "2", "6")), false, NULL, NULL);
	store_put(&s, parse(POD("ours", "3", "20")), true, NULL, NULL);
	store_put(&fresh, parse(POD("a", "1", "8")), false, NULL, NULL);
	store_put(&fresh, parse(POD("new", "4", "9")), false, NULL, NULL);
	until_failure = armed;
	store_swap(&s, &fresh, "10", count_change, &seen);
	until_failure = NEVER;
	if (!failed) {
		assert_int_equal(seen, 3); /* updated, removed, added */
		assert_int_equal(s.entries.n, 3);
	}
	assert_true(store_has(&s, "ns/a") && store_has(&s, "ns/new") && !store_has(&s, "ns/gone"));
	check_store(&s);
	store_release(&s);
	store_release(&fresh);
}

static void work(void)
{
	struct workqueue q;
	int added = 0;

	workqueue_init(&q);
	added += workqueue_add(&q, "a") == 0;
	added += workqueue_add_at(&q, "b", 10) == 0;
	added += workqueue_add(&q, "a") == 0;
	for (const char *key; (key = workqueue_get(&q, 20)); workqueue_done(&q, key))
		workqueue_retry(&q, key, 20, 0);
	until_failure = NEVER;
	assert_int_equal(added, 3 - failed - (failed && q.items.n == 0));
	workqueue_release(&q);
}

static void never(void *arg, struct client_response *response)
{
	(void)arg;
	(void)response;
	fail_msg("called without a turn of the loop");
}

static struct fake_server server;
static cJSON *body;

/* Starts a request, or gets an error. A request without an answer is dropped with the client. */
static void ask(void)
{
	uint32_t armed = until_failure;
	struct err err = { 0 };

	until_failure = NEVER;
	struct client *client = fake_client(&server, NULL);
	until_failure = armed;
	int r = client_create(client, body, NULL, never, NULL, &err);
	if (r == 0)
		r = client_apply(client, body, "status", never, NULL, &err);
	if (r == 0)
		r = client_delete(client, body, 5, never, NULL, &err);
	until_failure = NEVER;
	if (r < 0)
		want_error(r, &err);
	client_free(client);
}

static void ignore(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	(void)arg, (void)change, (void)before, (void)after;
}

/* Begins a copy: either its first request is under way, or it reports an error and waits. */
static void begin_a_copy(void)
{
	const struct informer_options options = { .resource = resource_find("v1", "Pod"),
						  .namespace = "ns",
						  .label_selector = "a=b",
						  .index_fn = by_cluster,
						  .on_change = ignore };
	uint32_t armed = until_failure;
	struct informer *informer = NULL;
	struct err err = { 0 };

	until_failure = NEVER;
	struct client *client = fake_client(&server, NULL);
	until_failure = armed;
	int r = informer_new(server.base, client, &options, &informer, &err);
	if (r == 0)
		informer_resync(informer);
	until_failure = NEVER;
	if (r < 0) {
		want_error(r, &err);
	} else {
		assert_false(informer_synced(informer));
		assert_true((*informer_trouble(informer) != '\0') == failed);
	}
	informer_free(informer);
	client_free(client);
}

/*
 * --- Tests
 * ----------------------------------------------------------------------------------------------
 */

static void a_kubeconfig_is_whole_or_an_error(void **state)
{
	(void)state;
	for_every_allocation(parse_kubeconfig);
}

static void a_token_is_the_old_or_the_new_one(void **state)
{
	(void)state;
	for_every_allocation(use_service_account);
}

static void an_event_is_kept_whole_or_is_an_error(void **state)
{
	(void)state;
	for_every_allocation(decode_watch);
}

static void a_list_is_kept_whole_or_is_an_error(void **state)
{
	(void)state;
	for_every_allocation(decode_list);
}

static void the_fresh_copy_takes_the_place_of_the_old(void **state)
{
	(void)state;
	for_every_allocation(swap_stores);
}

static void a_key_is_queued_or_refused(void **state)
{
	(void)state;
	for_every_allocation(work);
}

static void a_request_is_started_or_refused(void **state)
{
	(void)state;
	for_every_allocation(ask);
}

static void a_copy_is_begun_or_says_what_is_wrong(void **state)
{
	(void)state;
	for_every_allocation(begin_a_copy);
}

static void write_text(const char *name, const char *text)
{
	char path[96];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static int setup(void **state)
{
	static const struct exchange none[1];

	(void)state;
	snprintf(directory, sizeof(directory), "/tmp/faults_test.XXXXXX");
	assert_non_null(mkdtemp(directory));
	write_text("token", "secret\n");
	write_text("ca.crt", "CA\n");
	write_text("namespace", "ray");
	fake_server_start(&server, none, 0);
	body = parse(
		"{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"namespace\":\"ns\",\"name\":\"p\",\"uid\":\"u\"}}");
	return 0;
}

static int teardown(void **state)
{
	char command[96];
	(void)state;

	cJSON_Delete(body);
	fake_server_stop(&server);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kubeconfig_is_whole_or_an_error),
		cmocka_unit_test(a_token_is_the_old_or_the_new_one),
		cmocka_unit_test(an_event_is_kept_whole_or_is_an_error),
		cmocka_unit_test(a_list_is_kept_whole_or_is_an_error),
		cmocka_unit_test(the_fresh_copy_takes_the_place_of_the_old),
		cmocka_unit_test(a_key_is_queued_or_refused),
		cmocka_unit_test(a_request_is_started_or_refused),
		cmocka_unit_test(a_copy_is_begun_or_says_what_is_wrong),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
