/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of why a Ray pod has no sidecar: each reason, and annotations without a meaning. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/units.h"
#include "operator/testing.h"
#include "operator/webhook/missing_sidecar.h"

#define SINCE "2026-11-21T01:00:00Z"
#define BEFORE "2026-11-21T00:59:59Z"
#define AFTER "2026-11-21T01:00:01Z"
#define RAY "labels: {ray.io/is-ray-node: 'yes'}, "
#define ALONE "containers: [{name: ray-worker}]"

static const struct {
	/* Cluster: its annotations; NULL: unknown. */
	const char *metadata, *created, *spec, *cluster;
	bool excluded, no_webhook;
	const char *reason;
} rows[] = {
	{ RAY, AFTER, ALONE, "", false, false, "Missed" },
	{ RAY, AFTER, ALONE, NULL, false, false, "Missed" },
	{ RAY, BEFORE, ALONE, "", false, false, "BeforeInstall" },
	/* Both the pod's time and the webhook's have whole seconds. */
	{ RAY, SINCE, ALONE, "", false, false, "BeforeInstall" },
	{ RAY, AFTER, ALONE, "", false, true, "BeforeInstall" },
	{ RAY, "soon", ALONE, "", false, false, "BeforeInstall" },
	/* The pod has a sidecar of either kind, or needs none. */
	{ RAY, AFTER, "containers: [{name: ray-worker}, {name: afterglow}]", "", false, false, "" },
	{ RAY, AFTER, ALONE ", initContainers: [{name: afterglow}]", "", false, false, "" },
	{ RAY "annotations: {afterglow.dev/inject: 'false'}, ", AFTER, "containers: [{name: ray}, {name: afterglow}]", "", false, false, "" },
	{ "", AFTER, ALONE, "", false, false, "" },
	{ "labels: {ray.io/is-ray-node: 'no'}, ", AFTER, ALONE, "", false, false, "" },
	/* The user decided it. */
	{ RAY "annotations: {afterglow.dev/inject: 'false'}, ", AFTER, ALONE, "", false, false, "OptedOut" },
	{ RAY "annotations: {afterglow.dev/inject: 'true'}, ", AFTER, ALONE, "", false, false, "Missed" },
	{ RAY, AFTER, ALONE, "afterglow.dev/inject: 'false'", false, false, "OptedOut" },
	{ RAY, BEFORE, ALONE, "afterglow.dev/inject: 'false'", false, false, "OptedOut" },
	{ RAY, AFTER, ALONE, "", true, false, "Excluded" },
	/* The webhook wrote the reason. */
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NoCommand'}, ", AFTER, ALONE, "", false, false, "NoCommand" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NoRayContainer'}, ", AFTER, ALONE, "", false, false, "NoRayContainer" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NoShell'}, ", AFTER, ALONE, "", false, false, "NoShell" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: MustBeProcess1'}, ", AFTER, ALONE, "", false, false, "MustBeProcess1" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NoCommand, of the image'}, ", AFTER, ALONE, "", false, false, "NoCommand" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: Refused'}, ", AFTER, ALONE, "", false, false, "Refused" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: OptedOut'}, ", AFTER, ALONE, "", false, false, "OptedOut" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: Excluded'}, ", AFTER, ALONE, "", false, false, "Excluded" },
	/* The reason is of a later version, or hostile. */
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: TooLarge'}, ", AFTER, ALONE, "", false, false, "TooLarge" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: TooMany'}, ", AFTER, ALONE, "", false, false, "TooMany" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NewReason'}, ", AFTER, ALONE, "", false, false, "Refused" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none: NoCommandment'}, ", AFTER, ALONE, "", false, false, "Refused" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'none:'}, ", AFTER, ALONE, "", false, false, "Refused" },
	{ RAY "annotations: {afterglow.dev/sidecar: 'v1'}, ", AFTER, ALONE, "", false, false, "Missed" },
	{ RAY "annotations: {afterglow.dev/sidecar: [1], afterglow.dev/inject: {a: b}}, ", AFTER, ALONE, "", false, false, "Missed" },
	{ RAY "annotations: 7, ", AFTER, "containers: 7", "", false, false, "Missed" },
};

static void each_pod_without_the_sidecar_has_a_reason(void **state)
{
	int64_t since_ns = 0;

	(void)state;
	assert_int_equal(time_parse(SINCE, &since_ns, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char yaml[1024], of_cluster[256];
		const char *reason;

		snprintf(yaml, sizeof(yaml), "metadata: {%screationTimestamp: '%s'}\nspec: {%s}\n",
			 rows[i].metadata, rows[i].created, rows[i].spec);
		snprintf(of_cluster, sizeof(of_cluster), "metadata: {annotations: {%s}}\n",
			 rows[i].cluster ? rows[i].cluster : "");
		_cleanup_json_ cJSON *pod = json_of(yaml),
				     *cluster = rows[i].cluster ? json_of(of_cluster) : NULL;
		reason = missing_sidecar_name(missing_sidecar_of(
			pod, cluster, rows[i].excluded, rows[i].no_webhook ? 0 : since_ns));
		if (strcmp(reason, rows[i].reason) != 0)
			fail_msg("row %zu: %s instead of %s", i, reason, rows[i].reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_pod_without_the_sidecar_has_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
