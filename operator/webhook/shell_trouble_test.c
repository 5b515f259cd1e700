/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of images that have no shell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "operator/cache/pod_fields.h"
#include "operator/kube/projection.h"
#include "operator/raycluster/testing.h"
#include "operator/webhook/shell_trouble.h"

#define SECOND ((int64_t)1000000000)
#define OURS "command: [/bin/sh, -c, line, afterglow], args: [/app, --x]"
#define SIDECAR ", {name: afterglow, volumeMounts: [{mountPath: /afterglow/run}, {mountPath: /afterglow/spool}]}"
#define NO_SHELL \
	"message: 'unable to start container process: exec: \"/bin/sh\": stat /bin/sh: no such file or directory: unknown'"
#define STARTED_IN_VAIN "lastState: {terminated: {reason: StartError, " NO_SHELL "}}"

static cJSON *pod(const char *command, const char *sidecar, const char *status)
{
	char yaml[1024];

	snprintf(
		yaml, sizeof(yaml),
		"metadata: {namespace: ml}\nspec: {containers: [{name: ray, image: 'app:1', %s}%s]}\n"
		"status: {containerStatuses: [{name: ray, %s}]}\n",
		command, sidecar, status);
	return json_of(yaml);
}

static void a_start_that_fails_for_our_shell_is_remembered(void **state)
{
	static const struct {
		const char *command, *sidecar, *status;
		bool noted;
	} rows[] = {
		{ OURS, SIDECAR, STARTED_IN_VAIN, true },
		{ OURS, SIDECAR, "state: {terminated: {reason: StartError, " NO_SHELL "}}", true },
		{ OURS, SIDECAR, "state: {waiting: {reason: RunContainerError, " NO_SHELL "}}", true },
		{ OURS, SIDECAR, "state: {waiting: {reason: CrashLoopBackOff}}, " STARTED_IN_VAIN, true },
		/* Our shell is not there. */
		{ OURS, "", STARTED_IN_VAIN, false },
		/* Another reason, or a message that the container itself left. */
		{ OURS, SIDECAR, "lastState: {terminated: {reason: Error, " NO_SHELL "}}", false },
		{ OURS, SIDECAR, "lastState: {terminated: {reason: StartError, message: 'exec: \"/app\": no such file'}}", false },
		{ OURS, SIDECAR, "lastState: {terminated: {reason: StartError, message: 'exec: \"/bin/sh\": permission denied'}}", false },
		{ OURS, SIDECAR, "lastState: {terminated: {reason: StartError}}", false },
		{ OURS, SIDECAR, "state: {running: {}}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *seen = pod(rows[i].command, rows[i].sidecar, rows[i].status);
		struct remembered images = { 0 };

		project(seen, pod_fields); /* as the watch shows it */
		shell_trouble_see(&images, seen, SECOND);
		if (shell_trouble_holds(&images, "ml", seen, 2 * SECOND) != rows[i].noted)
			fail_msg("row %zu", i);
		remembered_release(&images);
	}
}

static void it_holds_for_that_image_in_that_namespace_for_a_day(void **state)
{
	_cleanup_json_ cJSON *seen = pod(OURS, SIDECAR, STARTED_IN_VAIN),
			     *other = json_of("spec: {containers: [{name: ray, image: 'app:2', command: [/app]}]}"),
			     *same = json_of("spec: {containers: [{name: ray, image: 'app:1', command: [/app]}]}"),
			     *without = json_of("spec: {containers: [{name: ray}]}");
	struct remembered images = { 0 };

	(void)state;
	project(seen, pod_fields);
	shell_trouble_see(&images, seen, SECOND);
	assert_true(shell_trouble_holds(&images, "ml", same, 3600 * SECOND));
	assert_false(shell_trouble_holds(&images, "ml", same, 86401 * SECOND));
	assert_false(shell_trouble_holds(&images, "web", same, 2 * SECOND));
	assert_false(shell_trouble_holds(&images, "ml", other, 2 * SECOND));
	assert_false(shell_trouble_holds(&images, "ml", without, 2 * SECOND));
	remembered_release(&images);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_start_that_fails_for_our_shell_is_remembered),
		cmocka_unit_test(it_holds_for_that_image_in_that_namespace_for_a_day),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
