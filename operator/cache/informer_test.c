/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the informer: list, watch and own writes, with a server that answers from a script. */
#include "operator/cache/informer.h"

#include "operator/kube/salvage.h"
#include "operator/kube/testing.h"

/* A script sets only the members that matter to it */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

#define META(name, uid, rv) "{\"metadata\":{\"namespace\":\"ns\",\"name\":\"" name "\",\"uid\":\"" uid \
			    "\",\"resourceVersion\":\"" rv "\",\"managedFields\":[{}]},\"spec\":{\"x\":1}}"
#define EVENT(type, object) "{\"type\":\"" type "\",\"object\":" object "}\n"
/* A server without support for streams. */
#define NO_STREAMS { "GET", "watch=1 sendInitialEvents=true resourceVersionMatch=NotOlderThan resourceVersion=", 422, \
		     "{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\"}" }
#define INITIAL_END(rv) EVENT("BOOKMARK", "{\"kind\":\"Pod\",\"metadata\":{\"resourceVersion\":\"" rv \
		"\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}")
#define LIST(rv, token, items) "{\"metadata\":{\"resourceVersion\":\"" rv "\",\"continue\":\"" token "\"},\"items\":" items "}"

struct seen {
	struct strbuf text;
	size_t wanted; /* `done` is set after this many changes */
	size_t n;
	bool done;
};

static void tell(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	static const char signs[] = { '=', '+', '~', '-' };
	struct seen *seen = arg;
	const cJSON *o = after ? after : before;

	assert_string_equal(json_str(o, "kind"), "Pod");
	assert_null(json_get(o, "metadata.managedFields"));
	strbuf_addf(&seen->text, "%c%s %s%s;", signs[change], json_str(o, "metadata.name"),
		    json_str(o, "metadata.resourceVersion"),
		    json_is(o, "spec", "short") ? " short" : "");
	seen->done = ++seen->n >= seen->wanted;
}

struct bed {
	struct fake_server server;
	struct client *client;
	struct informer *informer;
	struct seen seen;
	const char *const *fields;
	bool keep_remnants;
	bool prefers_pages;
	bool (*shorten)(cJSON *object, bool always);
	struct strbuf unreadable; /* "ns/name;" for each */
};

static void note_unreadable(void *arg, struct informer *informer, const char *key,
			    const char *reason)
{
	struct seen *seen = arg;
	struct bed *bed = (struct bed *)((char *)seen - offsetof(struct bed, seen));

	(void)informer;
	assert_non_null(
		strstr(reason, bed->shorten ? STORE_NO_ROOM : "nested more than 1000 levels deep"));
	strbuf_addf(&bed->unreadable, "%s;", key);
}

static void bed_start_with_fields(struct bed *bed, const struct exchange *script, size_t n,
				  size_t wanted, bool metadata_only)
{
	struct informer_options options = {
		.resource = resource_find("v1", "Pod"),
		.namespace = "ns",
		.label_selector = "a=b,c",
		.metadata_only = metadata_only,
		.fields = bed->fields,
		.keep_remnants = bed->keep_remnants,
		.prefers_pages = bed->prefers_pages,
		.shorten = bed->shorten,
		.on_unreadable = note_unreadable,
		.on_change = tell,
		.arg = &bed->seen,
	};
	struct err err = { 0 };

	bed->seen = (struct seen){ .text = STRBUF_INIT(4096), .wanted = wanted };
	bed->unreadable = STRBUF_INIT(4096);
	fake_server_start(&bed->server, script, n);
	bed->client = fake_client(&bed->server, NULL);
	assert_int_equal(
		informer_new(bed->server.base, bed->client, &options, &bed->informer, &err), 0);
	assert_false(informer_synced(bed->informer));
	informer_resync(bed->informer);
	turn_until(bed->server.base, &bed->seen.done);
}

static void bed_start(struct bed *bed, const struct exchange *script, size_t n, size_t wanted,
		      bool metadata_only)
{
	bed->fields = NULL;
	bed->keep_remnants = false;
	bed->prefers_pages = false;
	bed_start_with_fields(bed, script, n, wanted, metadata_only);
}

