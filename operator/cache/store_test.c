/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the object store: order of versions, index, swap, own writes. */
#include "operator/cache/store.h"

#include <errno.h>
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "lib/strbuf.h"
#include "operator/cache/pod_fields.h"
#include "operator/kube/object.h"
#include "operator/kube/salvage.h"
#include "operator/raycluster/pod_state.h"
#include "operator/testing.h"
#include "operator/webhook/missing_sidecar.h"

static cJSON *object(const char *name, const char *uid, const char *rv, const char *cluster)
{
	cJSON *o = cJSON_CreateObject(), *metadata = json_object_at(o, "metadata");

	json_set_str(metadata, "namespace", "ns");
	json_set_str(metadata, "name", name);
	json_set_str(metadata, "uid", uid);
	json_set_str(metadata, "resourceVersion", rv);
	json_set(metadata, "managedFields", cJSON_CreateArray());
	if (cluster)
		json_set_str(json_object_at(metadata, "labels"), "ray.io/cluster", cluster);
	return o;
}

static bool by_cluster(const cJSON *o, char *buf, size_t size)
{
	const cJSON *labels = json_get(o, "metadata.labels");
	const cJSON *cluster = cJSON_GetObjectItemCaseSensitive(labels, "ray.io/cluster");

	if (!cJSON_IsString(cluster))
		return false;
	snprintf(buf, size, "%s", cluster->valuestring);
	return true;
}

/* Writes "+a 1;" "~a 2;" "-a 2;". */
static void tell(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	const cJSON *o = after ? after : before;

	strbuf_addf(arg, "%c%s %s;",
		    change == STORE_ADDED   ? '+' :
		    change == STORE_UPDATED ? '~' :
					      '-',
		    json_str(o, "metadata.name"), json_str(o, "metadata.resourceVersion"));
}

static size_t count(const struct store *s, const char *cluster)
{
	size_t n = 0;

	for (const struct store_entry *e = NULL; (e = store_index_next(s, cluster, e));)
		n++;
	return n;
}

static void versions_are_numbers_longer_than_any_integer_type(void **state)
{
	static const struct {
		const char *a, *b;
		int sign;
	} rows[] = {
		{ "9", "10", -1 },
		{ "10", "10", 0 },
		{ "340282366920938463463374607431768211455", "340282366920938463463374607431768211454", 1 },
		{ NULL, "1", -1 },
		{ NULL, "", 0 },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		int r = rv_compare(rows[i].a, rows[i].b);
		assert_int_equal((r > 0) - (r < 0), rows[i].sign);
		r = rv_compare(rows[i].b, rows[i].a);
		assert_int_equal((r > 0) - (r < 0), -rows[i].sign);
	}
}

static void older_and_equal_states_change_nothing(void **state)
{
	struct store s;
	struct strbuf seen = STRBUF_INIT(4096);
	(void)state;

	store_init(&s, NULL);
	assert_int_equal(store_put(&s, object("a", "u1", "10", NULL), true, tell, &seen), 0);
	assert_int_equal(store_put(&s, object("a", "u1", "9", NULL), false, tell, &seen), 0);
	assert_int_equal(store_put(&s, object("a", "u1", "10", NULL), false, tell, &seen), 0);
	assert_int_equal(store_put(&s, object("a", "u1", "11", NULL), false, tell, &seen), 0);
	assert_string_equal(strbuf_str(&seen), "+a 10;~a 11;");
	assert_null(json_get(store_get(&s, "ns/a"), "metadata.managedFields"));
	store_remove(&s, "ns/a", NULL, tell, &seen);
	store_remove(&s, "ns/a", NULL, tell, &seen);
	assert_string_equal(strbuf_str(&seen), "+a 10;~a 11;-a 11;");
	assert_null(store_get(&s, "ns/a"));
	strbuf_release(&seen);
	store_release(&s);
}

static void an_object_without_a_name_is_refused(void **state)
{
	struct store s;
	(void)state;

	store_init(&s, by_cluster);
	assert_int_equal(store_put(&s, cJSON_CreateObject(), false, NULL, NULL), -EINVAL);
	assert_int_equal(store_put(&s, object("", "u", "1", "c"), false, NULL, NULL), -EINVAL);
	store_release(&s);
}

