/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of who decided which setting. */
#include "plugin/policy_explain.h"

#include <stdio.h>

#include "plugin/testing.h"

#define SIDECAR(args) "{'name': 'afterglow', 'args': [" args "], 'resources': {'requests': {'memory': '16Mi'}, 'limits': {'memory': '256Mi'}}}"
#define POD(annotations, containers) \
	"{'metadata': {'annotations': {" annotations "}}, 'spec': {'containers': [{'name': 'ray-worker'}" containers "]}}"
#define POLICY(name, generation, spec) "{'metadata': {'name': '" name "', 'generation': " generation "}, 'spec': {" spec "}}"

static void line_is(const struct strbuf *out, const char *setting, const char *value, const char *by)
{
	_cleanup_strbuf_ struct strbuf begin = STRBUF_INIT(256);
	char line[512];
	const char *at;

	strbuf_addf(&begin, "\n%s ", setting);
	at = strstr(strbuf_str(out), strbuf_str(&begin));
	if (!at)
		fail_msg("no %s in:\n%s", setting, strbuf_str(out));
	snprintf(line, sizeof(line), "%.*s", (int)strcspn(at + 1, "\n"), at + 1);
	if (!strstr(line, value) || strlen(line) < strlen(by) || strcmp(line + strlen(line) - strlen(by), by) != 0)
		fail_msg("not \"%s\" by \"%s\": %s", value, by, line);
}

static void explain(const char *pod, const char *cluster, const char *policies, const char *cluster_policies, struct strbuf *out)
{
	_cleanup_json_ cJSON *p = json_of(pod), *c = cluster ? json_of(cluster) : NULL, *ps = policies ? json_of(policies) : NULL;
	_cleanup_json_ cJSON *cps = cluster_policies ? json_of(cluster_policies) : NULL;

	policy_explain(&(const struct policy_facts){ p, c, ps, cps }, out);
	assert_false(strbuf_failed(out));
}

static void without_policies_the_chart_decides_and_annotations_win(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	(void)state;

	explain(POD("'afterglow.dev/oom-group': 'true'", "," SIDECAR("'--warn-at', '0.8', '--oom-group', '--stacks-at-stop', '24', '--hold-on-failure', '600', "
								       "'--hook-at-death', 'x', '--hook-at-death', 'y', '--keep-days', '30'")),
		"{'metadata': {'name': 'demo', 'annotations': {'afterglow.dev/hold-on-failure': '600', 'afterglow.dev/oom-group': 'false'}}}", NULL, NULL, &out);
	line_is(&out, "recording.enabled", "true", "chart, sidecar.enabled");
	line_is(&out, "recording.warnAt", "0.8", "chart, sidecar.warnAt");
	line_is(&out, "recording.oomGroup", "true", "annotation afterglow.dev/oom-group: \"true\" of the pod");
	line_is(&out, "recording.stacksAtStop", "true", "chart, recording.stacksAtStop");
	line_is(&out, "recording.holdOnFailure", "600", "annotation afterglow.dev/hold-on-failure: \"600\" of RayCluster/demo");
	line_is(&out, "recording.kernelLog.enabled", "false", "chart, recording.kernelLog.enabled");
	line_is(&out, "recording.coreDumps", "Summary", "chart, recording.coreDumps");
	line_is(&out, "recording.hooks.atDeath", "2 commands", "chart, recording.hooks.atDeath");
	line_is(&out, "recording.hooks.atThreshold", "0 commands", "chart, recording.hooks.atThreshold");
	line_is(&out, "recording.resources", "memory 16Mi, limit 256Mi", "chart, sidecar.resources");
	line_is(&out, "store", "none: bundles stay in the pod", "chart, store");
	line_is(&out, "store.keep.days", "30", "chart, store.keep.days");
	has(&out, "decided by the chart, memory.");
	has(&out, "No RayPolicy and no ClusterRayPolicy applied");
}

static void an_annotation_that_the_operator_ignores_decides_nothing(void **state)
{
	static const struct {
		const char *annotations, *setting, *by;
	} rows[] = {
		{ "'afterglow.dev/inject': 'no'", "recording.enabled", "chart, sidecar.enabled" },
		{ "'afterglow.dev/oom-group': 'True'", "recording.oomGroup", "chart, sidecar.oomGroup" },
		{ "'afterglow.dev/hold-on-failure': '10m'", "recording.holdOnFailure", "chart, recording.holdOnFailure" },
		{ "'afterglow.dev/hold-on-failure': ''", "recording.holdOnFailure", "chart, recording.holdOnFailure" },
		{ "'afterglow.dev/hold-on-failure': '-1'", "recording.holdOnFailure", "chart, recording.holdOnFailure" },
		{ "'afterglow.dev/hold-on-failure': '86401'", "recording.holdOnFailure", "chart, recording.holdOnFailure" },
		{ "'afterglow.dev/hold-on-failure': '86400'", "recording.holdOnFailure",
		  "annotation afterglow.dev/hold-on-failure: \"86400\" of the pod" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16), pod = STRBUF_INIT(1 << 12);

		strbuf_addf(&pod, POD("%s", "," SIDECAR("")), rows[i].annotations);
		/* The RayCluster's annotation does not count where the pod has one of its own. */
		explain(strbuf_str(&pod), "{'metadata': {'name': 'demo', 'annotations': {'afterglow.dev/inject': 'true', "
			"'afterglow.dev/oom-group': 'true', 'afterglow.dev/hold-on-failure': '600'}}}", NULL, NULL, &out);
		line_is(&out, rows[i].setting, "", rows[i].by);
	}
}