static void bed_stop(struct bed *bed)
{
	informer_free(bed->informer);
	client_free(bed->client);
	fake_server_stop(&bed->server);
	strbuf_release(&bed->seen.text);
	strbuf_release(&bed->unreadable);
}

static void pages_then_events_then_a_watch_from_the_last_version(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "/api/v1/namespaces/ns/pods? limit=500 labelSelector=a%3Db%2Cc", 200,
		  LIST("10", "t1", "[" META("a", "u1", "5") "]") },
		{ "GET", "continue=t1", 200, LIST("10", "", "[" META("b", "u2", "7") "]") },
		{ "GET", "watch=1 resourceVersion=10 allowWatchBookmarks=true timeoutSeconds=", 200,
		  EVENT("MODIFIED", META("a", "u1", "11")) EVENT("DELETED", META("b", "u2", "12")) EVENT(
			  "BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"20\"}}"),
		  NULL, NULL, true },
		{ "GET", "watch=1 resourceVersion=20", 200, EVENT("ADDED", META("c", "u3", "21")), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 5, false);
	assert_true(informer_synced(bed.informer));
	/* The two objects of the list come in any order. */
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "+a 5;"));
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "+b 7;"));
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "~a 11;-b 12;+c 21;"));
	assert_int_equal(json_int(store_get(informer_store(bed.informer), "ns/a"), "spec.x", 0), 1);
	bed_stop(&bed);
}

static bool shorten_all(cJSON *object, bool)
{
	json_set_str(object, "spec", "short");
	return true;
}

/* Its end would cost what its changes may not. */
static void of_an_object_that_is_too_wide_the_end_is_shortened_too(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "pods? limit=500", 200, LIST("10", "", "[" META("a", "u1", "5") "]") },
		{ "GET", "watch=1 resourceVersion=10", 200,
		  EVENT("MODIFIED", META("a", "u1", "11")) EVENT("DELETED", META("a", "u1", "12")),
		  NULL, NULL, true },
	};
	struct bed bed = { .shorten = shorten_all };
	(void)state;

	bed_start_with_fields(&bed, script, ARRAY_SIZE(script), 3, false);
	assert_string_equal(strbuf_str(&bed.seen.text), "+a 5 short;~a 11 short;-a 12 short;");
	bed_stop(&bed);
}

static void of_a_kind_with_many_objects_pages_are_asked_for_first(void **state)
{
	static const struct exchange script[] = {
		{ "GET", "/api/v1/namespaces/ns/pods? limit=500", 200, LIST("10", "t1", "[" META("a", "u1", "5") "]") },
		{ "GET", "continue=t1", 200, LIST("10", "", "[" META("b", "u2", "7") "]") },
		{ "GET", "watch=1 resourceVersion=10", 410, "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}" },
		{ "GET", "sendInitialEvents=true", 200,
		  EVENT("ADDED", META("b", "u2", "7")) INITIAL_END("20") EVENT("ADDED", META("c", "u3", "21")), NULL, NULL, true },
	};
	struct bed bed = { .prefers_pages = true };
	(void)state;

	bed_start_with_fields(&bed, script, ARRAY_SIZE(script), 4, false);
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "-a 5;+c 21;"));
	assert_int_equal(informer_reflector(bed.informer)->lists, 2);
	bed_stop(&bed);
}

static void a_410_in_the_stream_lists_again_and_tells_what_was_missed(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, LIST("10", "", "[" META("a", "u1", "5") "," META("b", "u2", "6") "]") },
		{ "GET", "watch=1", 200, EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}"), NULL, NULL,
		  true },
		{ "GET", "limit=500", 200, LIST("30", "", "[" META("b", "u2", "25") "]") },
		{ "GET", "watch=1 resourceVersion=30", 200, EVENT("ADDED", META("c", "u3", "31")), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 5, false);
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "-a 5;~b 25;+c 31;"));
	assert_int_equal(informer_reflector(bed.informer)->lists, 2);
	bed_stop(&bed);
}