static void the_index_follows_changes_of_the_label(void **state)
{
	struct store s;
	char name[16];
	(void)state;

	store_init(&s, by_cluster);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "p%d", i);
		store_put(&s, object(name, name, "1", i % 2 ? "odd" : "even"), false, NULL, NULL);
	}
	assert_int_equal(count(&s, "odd"), 5);
	store_put(&s, object("p1", "p1", "2", "even"), false, NULL, NULL);
	store_put(&s, object("p3", "p3", "2", NULL), false, NULL, NULL);
	assert_int_equal(count(&s, "odd"), 3);
	assert_int_equal(count(&s, "even"), 6);
	for (int i = 0; i < 10; i++) {
		snprintf(name, sizeof(name), "ns/p%d", i);
		store_remove(&s, name, NULL, NULL, NULL);
	}
	assert_int_equal(count(&s, "even"), 0);
	assert_int_equal(s.index.n, 0);
	store_release(&s);
}

static void a_swap_tells_every_difference_once(void **state)
{
	struct store s, fresh;
	struct strbuf seen = STRBUF_INIT(4096);
	(void)state;

	store_init(&s, by_cluster);
	store_init(&fresh, by_cluster);
	store_put(&s, object("gone", "u1", "1", "c"), false, NULL, NULL);
	store_put(&s, object("same", "u2", "2", "c"), false, NULL, NULL);
	store_put(&fresh, object("same", "u2", "2", "c"), false, NULL, NULL);
	store_swap(&s, &fresh, "5", tell, &seen);
	assert_string_equal(strbuf_str(&seen), "-gone 1;");
	strbuf_reset(&seen);
	store_put(&fresh, object("same", "u2", "6", "c"), false, NULL, NULL);
	store_swap(&s, &fresh, "6", tell, &seen);
	assert_string_equal(strbuf_str(&seen), "~same 6;");
	strbuf_reset(&seen);
	store_put(&fresh, object("same", "u3", "7", "c"), false, NULL, NULL);
	store_swap(&s, &fresh, "7", tell, &seen);
	assert_string_equal(strbuf_str(&seen), "-same 6;+same 7;");
	assert_int_equal(count(&s, "c"), 1);
	assert_int_equal(fresh.entries.n, 0);
	strbuf_release(&seen);
	store_release(&s);
	store_release(&fresh);
}

static void a_pod_that_we_made_after_the_list_survives_the_swap_once(void **state)
{
	struct store s, fresh;
	(void)state;

	store_init(&s, by_cluster);
	store_init(&fresh, by_cluster);
	store_put(&s, object("made", "u1", "11", "c"), true, NULL, NULL);
	store_put(&s, object("before", "u2", "9", "c"), true, NULL, NULL);
	store_put(&s, object("seen", "u3", "12", "c"), true, NULL, NULL);
	store_put(&s, object("seen", "u3", "12", "c"), false, NULL, NULL);
	store_swap(&s, &fresh, "10", NULL, NULL);
	assert_non_null(store_get(&s, "ns/made"));
	assert_null(store_get(&s, "ns/before"));
	assert_null(store_get(&s, "ns/seen"));
	assert_int_equal(count(&s, "c"), 1);
	store_swap(&s, &fresh, "10", NULL, NULL);
	assert_null(store_get(&s, "ns/made"));
	store_release(&s);
	store_release(&fresh);
}

static void the_late_deletion_of_a_predecessor_leaves_the_successor(void **state)
{
	struct store s;
	_cleanup_json_ cJSON *last = object("a", "u1", "10", NULL);
	_cleanup_json_ cJSON *own_last = object("a", "u2", "12", NULL);
	(void)state;

	store_init(&s, NULL);
	store_put(&s, object("a", "u2", "11", NULL), true, NULL, NULL);
	store_remove(&s, "ns/a", last, NULL, NULL);
	assert_non_null(store_get(&s, "ns/a"));
	store_remove(&s, "ns/a", own_last, NULL, NULL);
	assert_null(store_get(&s, "ns/a"));
	store_release(&s);
}

