/* SPDX-License-Identifier: Apache-2.0 */
/* Tests of the doctor's findings, from tables of answers. */
#include "plugin/doctor.h"

#include "plugin/testing.h"

#define CRDS "{'items': [{'metadata': {'name': 'rayfailures.afterglow.dev'}}]}"
#define OPERATOR(ready) "{'items': [{'metadata': {'name': 'op', 'namespace': 'ag'}, 'spec': {'replicas': 2}, 'status': {'readyReplicas': " ready "}}]}"
#define WEBHOOK(ca) "{'items': [{'webhooks': [{'name': 'pods.afterglow.dev', 'clientConfig': {'caBundle': '" ca "'}}]}]}"
#define POD(containers, more) "{'items': [{'metadata': {'name': 'p', 'namespace': 'ml'" more "}, 'spec': {'containers': [" containers "]}}]}"
#define WITH "{'name': 'ray-head'}, {'name': 'afterglow'}"
#define CLAIMS "{'items': [{'metadata': {'name': 'ray-failures', 'namespace': 'ml'}}]}"
#define NODE(kernel, os) "{'items': [{'metadata': {'name': 'n1'}, 'status': {'nodeInfo': {'kernelVersion': '" kernel "', 'operatingSystem': '" os "'}}}]}"
#define NONE "{'items': []}"

static void each_gap_is_found(void **state)
{
	static const struct {
		const char *crds, *operators, *webhooks, *pods, *claims, *nodes;
		unsigned gaps, broken, unknown;
		const char *part;
	} rows[] = {
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD(WITH, ""), CLAIMS, NODE("6.1.0", "linux"), 0, 0, 0, "0 gaps, 0 broken" },
		{ NONE, OPERATOR("2"), WEBHOOK("x"), NONE, NONE, NONE, 0, 1, 0, "rayfailures.afterglow.dev is not installed" },
		{ CRDS, NONE, WEBHOOK("x"), NONE, NONE, NONE, 0, 1, 0, "There is no operator." },
		{ CRDS, OPERATOR("0"), WEBHOOK("x"), NONE, NONE, NONE, 0, 1, 0, "kubectl -n ag describe pods" },
		{ CRDS, OPERATOR("1"), WEBHOOK("x"), NONE, NONE, NONE, 1, 0, 0, "1 of 2 pods are ready" },
		{ CRDS, OPERATOR("2"), NONE, NONE, NONE, NONE, 1, 0, 0, "There is no webhook." },
		{ CRDS, OPERATOR("2"), WEBHOOK(""), NONE, NONE, NONE, 0, 1, 0, "has no CA" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD("{'name': 'ray-head'}", ", 'annotations': {'afterglow.dev/sidecar': 'none: Refused'}"),
		  NONE, NONE, 1, 0, 0, "without the sidecar: 1, such as ml/p (none: Refused)" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD(WITH, ""), NONE, NONE, 1, 0, 0, "Namespace ml has Ray pods, and no claim" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD(WITH, ", 'labels': {'ray.io/node-type': 'head'}"), CLAIMS, NONE, 1, 0, 0,
		  "without Kubernetes' Events: of 1 of 1 heads." },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD("{'name': 'ray-head', 'env': [{'name': 'RAY_DASHBOARD_INGEST_PLATFORM_EVENTS'}]}, {'name': 'afterglow'}",
		  ", 'labels': {'ray.io/node-type': 'head'}"), CLAIMS, NONE, 0, 0, 0, "0 gaps" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), POD("{'name': 'afterglow', 'args': ['--store', 's3://b']}", ""), NONE, NONE, 0, 0, 0, "0 gaps" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"),
		  "{'items': [{'metadata': {'name': 'p', 'namespace': 'ml'}, 'spec': {'initContainers': [{'name': 'afterglow', "
		  "'args': ['--store', 's3://b']}]}}]}",
		  NONE, NONE, 0, 0, 0, "0 gaps" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), NONE, NONE, NODE("4.18.0-553.el8", "linux"), 1, 0, 0, "Linux 4.18.0" },
		{ CRDS, OPERATOR("2"), WEBHOOK("x"), NONE, NONE, NODE("10.0.20348", "windows"), 1, 0, 0, "runs Windows" },
		{ "null", "null", "null", "null", "null", "null", 0, 0, 6, "6 not known" },
		{ "3", "[]", "{}", "{'items': [null, {}]}", "{'items': 3}", "{'items': [{}]}", 2, 2, 0, "no operator" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
		_cleanup_json_ cJSON *crds = json_of(rows[i].crds),
				     *operators = json_of(rows[i].operators),
				     *webhooks = json_of(rows[i].webhooks),
				     *pods = json_of(rows[i].pods),
				     *claims = json_of(rows[i].claims),
				     *nodes = json_of(rows[i].nodes);
		struct doctor_facts facts = {
			crds, operators, webhooks, pods, claims, nodes, NULL
		};

		if (cJSON_IsNull(crds))
			facts = (struct doctor_facts){ 0 };
		struct doctor_result result = doctor(&facts, NULL, &out);
		has(&out, rows[i].part);
		if (result.gaps != rows[i].gaps || result.broken != rows[i].broken ||
		    result.unknown != rows[i].unknown)
			fail_msg("row %zu:\n%s", i, strbuf_str(&out));
	}
}

