/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what a store keeps of the objects of one kind. */
#include "operator/cache/intake.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "operator/kube/salvage.h"

#define DEPTH 1200

static const char *const fields[] = {
	"apiVersion",	 "kind", "metadata.name", "metadata.namespace", "metadata.resourceVersion",
	"spec.nodeName", NULL
};

struct fixture {
	struct store store;
	struct intake intake;
	unsigned unreadable, changes;
};

static void on_unreadable(void *arg, const char *key, const char *reason)
{
	struct fixture *f = arg;

	assert_string_equal(key, "ml/w");
	assert_non_null(reason);
	f->unreadable++;
}

static void on_change(void *arg, enum store_change change, const cJSON *before, const cJSON *after)
{
	struct fixture *f = arg;

	(void)change;
	assert_true(before || after);
	f->changes++;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	store_init(&f->store, NULL);
	f->intake = (struct intake){ .resource = resource_find("v1", "Pod"),
				     .fields = fields,
				     .on_unreadable = on_unreadable,
				     .arg = f };
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	store_release(&f->store);
	free(f);
	return 0;
}

static int take(struct fixture *f, const char *text)
{
	cJSON *object = cJSON_Parse(text);

	assert_non_null(object);
	return intake_take(&f->intake, &f->store, object, on_change, f);
}

static void add_deep(struct strbuf *text, const char *name)
{
	strbuf_addf(text, ",\"%s\":", name);
	for (int i = 0; i < DEPTH; i++)
		strbuf_adds(text, "[");
	for (int i = 0; i < DEPTH; i++)
		strbuf_adds(text, "]");
}

/*
 * Makes an object that is nested too deeply, as the decoders give it (salvage.h), perhaps with such
 * a status.
 */
static cJSON *too_deep(bool status_too)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT(1 << 16);
	cJSON *object = NULL;

	strbuf_adds(
		&text,
		"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"resourceVersion\":\"9\"}");
	add_deep(&text, "spec");
	if (status_too)
		add_deep(&text, "status");
	strbuf_adds(&text, "}");
	assert_int_equal(salvage_text(strbuf_str(&text), text.len, NULL, &object, NULL), 0);
	assert_non_null(salvage_reason(object));
	return object;
}

static void an_object_is_kept_with_its_kind_and_the_fields_that_are_read(void **state)
{
	struct fixture *f = *state;
	const cJSON *pod;

	assert_int_equal(
		take(f,
		     "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"resourceVersion\":\"5\",\"managedFields\":[{}]},"
		     "\"spec\":{\"nodeName\":\"n\",\"hostname\":\"h\"},\"status\":{}}"),
		0);
	pod = store_get(&f->store, "ml/w");
	assert_string_equal(json_str(pod, "kind"), "Pod");
	assert_string_equal(json_str(pod, "spec.nodeName"), "n");
	assert_null(json_get(pod, "spec.hostname"));
	assert_null(json_get(pod, "metadata.managedFields"));
	assert_int_equal(f->changes, 1);
}

static void of_metadata_neither_spec_nor_status_is_kept(void **state)
{
	struct fixture *f = *state;

	f->intake.metadata_only = true;
	f->intake.fields = NULL;
	assert_int_equal(
		take(f,
		     "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"resourceVersion\":\"5\"},\"spec\":{},\"status\":{}}"),
		0);
	assert_null(json_get(store_get(&f->store, "ml/w"), "spec"));
	assert_null(json_get(store_get(&f->store, "ml/w"), "status"));
}

static void an_object_without_a_name_is_passed_over(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(take(f, "{\"metadata\":{\"resourceVersion\":\"5\"}}"), 0);
	assert_int_equal(f->changes, 0);
}

static void an_object_that_cannot_be_read_takes_its_older_copy_away(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		take(f,
		     "{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"resourceVersion\":\"5\"}}"),
		0);
	assert_int_equal(intake_take(&f->intake, &f->store, too_deep(false), on_change, f), 0);
	assert_false(store_has(&f->store, "ml/w"));
	assert_int_equal(f->unreadable, 1);
	assert_int_equal(f->intake.unreadable, 1);
}

static void what_is_left_of_it_is_kept_where_that_is_wanted_and_it_has_its_status(void **state)
{
	struct fixture *f = *state;

	f->intake.keep_remnants = true;
	assert_int_equal(intake_take(&f->intake, &f->store, too_deep(true), on_change, f), 0);
	assert_false(store_has(&f->store, "ml/w"));
	assert_int_equal(intake_take(&f->intake, &f->store, too_deep(false), on_change, f), 0);
	assert_true(store_has(&f->store, "ml/w"));
	assert_string_equal(json_str(store_get(&f->store, "ml/w"), "kind"), "Pod");
	assert_int_equal(f->unreadable, 2);
}

static void an_answer_to_our_own_write_is_kept_alike(void **state)
{
	struct fixture *f = *state;

	intake_learn(
		&f->intake, &f->store,
		cJSON_Parse(
			"{\"metadata\":{\"namespace\":\"ml\",\"name\":\"w\",\"resourceVersion\":\"5\"},"
			"\"spec\":{\"hostname\":\"h\"}}"),
		on_change, f);
	assert_true(store_has(&f->store, "ml/w"));
	assert_null(json_get(store_get(&f->store, "ml/w"), "spec.hostname"));
	intake_learn(&f->intake, &f->store, too_deep(false), on_change, f);
	assert_int_equal(f->changes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(an_object_is_kept_with_its_kind_and_the_fields_that_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(of_metadata_neither_spec_nor_status_is_kept, setup, teardown),
		cmocka_unit_test_setup_teardown(an_object_without_a_name_is_passed_over, setup, teardown),
		cmocka_unit_test_setup_teardown(an_object_that_cannot_be_read_takes_its_older_copy_away, setup, teardown),
		cmocka_unit_test_setup_teardown(what_is_left_of_it_is_kept_where_that_is_wanted_and_it_has_its_status, setup, teardown),
		cmocka_unit_test_setup_teardown(an_answer_to_our_own_write_is_kept_alike, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