static void a_view_lasts_until_it_is_dropped_and_not_longer_than_its_object(void **state)
{
	struct store s;
	(void)state;

	store_init(&s, by_cluster);
	store_put(&s, object("a", "u1", "1", "c"), false, NULL, NULL);
	store_put(&s, object("b", "u2", "2", "c"), false, NULL, NULL);
	store_put(&s, object("c", "u3", "3", "c"), false, NULL, NULL);
	const cJSON *view = store_get(&s, "ns/b");
	assert_string_equal(json_str(view, "metadata.uid"), "u2");
	assert_ptr_equal(store_get(&s, "ns/b"), view);
	for (const struct store_entry *e = NULL; (e = store_index_next(&s, "c", e));)
		assert_non_null(store_entry_object(&s, e));
	/* Removes a view from the middle of the list, from its head and from its end. */
	store_remove(&s, "ns/b", NULL, NULL, NULL);
	store_put(&s, object("a", "u1", "4", "c"), false, NULL, NULL);
	assert_string_equal(json_str(store_get(&s, "ns/a"), "metadata.resourceVersion"), "4");
	store_drop_views(&s);
	assert_null(s.views);
	store_drop_views(&s);
	assert_string_equal(json_str(store_get(&s, "ns/c"), "metadata.uid"), "u3");
	assert_true(store_has(&s, "ns/a"));
	assert_false(store_has(&s, "ns/b"));
	store_release(&s);
}

static void a_peek_is_one_tree_however_many_objects_are_looked_at(void **state)
{
	struct store s;

	(void)state;
	store_init(&s, by_cluster);
	store_put(&s, object("a", "u1", "1", "c"), false, NULL, NULL);
	store_put(&s, object("b", "u2", "2", "c"), false, NULL, NULL);
	assert_string_equal(json_str(store_peek(&s, "ns/a"), "metadata.uid"), "u1");
	assert_ptr_equal(store_peek(&s, "ns/a"), s.peek);
	assert_string_equal(json_str(store_peek(&s, "ns/b"), "metadata.uid"), "u2");
	assert_null(s.views);
	/* The copy is freed with its object, and with the views. If there is a view, it is used. */
	store_put(&s, object("b", "u2", "3", "c"), false, NULL, NULL);
	assert_null(s.peek);
	assert_string_equal(json_str(store_peek(&s, "ns/b"), "metadata.resourceVersion"), "3");
	store_drop_views(&s);
	assert_null(s.peek);
	assert_non_null(store_get(&s, "ns/a"));
	assert_ptr_equal(store_peek(&s, "ns/a"), store_get(&s, "ns/a"));
	assert_null(s.peek);
	assert_non_null(store_peek(&s, "ns/b"));
	store_remove(&s, "ns/b", NULL, NULL, NULL);
	assert_null(s.peek);
	assert_null(store_peek(&s, "ns/b"));
	store_release(&s);
}

/* Fills text with letters and digits of which four fifths are left when they are compressed. */
static void fill_with_noise(char *text, size_t len)
{
	uint32_t seed = 1;

	for (size_t i = 0; i < len; i++) {
		seed = seed * 1664525 + 1013904223;
		text[i] = (char)('#' + (seed >> 16) % ('[' - '#'));
	}
	text[len] = '\0';
}

/* An object of a namespace that takes about kb kilobytes in a store. */
static cJSON *object_of(const char *namespace, const char *name, const char *rv, size_t kb)
{
	cJSON *o = object(name, name, rv, "c");
	char *text = malloc(kb * 1280 + 1);

	fill_with_noise(text, kb * 1280);
	json_set_str(json_object_at(o, "metadata"), "namespace", namespace);
	json_set_str(json_object_at(o, "spec"), "text", text);
	free(text);
	return o;
}

static void a_namespace_gets_half_of_a_store_at_most_and_what_was_left_for_others(void **state)
{
	struct store s;
	(void)state;

	store_init(&s, by_cluster);
	s.bytes_max = 64 << 10; /* 56 KiB of it for whole objects */
	assert_int_equal(store_put(&s, object_of("a", "1", "1", 20), false, NULL, NULL), 0);
	assert_int_equal(store_put(&s, object_of("a", "2", "2", 20), false, NULL, NULL), -E2BIG);
	assert_false(store_has(&s, "a/2"));
	assert_int_equal(count(&s, "c"), 1);
	assert_int_equal(store_put(&s, object_of("b", "1", "3", 15), false, NULL, NULL), 0);
	assert_int_equal(store_put(&s, object_of("c", "1", "4", 15), false, NULL, NULL), 0);
	assert_int_equal(store_put(&s, object_of("d", "1", "5", 15), false, NULL, NULL), -E2BIG);
	/* What is there may change, and grow a little, whatever the others have. */
	assert_int_equal(store_put(&s, object_of("c", "1", "6", 17), false, NULL, NULL), 0);
	assert_int_equal(store_put(&s, object_of("c", "1", "7", 14), false, NULL, NULL), 0);
	assert_int_equal(store_put(&s, object_of("c", "1", "8", 50), false, NULL, NULL), -E2BIG);
	assert_false(store_has(&s, "c/1")); /* the older state is not true any more */
	assert_int_equal(store_put(&s, object_of("d", "1", "9", 15), false, NULL, NULL), 0);
	store_remove(&s, "a/1", NULL, NULL, NULL);
	store_remove(&s, "b/1", NULL, NULL, NULL);
	store_remove(&s, "d/1", NULL, NULL, NULL);
	assert_int_equal(s.bytes.n, 0);
	assert_int_equal(s.bytes.counts.n, 0);
	store_release(&s);
}