static void a_block_of_a_policy_holds_as_a_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	(void)state;

	explain(POD("'afterglow.dev/policy': 'RayPolicy/team-a generation 3 (recording); ClusterRayPolicy/platform generation 7 (store, locked)'",
		    "," SIDECAR("'--warn-at', '0.7', '--store', 's3://b/p', '--cores', 'full'")),
		NULL, "{'items': [" POLICY("other", "3", "") "," POLICY("team-a", "3", "'recording': {'warnAt': 0.7}") "]}",
		"{'items': [" POLICY("platform", "9", "'store': {'type': 's3'}") "]}", &out);
	line_is(&out, "recording.warnAt", "0.7", "RayPolicy/team-a, spec.recording.warnAt");
	line_is(&out, "recording.coreDumps", "Full", "default: RayPolicy/team-a leaves it out");
	/* The policy has changed since, so its value at that time is unknown. */
	line_is(&out, "store", "s3://b/p", "ClusterRayPolicy/platform, as it was then");
	has(&out, "RayPolicy/team-a, generation 3: it has not changed since.");
	has(&out, "ClusterRayPolicy/platform, generation 7, which locks blocks against RayPolicies: it has changed since, to generation 9.");
	has(&out, "decided by the chart, memory.");
}

static void policies_that_are_gone_or_not_to_be_read_are_named_all_the_same(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16);
	(void)state;

	explain(POD("'afterglow.dev/policy': 'RayPolicy/team-a generation 3 (recording, memory); ClusterRayPolicy/platform generation 7 (store)'",
		    "," SIDECAR("'--warn-at', '0.7'")),
		NULL, "{'items': []}", NULL, &out);
	line_is(&out, "recording.warnAt", "0.7", "RayPolicy/team-a, as it was then");
	has(&out, "RayPolicy/team-a, generation 3: it was deleted since.");
	has(&out, "ClusterRayPolicy/platform, generation 7: you may not read it.");
	has(&out, "decided by RayPolicy/team-a.");
}

static void a_pod_without_a_sidecar_says_why(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16), silent = STRBUF_INIT(1 << 16);
	(void)state;

	explain(POD("'afterglow.dev/sidecar': 'none: OptedOut', 'afterglow.dev/inject': 'false'", ""), NULL, NULL, NULL, &out);
	has(&out, "The pod has no sidecar (none: OptedOut).");
	line_is(&out, "recording.enabled", "false", "annotation afterglow.dev/inject: \"false\" of the pod");
	lacks(&out, "warnAt");
	explain(POD("", ""), NULL, NULL, NULL, &silent);
	has(&silent, "no reason is recorded");
}

static void what_a_tenant_wrote_is_printed_harmlessly_and_not_believed(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 16), odd = STRBUF_INIT(1 << 16);
	(void)state;

	explain(POD("'afterglow.dev/policy': 'RayPolicy/\\u001b[2J', 'afterglow.dev/oom-group': '\\u001b[2J', 'afterglow.dev/sidecar': '\\u001b'",
		    "," SIDECAR("'--warn-at', '\\u001b[2J'")),
		NULL, NULL, NULL, &out);
	lacks(&out, "\033");
	line_is(&out, "store", "none", "cannot be understood");
	has(&out, "and perhaps others: the rest of the annotation");
	explain("{'metadata': 7, 'spec': {'containers': [{'name': 'afterglow', 'args': {'a': 1}, 'resources': []}], 'volumes': 3}}", "[]", "3", "{}", &odd);
	has(&odd, "recording.warnAt");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_policies_the_chart_decides_and_annotations_win),
		cmocka_unit_test(an_annotation_that_the_operator_ignores_decides_nothing),
		cmocka_unit_test(a_block_of_a_policy_holds_as_a_whole),
		cmocka_unit_test(policies_that_are_gone_or_not_to_be_read_are_named_all_the_same),
		cmocka_unit_test(a_pod_without_a_sidecar_says_why),
		cmocka_unit_test(what_a_tenant_wrote_is_printed_harmlessly_and_not_believed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