static void metadata_alone_is_kept_where_that_is_enough_and_null_is_an_empty_list(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, LIST("10", "", "null") },
		{ "GET", "watch=1", 200, EVENT("ADDED", META("a", "u1", "11")), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 1, true);
	assert_null(json_get(store_get(informer_store(bed.informer), "ns/a"), "spec"));
	bed_stop(&bed);
}

/* Adds an object with META that is too deep to be read. */
static void add_deep(struct strbuf *text, const char *name, const char *uid, const char *rv)
{
	strbuf_addf(
		text,
		"{\"metadata\":{\"namespace\":\"ns\",\"name\":\"%s\",\"uid\":\"%s\",\"resourceVersion\":\"%s\"},\"spec\":",
		name, uid, rv);
	for (int i = 0; i < 1200; i++)
		strbuf_addc(text, '[');
	for (int i = 0; i < 1200; i++)
		strbuf_addc(text, ']');
	strbuf_addc(text, '}');
}

/* Serves one such object in the list, and one that becomes so later. */
static void serve_deep_objects(bool keep_remnants, size_t wanted, struct bed *bed)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT((size_t)1 << 20),
				       events = STRBUF_INIT((size_t)1 << 20);

	strbuf_adds(&list, "{\"metadata\":{\"resourceVersion\":\"10\"},\"items\":[" META("a", "u1",
											 "5") ",");
	add_deep(&list, "deep", "u2", "6");
	strbuf_adds(&list, "]}");
	strbuf_adds(&events, "{\"type\":\"MODIFIED\",\"object\":");
	add_deep(&events, "a", "u1", "11");
	strbuf_adds(&events, "}\n" EVENT("ADDED", META("c", "u3", "12")));
	const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, strbuf_str(&list) },
		{ "GET", "watch=1", 200, strbuf_str(&events), NULL, NULL, true },
	};
	bed->fields = NULL;
	bed->keep_remnants = keep_remnants;
	bed->prefers_pages = false;
	bed_start_with_fields(bed, script, ARRAY_SIZE(script), wanted, false);
	assert_true(informer_synced(bed->informer));
	assert_int_equal(informer_reflector(bed->informer)->lists, 1);
	assert_int_equal(informer_unreadable(bed->informer), 2);
	assert_string_equal(strbuf_str(&bed->unreadable), "ns/deep;ns/a;");
}

static void what_cannot_be_read_is_left_out_and_the_kind_goes_on(void **state)
{
	struct bed bed = { 0 };
	(void)state;

	serve_deep_objects(false, 3, &bed);
	assert_string_equal(strbuf_str(&bed.seen.text), "+a 5;-a 5;+c 12;");
	assert_false(store_has(informer_store(bed.informer), "ns/deep"));
	bed_stop(&bed);
}

static void of_what_cannot_be_read_a_remnant_is_kept_where_it_is_wanted(void **state)
{
	struct bed bed = { 0 };
	const struct store *store;
	(void)state;

	serve_deep_objects(true, 4, &bed);
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "~a 11;+c 12;"));
	store = informer_store(bed.informer);
	assert_non_null(salvage_reason(store_get(store, "ns/deep")));
	assert_non_null(salvage_reason(store_get(store, "ns/a")));
	assert_null(salvage_reason(store_get(store, "ns/c")));
	bed_stop(&bed);
}

static cJSON *written(const char *text)
{
	cJSON *object = NULL;

	assert_int_equal(json_parse(text, strlen(text), &object, NULL), 0);
	json_set_str(object, "apiVersion", "v1");
	json_set_str(object, "kind", "Pod");
	return object;
}

