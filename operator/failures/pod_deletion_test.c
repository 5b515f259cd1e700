/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of whether a pod's deletion explains an end before, in and after its grace period. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/failures/pod_deletion.h"
#include "operator/testing.h"

/* The deletion began at 01:00:00. */
#define IN_GRACE "deletionTimestamp: '2026-11-21T01:00:30Z', deletionGracePeriodSeconds: 30"
#define LAST_STATE "deletionTimestamp: '2026-11-21T01:00:00Z', deletionGracePeriodSeconds: 0"

static void a_deletion_explains_what_ended_after_it_began(void **state)
{
	static const struct {
		const char *metadata, *finished;
		int exit_code;
		bool explains, is_after_oom;
	} rows[] = {
		{ "name: x", "2026-11-21T01:00:05Z", 1, false, true },
		{ "name: x", "2026-11-21T01:00:05Z", 137, false, true },
		{ IN_GRACE, "2026-11-21T00:59:58Z", 1, false, true },
		{ IN_GRACE, "2026-11-21T00:59:58Z", 143, false, true },
		{ IN_GRACE, "2026-11-21T00:59:59Z", 1, false, true },
		{ IN_GRACE, "2026-11-21T00:59:59Z", 137, false, true },
		{ IN_GRACE, "2026-11-21T00:59:59Z", 143, true, true },
		{ IN_GRACE, "2026-11-21T01:00:00Z", 1, true, true },
		{ IN_GRACE, "2026-11-21T01:00:05Z", 1, true, false },
		{ IN_GRACE, "2026-11-21T01:00:05Z", 127, false, false },
		{ IN_GRACE, "2026-11-21T01:00:05Z", 126, false, false },
		{ IN_GRACE, "2026-11-21T01:00:05Z", 137, true, true },
		{ IN_GRACE, "2026-11-21T01:00:30Z", 137, true, false },
		/* The same pod in its last state. */
		{ LAST_STATE, "2026-11-21T00:59:59Z", 137, false, true },
		{ LAST_STATE, "2026-11-21T01:00:05Z", 1, true, false },
		{ LAST_STATE, "2026-11-21T01:00:05Z", 137, true, true },
		{ LAST_STATE, "2026-11-21T01:00:30Z", 137, true, false },
		/* Without a time, or with an invalid one. */
		{ IN_GRACE, "", 137, true, true },
		{ IN_GRACE, "", 1, false, true },
		{ "deletionTimestamp: soon", "2026-11-21T01:00:05Z", 137, false, true },
		{ "deletionTimestamp: '2026-11-21T01:00:30Z', deletionGracePeriodSeconds: 1e300", "2026-11-21T01:00:05Z", 1, true, false },
		{ "deletionTimestamp: '2026-11-21T01:00:00Z', deletionGracePeriodSeconds: -5", "2026-11-21T01:00:05Z", 1, true, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *terminated = cJSON_CreateObject();
		char yaml[512];

		snprintf(yaml, sizeof(yaml),
			 "metadata: {%s}\nspec: {terminationGracePeriodSeconds: 30}\n",
			 rows[i].metadata);
		_cleanup_json_ cJSON *pod = json_of(yaml);
		json_set_str(terminated, "finishedAt", rows[i].finished);
		if (pod_deletion_explains(pod, terminated, rows[i].exit_code) != rows[i].explains ||
		    pod_deletion_is_after_oom(pod, terminated, rows[i].exit_code) !=
			    rows[i].is_after_oom)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_deletion_explains_what_ended_after_it_began),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