static void of_an_object_without_room_a_remnant_is_kept_until_there_is_room(void **state)
{
	struct store s;
	struct strbuf seen = STRBUF_INIT(4096);
	(void)state;

	store_init(&s, NULL);
	s.bytes_max = 64 << 10;
	s.keeps_remnants = true;
	assert_int_equal(store_put(&s, object_of("a", "1", "1", 20), false, tell, &seen), 0);
	assert_int_equal(store_put(&s, object_of("a", "2", "2", 20), false, tell, &seen), -E2BIG);
	assert_string_equal(salvage_reason(store_get(&s, "a/2")), STORE_NO_ROOM);
	assert_true(salvage_has_status(store_get(&s, "a/2")));
	assert_null(json_get(store_get(&s, "a/2"), "spec"));
	store_remove(&s, "a/1", NULL, tell, &seen);
	assert_int_equal(store_put(&s, object_of("a", "2", "3", 20), false, tell, &seen), 0);
	assert_null(salvage_reason(store_get(&s, "a/2")));
	assert_string_equal(strbuf_str(&seen), "+1 1;+2 2;-1 1;~2 3;");
	strbuf_release(&seen);
	store_release(&s);
}

/*
 * A Ray pod as the operator keeps it, with `text` in an annotation that nobody needs, and an end
 * with such a message.
 */
static cJSON *fat_pod(const char *namespace, int number, size_t text, size_t message)
{
	char name[32], rv[32], *long_text = calloc(1, MAX(text, message) + 1);
	cJSON *pod, *container, *annotations;

	snprintf(name, sizeof(name), "w%d", number);
	snprintf(rv, sizeof(rv), "%d", 1000 + number);
	pod = object(name, name, rv, "c");
	annotations = json_object_at(json_get(pod, "metadata"), "annotations");
	fill_with_noise(long_text, MAX(text, message));
	json_set_str(json_get(pod, "metadata"), "namespace", namespace);
	json_set_str(json_object_at(json_get(pod, "metadata"), "labels"), "ray.io/cluster", "c");
	json_set_str(annotations, "afterglow.dev/report-key", "0123456789abcdef");
	if (message) {
		container = cJSON_CreateObject();
		json_set_str(container, "name", "ray-worker");
		json_set_str(json_object_at(json_object_at(container, "lastState"), "terminated"),
			     "message", long_text + MAX(text, message) - message);
		json_append(json_array_at(json_object_at(pod, "status"), "containerStatuses"),
			    container);
	}
	long_text[text] = '\0';
	json_set_str(annotations, "ray.io/note", long_text);
	free(long_text);
	return pod;
}

static size_t bytes_in_use(void)
{
	return mallinfo2().uordblks;
}

static void a_tenants_fat_pods_take_their_share_and_none_is_left_out(void **state)
{
	enum { PODS = 400, TEXT = 64 << 10 };
	size_t before = bytes_in_use(), short_ones = 0;
	struct store s;
	(void)state;

	store_init(&s, NULL);
	s.bytes_max = 16 << 20;
	s.bytes_free = 2 << 10;
	s.shorten = pod_shorten;
	for (int i = 0; i < PODS; i++) {
		int r = store_put(&s, fat_pod("fat", i, TEXT, 4096), false, NULL, NULL);

		assert_true(r == 0 || r == -E2BIG);
		short_ones += r == -E2BIG;
	}
	assert_int_equal(s.entries.n, PODS);
	assert_in_range(s.bytes.n, (7 << 20) - TEXT, 8 << 20);
	/* The half of the bound, and of each other pod what manages it and judges its end. */
	assert_true(bytes_in_use() < before + (9 << 20) + short_ones * (6 << 10));
	assert_in_range(short_ones, PODS / 2, PODS - 1);
	for (int i = 0; i < 2 * PODS; i++)
		assert_int_equal(store_put(&s, fat_pod("usual", i, 200, 0), false, NULL, NULL), 0);
	assert_in_range(s.bytes.n, (7 << 20) - TEXT, 8 << 20);

	const cJSON *last = store_get(&s, "fat/w399");
	assert_string_equal(object_label(last, "ray.io/cluster"), "c");
	assert_string_equal(object_annotation(last, "afterglow.dev/report-key"),
			    "0123456789abcdef");
	assert_null(object_annotation(last, "ray.io/note"));
	assert_int_equal(strlen(json_str(json_get(last, "status.containerStatuses")->child,
					 "lastState.terminated.message")),
			 4096);
	store_drop_views(&s);
	/* Where there is room again, the pod comes whole with its next change. */
	for (int i = 0; i < PODS; i++) {
		char key[32];

		snprintf(key, sizeof(key), "fat/w%d", i);
		if (i != 399)
			store_remove(&s, key, NULL, NULL, NULL);
	}
	assert_int_equal(s.bytes.n, 0);
	cJSON *again = fat_pod("fat", 399, TEXT, 0);
	json_set_str(json_get(again, "metadata"), "resourceVersion", "9999");
	assert_int_equal(store_put(&s, again, false, NULL, NULL), 0);
	assert_non_null(object_annotation(store_get(&s, "fat/w399"), "ray.io/note"));
	store_release(&s);
	assert_int_equal(s.bytes.n, 0);
}

