/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of namespaces in which the sidecar's image cannot be pulled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "operator/raycluster/testing.h"
#include "operator/webhook/image_trouble.h"

#define SECOND ((int64_t)1000000000)

static void see(struct remembered *t, const char *status, int64_t at_s)
{
	char yaml[512];

	snprintf(
		yaml, sizeof(yaml),
		"metadata: {namespace: ml}\nstatus: {containerStatuses: [{name: ray, state: {running: {}}}, %s]}\n",
		status);
	_cleanup_json_ cJSON *pod = json_of(yaml);
	image_trouble_see(t, pod, at_s * SECOND);
}

static void an_image_that_cannot_be_pulled_is_trouble_of_its_namespace_for_five_minutes(void **state)
{
	struct remembered t = { 0 };

	(void)state;
	see(&t, "{name: afterglow, state: {waiting: {reason: ImagePullBackOff}}}", 10);
	assert_true(image_trouble_holds(&t, "ml", 11 * SECOND));
	assert_false(image_trouble_holds(&t, "other", 11 * SECOND));
	assert_false(image_trouble_holds(&t, "ml", 310 * SECOND));
	remembered_release(&t);
}

static void a_sidecar_that_runs_ends_it(void **state)
{
	struct remembered t = { 0 };

	(void)state;
	see(&t, "{name: afterglow, state: {waiting: {reason: ErrImagePull}}}", 10);
	see(&t, "{name: afterglow, state: {waiting: {reason: ContainerCreating}}}", 11);
	assert_true(image_trouble_holds(&t, "ml", 12 * SECOND));
	see(&t, "{name: afterglow, state: {running: {}}}", 12);
	assert_false(image_trouble_holds(&t, "ml", 13 * SECOND));
	remembered_release(&t);
}

static void the_image_of_another_container_is_no_trouble(void **state)
{
	struct remembered t = { 0 };

	(void)state;
	see(&t, "{name: mine, state: {waiting: {reason: ErrImagePull}}}", 10);
	see(&t, "{name: afterglow, state: {waiting: {reason: CrashLoopBackOff}}}", 10);
	assert_int_equal(t.names.map.n, 0);
	remembered_release(&t);
}

/* In a namespace that was deleted, nothing would end the trouble. */
static void trouble_that_is_over_makes_room(void **state)
{
	struct remembered t = { 0 };
	char yaml[256];

	(void)state;
	for (int i = 0; i <= REMEMBERED_MAX; i++) {
		snprintf(
			yaml, sizeof(yaml),
			"{\"metadata\":{\"namespace\":\"n%d\"},\"status\":{\"containerStatuses\":[{\"name\":"
			"\"afterglow\",\"state\":{\"waiting\":{\"reason\":\"ErrImagePull\"}}}]}}",
			i);
		_cleanup_json_ cJSON *pod = cJSON_Parse(yaml);
		image_trouble_see(&t, pod, 10 * SECOND);
	}
	assert_int_equal(t.names.map.n, REMEMBERED_MAX);
	see(&t, "{name: afterglow, state: {waiting: {reason: ErrImagePull}}}", 20);
	assert_false(image_trouble_holds(&t, "ml", 21 * SECOND));
	see(&t, "{name: afterglow, state: {waiting: {reason: ErrImagePull}}}", 400);
	assert_true(image_trouble_holds(&t, "ml", 401 * SECOND));
	assert_int_equal(t.names.map.n, 1);
	remembered_release(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_image_that_cannot_be_pulled_is_trouble_of_its_namespace_for_five_minutes),
		cmocka_unit_test(a_sidecar_that_runs_ends_it),
		cmocka_unit_test(the_image_of_another_container_is_no_trouble),
		cmocka_unit_test(trouble_that_is_over_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
