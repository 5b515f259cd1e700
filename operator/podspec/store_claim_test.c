/* SPDX-License-Identifier: Apache-2.0 */
/* Tests with claims as Kubernetes shows them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/units.h"
#include "operator/podspec/store_claim.h"
#include "operator/raycluster/testing.h"

#define NOW "2026-11-21T12:00:00Z"
#define OLD "creationTimestamp: \"2026-11-21T11:00:00Z\""
#define NEW "creationTimestamp: \"2026-11-21T11:59:30Z\""
#define PROVISIONER "volume.kubernetes.io/storage-provisioner: ebs.csi.aws.com"

static void a_claim_that_no_volume_will_be_bound_to_is_left_alone(void **state)
{
	static const struct {
		const char *claim, *trouble;
	} rows[] = {
		{ NULL, "does not exist" },
		{ "metadata: {" OLD "}\nstatus: {phase: Bound}\n", NULL },
		{ "metadata: {" OLD ", deletionTimestamp: \"" NOW "\"}\nstatus: {phase: Bound}\n", "is being deleted" },
		{ "metadata: {" OLD "}\nstatus: {phase: Lost}\n", "has lost its volume" },
		/* Static binding, or no default class: no volume waits for a pod. */
		{ "metadata: {" OLD "}\nspec: {storageClassName: \"\"}\nstatus: {phase: Pending}\n", "waits for a volume" },
		{ "metadata: {" OLD "}\nstatus: {phase: Pending}\n", "waits for a volume" },
		{ "metadata: {" NEW "}\nstatus: {phase: Pending}\n", NULL },
		/* Immediate: the provisioner was asked long ago. */
		{ "metadata: {" OLD ", annotations: {" PROVISIONER "}}\nspec: {storageClassName: gp3}\nstatus: {phase: Pending}\n",
		  "waits for a volume" },
		/* WaitForFirstConsumer: the first pod will be, or was, one of ours. */
		{ "metadata: {" OLD "}\nspec: {storageClassName: gp3}\nstatus: {phase: Pending}\n", NULL },
		{ "metadata: {" OLD ", annotations: {" PROVISIONER ", volume.kubernetes.io/selected-node: n1}}\n"
		  "spec: {storageClassName: gp3}\nstatus: {phase: Pending}\n", NULL },
		/* Nothing is known. */
		{ "metadata: {}\n", NULL },
		{ "metadata: {creationTimestamp: soon}\nstatus: {phase: Pending}\n", NULL },
	};
	int64_t now;

	(void)state;
	assert_int_equal(time_parse(NOW, &now, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *claim = rows[i].claim ? json_of(rows[i].claim) : NULL;
		const char *trouble = store_claim_trouble(claim, now);

		if (!trouble != !rows[i].trouble ||
		    (trouble && strncmp(trouble, rows[i].trouble, strlen(rows[i].trouble))))
			fail_msg("row %zu: %s", i, trouble ? trouble : "none");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_claim_that_no_volume_will_be_bound_to_is_left_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