static void of_a_shortened_pod_lists_and_texts_are_bounded(void **state)
{
	cJSON *pod = fat_pod("ns", 1, 10, 5000),
	      *owners = json_array_at(json_get(pod, "metadata"), "ownerReferences"), *volumes;
	(void)state;

	for (int i = 0; i < 100; i++) {
		cJSON *owner = cJSON_CreateObject(), *volume = cJSON_CreateObject();
		char label[32];

		json_set_str(owner, "uid", "u");
		json_append(owners, owner);
		volumes = json_array_at(json_object_at(pod, "spec"), "volumes");
		if (i == 99) {
			cJSON *item = cJSON_CreateObject();

			json_set_str(item, "key", "launch-x86_64-1");
			json_append(json_array_at(json_object_at(volume, "configMap"), "items"),
				    item);
		}
		json_append(volumes, volume);
		snprintf(label, sizeof(label), "ray.io/x%d", i);
		json_set_str(json_get(pod, "metadata.labels"), label, "x");
	}
	pod_shorten(pod, true);
	assert_int_equal(cJSON_GetArraySize(json_get(pod, "metadata.labels")), 1);
	assert_int_equal(cJSON_GetArraySize(owners), POD_SHORT_ITEMS_MAX);
	assert_null(json_get(json_get(pod, "status.containerStatuses")->child,
			     "lastState.terminated.message"));
	/* the launcher's, which is the last one */
	assert_int_equal(cJSON_GetArraySize(json_get(pod, "spec.volumes")), 1);
	cJSON_Delete(pod);
}

/* Each change of it would cost the square of their number. */
static void a_pod_with_very_many_containers_is_shortened_and_keeps_its_sidecar(void **state)
{
	struct store s;
	(void)state;

	store_init(&s, NULL);
	s.shorten = pod_shorten;
	for (int n = POD_CONTAINERS_MAX; n <= POD_CONTAINERS_MAX + 1; n++) {
		cJSON *pod = fat_pod("ns", n, 10, 0),
		      *containers = json_array_at(json_object_at(pod, "spec"), "containers");
		const cJSON *kept;
		char key[32];

		for (int i = 1; i <= n; i++)
			json_append(containers, json_named_new(i < n ? "c" : "afterglow"));
		snprintf(key, sizeof(key), "ns/w%d", n);
		assert_int_equal(store_put(&s, pod, false, NULL, NULL),
				 n > POD_CONTAINERS_MAX ? -E2BIG : 0);
		kept = json_get(store_get(&s, key), "spec.containers");
		assert_int_equal(cJSON_GetArraySize(kept),
				 n > POD_CONTAINERS_MAX ? POD_SHORT_ITEMS_MAX + 1 : n);
		assert_non_null(json_find(kept, "name", "afterglow"));
	}
	store_release(&s);
}

