/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of Events in the form that the API server accepts. */
#include "operator/kube/event.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "operator/testing.h"

#define NOW (1795224546 * NS_PER_SEC + 324 * NS_PER_MS)

static cJSON *cluster(void)
{
	return json_of(
		"{apiVersion: ray.io/v1, kind: RayCluster, metadata: {namespace: ml, name: demo, uid: u1}}");
}

static void the_same_words_about_the_same_object_have_one_name(void **state)
{
	_cleanup_json_ cJSON *about = cluster();
	_cleanup_json_ cJSON *one = event_warning(about, "R", "A", "note", NOW),
			     *again = event_warning(about, "R", "A", "note", NOW + NS_PER_SEC);
	_cleanup_json_ cJSON *other = event_warning(about, "R", "A", "another note", NOW),
			     *reason = event_warning(about, "S", "A", "note", NOW);
	(void)state;

	assert_string_equal(json_str(one, "metadata.name"), json_str(again, "metadata.name"));
	assert_string_not_equal(json_str(one, "metadata.name"), json_str(other, "metadata.name"));
	assert_string_not_equal(json_str(one, "metadata.name"), json_str(reason, "metadata.name"));
	json_set_str(json_get(about, "metadata"), "uid", "u2");
	_cleanup_json_ cJSON *successor = event_warning(about, "R", "A", "note", NOW);
	assert_string_not_equal(json_str(one, "metadata.name"),
				json_str(successor, "metadata.name"));
}

static void an_event_says_of_what_it_is_and_when(void **state)
{
	_cleanup_json_ cJSON *about = cluster();
	_cleanup_json_ cJSON *event = event_of_cluster(about, "Normal", "R", "A", "note", NOW);
	(void)state;

	assert_string_equal(json_str(event, "apiVersion"), "events.k8s.io/v1");
	assert_string_equal(json_str(event, "metadata.namespace"), "ml");
	assert_string_equal(json_str(event, "regarding.kind"), "RayCluster");
	assert_string_equal(json_str(event, "regarding.uid"), "u1");
	assert_string_equal(json_str(event, "type"), "Normal");
	assert_string_equal(json_str(event, "action"), "A");
	/* MicroTime: exactly six digits. */
	assert_non_null(strstr(json_str(event, "eventTime"), ".324000Z"));
}

static void a_note_is_cut_between_characters(void **state)
{
	_cleanup_json_ cJSON *about = cluster();
	char note[4096];
	(void)state;

	for (size_t shift = 0; shift < 3; shift++) {
		memset(note, 'x', shift);
		for (size_t i = shift; i + 3 < sizeof(note); i += 3)
			memcpy(note + i, "\xe2\x82\xac", 4);
		_cleanup_json_ cJSON *event = event_warning(about, "R", "A", note, NOW);
		char *text = cJSON_GetStringValue(json_get(event, "note"));

		assert_true(strlen(text) <= 1023 && strlen(text) > 1015);
		/* utf8_mend would change a text with an incomplete character. */
		_cleanup_free_ char *before = strdup(text);
		utf8_mend(text);
		assert_string_equal(text, before);
	}
}

static void an_event_of_an_object_takes_its_kind_from_there(void **state)
{
	_cleanup_json_ cJSON *about = json_of(
		"{apiVersion: coordination.k8s.io/v1, kind: Lease, metadata: {namespace: system, name: l}}");
	_cleanup_json_ cJSON *pod = json_of("{metadata: {namespace: ml, name: w, uid: u}}");
	_cleanup_json_ cJSON *event = event_of_object(about, "Warning", "R", "A", "n", NOW),
			     *of_pod = event_of_pod(pod, "Normal", "R", "A", "n", NOW);
	(void)state;

	assert_string_equal(json_str(event, "regarding.kind"), "Lease");
	assert_string_equal(json_str(event, "regarding.apiVersion"), "coordination.k8s.io/v1");
	assert_string_equal(json_str(of_pod, "regarding.kind"), "Pod");
	assert_string_equal(json_str(of_pod, "regarding.apiVersion"), "v1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_words_about_the_same_object_have_one_name),
		cmocka_unit_test(an_event_says_of_what_it_is_and_when),
		cmocka_unit_test(a_note_is_cut_between_characters),
		cmocka_unit_test(an_event_of_an_object_takes_its_kind_from_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