static void own_writes_are_read_at_once_unless_the_watch_has_passed_them(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, LIST("10", "", "[]") },
		{ "GET", "watch=1", 200, EVENT("ADDED", META("a", "u1", "11")), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 1, false);
	informer_learn(bed.informer, written(META("new", "u2", "12")));
	assert_non_null(store_get(informer_store(bed.informer), "ns/new"));
	/*
	 * It was created as version 9. The list of version 10 does not have it, so it was deleted:
	 * the informer must not show it.
	 */
	informer_learn(bed.informer, written(META("ghost", "u3", "9")));
	assert_null(store_get(informer_store(bed.informer), "ns/ghost"));
	informer_learn_gone(bed.informer, "ns/new", "another");
	assert_non_null(store_get(informer_store(bed.informer), "ns/new"));
	informer_learn_gone(bed.informer, "ns/new", "u2");
	assert_null(store_get(informer_store(bed.informer), "ns/new"));
	informer_learn(bed.informer, cJSON_CreateObject());
	bed_stop(&bed);
}

static void an_object_that_the_watch_has_lost_is_learned_from_the_answer_to_its_creation(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, LIST("10", "", "[]") },
		{ "GET", "watch=1", 200,
		  EVENT("ADDED", META("a", "u1", "11")) EVENT("ADDED", META("b", "u2", "14")) EVENT("DELETED", META("b", "u2", "15")),
		  NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 3, false);
	/* This answer is late: the watch has shown its beginning and its end. */
	informer_learn(bed.informer, written(META("b", "u2", "14")));
	assert_null(store_get(informer_store(bed.informer), "ns/b"));
	informer_learn(bed.informer, written(META("lost", "u3", "13")));
	assert_non_null(store_get(informer_store(bed.informer), "ns/lost"));
	bed_stop(&bed);
}

