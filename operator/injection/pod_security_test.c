/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of what the Pod Security level of a namespace means for the sidecar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "operator/injection/pod_security.h"
#include "operator/raycluster/testing.h"

static void only_a_namespace_that_is_known_to_enforce_nothing_takes_the_capability(void **state)
{
	static const struct {
		const char *labels, *reason;
	} rows[] = {
		{ "{kubernetes.io/metadata.name: ml}", "" },
		{ "{pod-security.kubernetes.io/enforce: privileged}", "" },
		{ "{pod-security.kubernetes.io/warn: restricted}", "" },
		{ "{pod-security.kubernetes.io/enforce: baseline}",
		  "namespace ml enforces the Pod Security level baseline, which refuses CAP_SYSLOG and hostPath" },
		{ "{pod-security.kubernetes.io/enforce: restricted}",
		  "namespace ml enforces the Pod Security level restricted, which refuses CAP_SYSLOG and hostPath" },
		{ NULL, "the Pod Security level of namespace ml cannot be read" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_json_ cJSON *labels = rows[i].labels ? json_of(rows[i].labels) : NULL;
		char reason[POD_SECURITY_REASON_MAX];
		pod_security_judge("ml", labels, reason);
		assert_string_equal(reason, rows[i].reason);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_a_namespace_that_is_known_to_enforce_nothing_takes_the_capability),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
