/* SPDX-License-Identifier: Apache-2.0 */
/* Tests that a valid signature is passed on, and that another one is made otherwise. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "lib/json.h"
#include "operator/failures/signature.h"
#include "operator/testing.h"

static void only_the_form_is_good(void **state)
{
	static const struct {
		const char *text;
		bool good;
	} rows[] = {
		{ "v1:Segfault:ray::f:native.c_crash_at", true },
		{ "v1:Segfault:raylet:", true },
		{ "v1:Segfault:ray::f:SIGSEGV:a:b", true },
		{ NULL, false },
		{ "", false },
		{ "v1:", false },
		{ "v1:Segfault", false },
		{ "v1:Segfault:", false },
		{ "v1:Segfault::x", false },
		{ "v1:Segfault:raylet", false },
		{ "v1:SegfaultX:raylet:x", false },
		{ "v1:Killed:raylet:x", false },
		{ "v2:Segfault:raylet:x", false },
		{ "V1:Segfault:raylet:x", false },
		{ " v1:Segfault:raylet:x", false },
		{ "v1:Segfault:ray\nlet:x", false },
		{ "v1:Segfault:raylet:\x1b[31m", false },
		{ "v1:Segfault:r\xc3\xa4y:x", false },
		{ "v1:Segfault:raylet:a b", false },
		{ "v1:Segfault:raylet:<b>", false },
		{ "v1:Segfault:task/boom:SIGSEGV,deref_null@boom.so,f@crash.py", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (signature_is_good(rows[i].text, "Segfault") != rows[i].good)
			fail_msg("%s", rows[i].text);
	assert_false(signature_is_good("v1:Segfault:a:b", NULL));
	assert_false(signature_is_good("v1::a:b", ""));
}

static void its_length_has_a_limit(void **state)
{
	char text[SIGNATURE_MAX + 2];

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "v1:Killed:p:", 12);
	text[SIGNATURE_MAX + 1] = '\0';
	assert_false(signature_is_good(text, "Killed"));
	text[SIGNATURE_MAX] = '\0';
	assert_true(signature_is_good(text, "Killed"));
}

static void a_signature_without_a_sidecar_is_made_of_the_known_facts(void **state)
{
	static const struct {
		const char *reported, *spec, *is;
	} rows[] = {
		{ "v1:Killed:ray::f:here", "{class: Killed, container: ray-worker}", "v1:Killed:ray::f:here" },
		{ NULL, "{class: ApplicationError, container: ray-worker, exitCode: 3}", "v1:ApplicationError:ray-worker:exit=3?" },
		{ NULL, "{class: Killed, container: ray-worker, exitCode: 137, signal: SIGKILL}", "v1:Killed:ray-worker:SIGKILL?" },
		{ NULL, "{class: GCSFailed, container: ray-head, exitCode: 1, process: {name: gcs_server, signal: SIGSEGV}}",
		  "v1:GCSFailed:gcs_server:SIGSEGV" },
		{ NULL, "{class: PodDeleted, container: c, exitCode: 143, endedBy: {kind: Autoscaler}}", "v1:PodDeleted:c:Autoscaler" },
		{ NULL, "{class: StartFailure, container: c, kubernetesReason: ImagePullBackOff}", "v1:StartFailure:c:ImagePullBackOff" },
		/* The sidecar's signature is for a class that the pod's status overrules. */
		{ "v1:Killed:ray::f:here", "{class: Evicted, container: c, exitCode: 137}", "v1:Evicted:c:exit=137" },
		{ NULL, "{class: WorkerCrash, container: c, process: {name: 'ray::a:b \xc3\xa4'}}", "v1:WorkerCrash:ray__a_b___:" },
		{ NULL, "{}", "v1:Unknown:?:?" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		_cleanup_json_ cJSON *spec = json_of(rows[i].spec);

		signature_set(rows[i].reported, spec);
		assert_string_equal(json_str(spec, "signature"), rows[i].is);
		/* A signature that was made stays when it is looked at again. */
		signature_set(json_str(spec, "signature"), spec);
		assert_string_equal(json_str(spec, "signature"), rows[i].is);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_the_form_is_good),
		cmocka_unit_test(its_length_has_a_limit),
		cmocka_unit_test(a_signature_without_a_sidecar_is_made_of_the_known_facts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