/* Or else its head's service lost it, or a Warning said that the webhook missed it. */
static void a_shortened_pod_is_judged_as_the_whole_one(void **state)
{
	cJSON *pod = json_of(
		"metadata: {name: h, namespace: ml, creationTimestamp: '2026-11-21T01:00:00Z', "
		"labels: {ray.io/is-ray-node: 'yes', ray.io/identifier: i, app.kubernetes.io/name: n, app.kubernetes.io/created-by: c}, "
		"annotations: {afterglow.dev/sidecar: 'none: NoShell'}}\n"
		"spec: {containers: [{name: ray-head, image: no-shell}], readinessGates: [{conditionType: mine}], "
		"initContainers: [{name: wait-gcs-ready, resources: {limits: {memory: 256Mi}}}]}\n"
		"status: {phase: Running, conditions: [{type: mine, status: 'False'}], containerStatuses: [{name: ray-head, ready: true}]}\n");
	const cJSON *labels = json_get(pod, "metadata.labels");
	(void)state;

	assert_false(pod_is_ready(pod));
	pod_shorten(pod, true);
	assert_int_equal(missing_sidecar_of(pod, NULL, false, 1), MISSING_NO_SHELL);
	assert_false(pod_is_ready(pod));
	assert_int_equal(cJSON_GetArraySize(labels), 4);
	assert_string_equal(json_str(json_get(pod, "spec.containers")->child, "image"), "no-shell");
	assert_string_equal(
		json_str(json_get(pod, "spec.initContainers")->child, "resources.limits.memory"),
		"256Mi");
	json_set_str(json_get(pod, "metadata.annotations"), "afterglow.dev/inject", "false");
	json_set_str(json_get(pod, "metadata.annotations"), "afterglow.dev/sidecar", "added");
	pod_shorten(pod, true);
	assert_int_equal(missing_sidecar_of(pod, NULL, false, 1), MISSING_OPTED_OUT);
	cJSON_Delete(pod);
}

static void a_text_that_is_all_the_same_counts_as_a_half(void **state)
{
	struct store s;
	cJSON *even = object_of("a", "1", "1", 20);
	char *text = (char *)json_str(even, "spec.text");
	(void)state;

	memset(text, 'x', strlen(text));
	store_init(&s, NULL);
	s.bytes_max = 64 << 10;
	assert_int_equal(store_put(&s, even, false, NULL, NULL), 0);
	assert_in_range(s.bytes.n, 20 * 1280 / 2, 20 * 1280 * 2 / 3);
	store_release(&s);
}

static void a_list_that_takes_the_place_of_another_has_the_same_bound(void **state)
{
	struct store s, fresh;
	(void)state;

	store_init(&s, NULL);
	s.bytes_max = 64 << 10;
	fresh = s;
	assert_int_equal(store_put(&s, object_of("a", "1", "1", 20), false, NULL, NULL), 0);
	assert_int_equal(store_put(&fresh, object_of("a", "1", "1", 20), false, NULL, NULL), 0);
	store_swap(&s, &fresh, "1", NULL, NULL);
	assert_int_equal(fresh.bytes.n, 0);
	assert_int_equal(store_put(&s, object_of("a", "2", "2", 20), false, NULL, NULL), -E2BIG);
	assert_int_equal(store_put(&fresh, object_of("a", "1", "1", 40), false, NULL, NULL),
			 -E2BIG);
	store_release(&s);
	store_release(&fresh);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(versions_are_numbers_longer_than_any_integer_type),
		cmocka_unit_test(older_and_equal_states_change_nothing),
		cmocka_unit_test(an_object_without_a_name_is_refused),
		cmocka_unit_test(the_index_follows_changes_of_the_label),
		cmocka_unit_test(a_swap_tells_every_difference_once),
		cmocka_unit_test(a_pod_that_we_made_after_the_list_survives_the_swap_once),
		cmocka_unit_test(the_late_deletion_of_a_predecessor_leaves_the_successor),
		cmocka_unit_test(a_peek_is_one_tree_however_many_objects_are_looked_at),
		cmocka_unit_test(a_view_lasts_until_it_is_dropped_and_not_longer_than_its_object),
		cmocka_unit_test(
			a_namespace_gets_half_of_a_store_at_most_and_what_was_left_for_others),
		cmocka_unit_test(of_an_object_without_room_a_remnant_is_kept_until_there_is_room),
		cmocka_unit_test(a_tenants_fat_pods_take_their_share_and_none_is_left_out),
		cmocka_unit_test(of_a_shortened_pod_lists_and_texts_are_bounded),
		cmocka_unit_test(a_shortened_pod_is_judged_as_the_whole_one),
		cmocka_unit_test(a_pod_with_very_many_containers_is_shortened_and_keeps_its_sidecar),
		cmocka_unit_test(a_text_that_is_all_the_same_counts_as_a_half),
		cmocka_unit_test(a_list_that_takes_the_place_of_another_has_the_same_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