static void a_stream_fills_the_copy_and_goes_on_as_its_watch(void **state)
{
	static const struct exchange script[] = {
		{ "GET", "/api/v1/namespaces/ns/pods? watch=1 sendInitialEvents=true allowWatchBookmarks=true labelSelector=a%3Db%2Cc "
			 "resourceVersion=",
		  200,
		  EVENT("ADDED", META("a", "u1", "9")) EVENT("ADDED", META("b", "u2", "5")) INITIAL_END("10")
			  EVENT("MODIFIED", META("a", "u1", "11")) EVENT("FUTURE", "{}") EVENT("DELETED", META("b", "u2", "12")),
		  NULL, NULL, true },
		{ "GET", "watch=1 resourceVersion=12", 200, EVENT("ADDED", META("c", "u3", "13")), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 5, false);
	assert_true(informer_synced(bed.informer));
	assert_non_null(strstr(strbuf_str(&bed.seen.text), "~a 11;-b 12;+c 13;"));
	assert_int_equal(informer_reflector(bed.informer)->lists, 1);
	assert_int_equal(informer_unknown_events(bed.informer), 1);
	assert_int_equal(informer_store(bed.informer)->entries.n, 2);
	bed_stop(&bed);
}

static void a_stream_that_is_cut_is_thrown_away_and_the_old_copy_serves(void **state)
{
	static const struct exchange script[] = {
		{ "GET", "sendInitialEvents=true", 200,
		  EVENT("ADDED", META("a", "u1", "9")) INITIAL_END("10")
			  EVENT("ERROR", "{\"kind\":\"Status\",\"code\":410,\"reason\":\"Expired\"}"),
		  NULL, NULL, true },
		{ "GET", "sendInitialEvents=true", 200, EVENT("ADDED", META("half", "u2", "19")), NULL, NULL, true },
		{ "GET", "sendInitialEvents=true", 200,
		  EVENT("ADDED", META("a", "u1", "9")) EVENT("ADDED", META("c", "u3", "29")) INITIAL_END("30"), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 2, false);
	assert_string_equal(strbuf_str(&bed.seen.text), "+a 9;+c 29;");
	assert_int_equal(informer_reflector(bed.informer)->lists, 3);
	bed_stop(&bed);
}

static void a_version_that_is_too_new_for_the_server_is_given_up(void **state)
{
	static const struct exchange script[] = {
		{ "GET", "sendInitialEvents=true", 200, EVENT("ADDED", META("a", "u1", "900")) INITIAL_END("1000")
			  EVENT("BOOKMARK", "{\"metadata\":{\"resourceVersion\":\"1001\"}}"), NULL, NULL, true },
		{ "GET", "watch=1 resourceVersion=1001", 504,
		  "{\"kind\":\"Status\",\"code\":504,\"reason\":\"Timeout\",\"message\":\"Too large resource version: 1001, current: 10\","
		  "\"details\":{\"causes\":[{\"reason\":\"ResourceVersionTooLarge\",\"message\":\"Too large resource version\"}],"
		  "\"retryAfterSeconds\":1}}" },
		{ "GET", "sendInitialEvents=true", 200, EVENT("ADDED", META("b", "u2", "8")) INITIAL_END("10"), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 3, false);
	assert_string_equal(strbuf_str(&bed.seen.text), "+a 900;-a 900;+b 8;");
	assert_string_equal(informer_reflector(bed.informer)->rv, "10");
	bed_stop(&bed);
}

static void an_answer_that_is_not_a_list_is_reported_and_asked_for_again(void **state)
{
	static const struct exchange script[] = {
		NO_STREAMS,
		{ "GET", "limit=500", 200, "{\"metadata\":{\"resourceVersion\":\"5\"},\"items\":[" META("a", "u1", "5") },
		{ "GET", "limit=500", 200, LIST("10", "", "[" META("b", "u2", "6") "]") },
	};
	struct bed bed = { 0 };
	(void)state;

	bed_start(&bed, script, ARRAY_SIZE(script), 1, false);
	assert_string_equal(strbuf_str(&bed.seen.text), "+b 6;");
	bed_stop(&bed);
}

static void only_the_fields_that_are_asked_for_are_kept(void **state)
{
	static const char *const fields[] = { "metadata.name", "metadata.namespace",
					      "metadata.resourceVersion", "kind", NULL };
	static const struct exchange script[] = {
		{ "GET", "sendInitialEvents=true", 200, EVENT("ADDED", META("a", "u1", "9")) INITIAL_END("10"), NULL, NULL, true },
	};
	struct bed bed = { 0 };
	(void)state;

	bed.fields = fields;
	bed.keep_remnants = bed.prefers_pages = false;
	bed_start_with_fields(&bed, script, ARRAY_SIZE(script), 1, false);
	assert_null(json_get(store_get(informer_store(bed.informer), "ns/a"), "spec"));
	assert_non_null(json_get(store_get(informer_store(bed.informer), "ns/a"), "metadata.name"));
	bed_stop(&bed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages_then_events_then_a_watch_from_the_last_version),
		cmocka_unit_test(of_an_object_that_is_too_wide_the_end_is_shortened_too),
		cmocka_unit_test(of_a_kind_with_many_objects_pages_are_asked_for_first),
		cmocka_unit_test(a_410_in_the_stream_lists_again_and_tells_what_was_missed),
		cmocka_unit_test(
			metadata_alone_is_kept_where_that_is_enough_and_null_is_an_empty_list),
		cmocka_unit_test(own_writes_are_read_at_once_unless_the_watch_has_passed_them),
		cmocka_unit_test(
			an_object_that_the_watch_has_lost_is_learned_from_the_answer_to_its_creation),
		cmocka_unit_test(a_stream_fills_the_copy_and_goes_on_as_its_watch),
		cmocka_unit_test(a_stream_that_is_cut_is_thrown_away_and_the_old_copy_serves),
		cmocka_unit_test(a_version_that_is_too_new_for_the_server_is_given_up),
		cmocka_unit_test(an_answer_that_is_not_a_list_is_reported_and_asked_for_again),
		cmocka_unit_test(only_the_fields_that_are_asked_for_are_kept),
		cmocka_unit_test(what_cannot_be_read_is_left_out_and_the_kind_goes_on),
		cmocka_unit_test(of_what_cannot_be_read_a_remnant_is_kept_where_it_is_wanted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