static void a_gap_of_two_namespaces_is_said_once_in_text_and_json(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *
		findings = cJSON_CreateArray(),
	       *claims = json_of("{'items': []}"),
	       *pods = json_of(
		       "{'items': [{'metadata': {'name': 'p', 'namespace': 'a'}, 'spec': {'containers': [" WITH
		       "]}}, "
		       "{'metadata': {'name': 'q', 'namespace': 'b'}, 'spec': {'containers': [" WITH
		       "]}}]}");
	struct doctor_facts facts = { .pods = pods, .claims = claims };
	size_t gaps = 0;
	const cJSON *finding;
	(void)state;

	doctor(&facts, findings, &out);
	has(&out, "2 namespaces have Ray pods, and no claim ray-failures: a, b.");
	cJSON_ArrayForEach(finding, findings)
		gaps += strcmp(json_str(finding, "level"), "gap") == 0 &&
			strstr(json_str(finding, "what"), ": a, b.");
	assert_int_equal(gaps, 1);
}

#define AGENT(cores, message) "{'items': [{'spec': {'nodeName': 'n1', 'containers': [{'name': 'node-agent', 'args': ['--cores', '" cores "']}]}, " \
			      "'status': {'initContainerStatuses': [{'name': 'facts', 'state': {'terminated': {'message': '" message "'}}}]}}]}"
#define FACTS(pattern, more) "{\\\"corePattern\\\":\\\"" pattern "\\\"" more "}"

static void what_node_agents_found_is_shown(void **state)
{
	static const struct {
		const char *agents;
		unsigned gaps, unknown;
		const char *part;
	} rows[] = {
		{ "null", 0, 0, "0 gaps" },
		{ NONE, 0, 0, "0 gaps" },
		{ AGENT("on", FACTS("|/bin/false", "")), 0, 0, "Node n1 has the core_pattern \"|/bin/false\"; the node agent brings" },
		{ AGENT("off", FACTS("|/bin/false", "")), 1, 0, "Crashes there have no backtrace" },
		{ AGENT("off", FACTS("/core.%p", "")), 1, 0, "nodeAgent.cores=true" },
		{ AGENT("on", FACTS("@@/run/systemd/coredump-kernel", ",\\\"coresLeftAlone\\\":true")), 1, 0, "cannot pass such cores on" },
		{ AGENT("off", FACTS("core", "")), 0, 0, "core_pattern \"core\"." },
		{ AGENT("on", FACTS("core", ",\\\"swapBytes\\\":2097152,\\\"cgroupVersion\\\":1")), 2, 0, "Node n1 has 2 MiB of swap." },
		{ AGENT("on", "{}"), 0, 0, "0 gaps" },
		{ AGENT("on", "no facts"), 0, 1, "has not reported what the node is like" },
		{ AGENT("on", "[3]"), 0, 1, "1 not known" },
		{ "{'items': [{'spec': {'nodeName': 'n1'}}]}", 0, 1, "node n1 has not reported" },
		{ "{'items': [3, {}, {'spec': 3}]}", 0, 0, "0 gaps" },
	};
	(void)state;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
		_cleanup_json_ cJSON *crds = json_of(CRDS), *operators = json_of(OPERATOR("2")),
				     *webhooks = json_of(WEBHOOK("x")), *none = json_of(NONE),
				     *agents = json_of(rows[i].agents);
		struct doctor_facts facts = { crds, operators, webhooks, none, none, none, agents };
		struct doctor_result result = doctor(&facts, NULL, &out);

		has(&out, rows[i].part);
		if (result.gaps != rows[i].gaps || result.broken ||
		    result.unknown != rows[i].unknown)
			fail_msg("row %zu:\n%s", i, strbuf_str(&out));
	}
}

static void what_a_tenant_labels_as_afterglow_is_not_believed(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT(1 << 20);
	_cleanup_json_ cJSON *
		webhooks = json_of(
		       "{'items': [{'webhooks': [{'name': 'w', 'clientConfig': {'caBundle': 'x', 'service': {'namespace': 'ag'}}}]}]}"),
	       *operators = json_of(
		       "{'items': [{'metadata': {'name': 'theirs', 'namespace': 'ml'}, 'status': {'readyReplicas': 1}}]}"),
	       *agents = json_of(
		       "{'items': [{'metadata': {'name': 'p', 'namespace': 'ml'}, 'spec': {'nodeName': 'n1'}, 'status': "
		       "{'initContainerStatuses': [{'name': 'facts', 'state': {'terminated': {'message': '{\\\"swapBytes\\\":2097152}'}}}]}}]}");
	struct doctor_facts facts = { .webhooks = webhooks,
				      .operators = operators,
				      .node_agents = agents };
	(void)state;

	doctor(&facts, NULL, &out);
	has(&out, "There is no operator.");
	lacks(&out, "theirs");
	lacks(&out, "swap");
	json_set_str(json_get(json_first(json_get(operators, "items")), "metadata"), "namespace",
		     "ag");
	json_set_str(json_get(json_first(json_get(agents, "items")), "metadata"), "namespace",
		     "ag");
	strbuf_reset(&out);
	doctor(&facts, NULL, &out);
	has(&out, "Operator theirs in namespace ag: 1 of 1 pods are ready.");
	has(&out, "Node n1 has 2 MiB of swap.");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_gap_is_found),
		cmocka_unit_test(a_gap_of_two_namespaces_is_said_once_in_text_and_json),
		cmocka_unit_test(what_node_agents_found_is_shown),
		cmocka_unit_test(what_a_tenant_labels_as_afterglow_is_not_believed)
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
