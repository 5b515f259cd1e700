/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looks at what a cluster grants. Each question has a function, and report_add() writes down what
 * it found.
 */
#include "plugin/doctor.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/docs.h"
#include "lib/json.h"
#include "lib/macros.h"
#include "lib/strmap.h"
#include "plugin/explain.h"
#include "plugin/pod_sidecar.h"
#include "plugin/table.h"

#define CLAIM "ray-failures" /* the chart's default for store.claim */
#define TEXT_MAX 512
#define INSTALL \
	"helm install afterglow oci://REGISTRY/charts/afterglow --namespace afterglow-system --create-namespace"

enum level { GOOD, GAP, BROKEN, UNKNOWN, LEVELS };

struct report {
	struct strbuf parts[LEVELS];
	cJSON *findings; /* the same as JSON; NULL: it is not wanted */
	struct doctor_result result;
};

static const char *const marks[LEVELS] = { "ok", "gap", "broken", "not known" };

/* Adds a finding. cost and fix may be NULL; the format says what was found. */
static void _printf_(5, 6) report_add(struct report *report, enum level level, const char *cost,
				      const char *fix, const char *format, ...)
{
	struct strbuf *out = &report->parts[level];
	cJSON *finding = cJSON_CreateObject();
	char what[TEXT_MAX];
	va_list ap;
	unsigned *const counts[LEVELS] = { &report->result.good, &report->result.gaps,
					   &report->result.broken, &report->result.unknown };

	va_start(ap, format);
	vsnprintf(what, sizeof(what), format, ap);
	va_end(ap);
	json_set_str(finding, "level", marks[level]);
	json_set_str(finding, "what", what);
	json_set_str(finding, "costs", cost);
	json_set_str(finding, "fix", fix);
	json_append(report->findings, finding);
	strbuf_addf(out, "%-9s  ", marks[level]);
	add_between(out, "", what, "\n");
	if (cost) {
		strbuf_adds(out, "           costs:\n");
		add_wrapped(out, cost, 13);
	}
	if (fix) {
		strbuf_adds(out, "           to close it:\n");
		add_wrapped(out, fix, 13);
	}
	++*counts[level];
}

static void not_known(struct report *report, const char *what)
{
	report_add(report, UNKNOWN, NULL, NULL,
		   "%s: you may not read them, or the API server did not answer", what);
}

/*
 * Whether an object with Afterglow's label is in the namespace that the webhooks name. Any tenant
 * can put the label on his own; webhooks are the cluster's. Without any of them it is not known,
 * and all objects count.
 */
static bool is_afterglows(const cJSON *object, const struct doctor_facts *facts)
{
	bool is_known = false;

	json_each(configuration, json_get(facts->webhooks, "items"))
		json_each(webhook, json_get(configuration, "webhooks")) {
			const char *namespace = json_str(webhook, "clientConfig.service.namespace");

			if (json_is(object, "metadata.namespace", namespace))
				return true;
			is_known = is_known || namespace;
		}
	return !is_known;
}

/* namespace is NULL for what has none. */
static bool has_object(const cJSON *list, const char *namespace, const char *name)
{
	json_each(object, json_get(list, "items"))
		if (json_is(object, "metadata.name", name) &&
		    (!namespace || json_is(object, "metadata.namespace", namespace)))
			return true;
	return false;
}

static void look_at_crds(struct report *report, const struct doctor_facts *facts)
{
	if (!facts->crds)
		not_known(report, "CustomResourceDefinitions");
	else if (!has_object(facts->crds, NULL, "rayfailures.afterglow.dev"))
		report_add(report, BROKEN, "Failures are recorded nowhere in Kubernetes.", INSTALL,
			   "The CRD rayfailures.afterglow.dev is not installed.");
	else
		report_add(report, GOOD, NULL, NULL, "The CRDs are installed.");
}

static void look_at_operator(struct report *report, const cJSON *operator)
{
	int64_t ready = json_int(operator, "status.readyReplicas", 0),
		wanted = json_int(operator, "spec.replicas", 1);
	enum level level = ready == 0 ? BROKEN : ready < wanted ? GAP : GOOD;
	const char *const costs[LEVELS] = {
		[BROKEN] = "No failure is recorded now, and new Ray pods come without the sidecar.",
		[GAP] = "If the one that is left ends, failures are recorded later, and pods come without the sidecar.",
	};
	char fix[TEXT_MAX];

	snprintf(fix, sizeof(fix),
		 "kubectl -n %.63s describe pods -l app.kubernetes.io/name=afterglow",
		 json_str(operator, "metadata.namespace"));
	report_add(report, level, costs[level], level == GOOD ? NULL : fix,
		   "Operator %.253s in namespace %.63s: %" PRId64 " of %" PRId64 " pods are ready.",
		   json_str(operator, "metadata.name"), json_str(operator, "metadata.namespace"),
		   ready, wanted);
}

static void look_at_operators(struct report *report, const struct doctor_facts *facts)
{
	size_t n = 0;

	if (!facts->operators) {
		not_known(report, "Deployments");
		return;
	}
	json_each(operator, json_get(facts->operators, "items"))
		if (is_afterglows(operator, facts)) {
			look_at_operator(report, operator);
			n++;
		}
	if (!n)
		report_add(report, BROKEN, "Nothing is recorded.", INSTALL,
			   "There is no operator.");
}

static void look_at_webhook(struct report *report, const cJSON *configuration)
{
	json_each(webhook, json_get(configuration, "webhooks")) {
		const char *name = json_str(webhook, "name");

		if (*json_str_or(webhook, "clientConfig.caBundle", ""))
			report_add(report, GOOD, NULL, NULL, "Webhook %.253s has its CA.", name);
		else
			report_add(
				report, BROKEN, "New Ray pods come without the sidecar.",
				"The log of the operator says why it could not write the CA: kubectl -n afterglow-system logs "
				"deployment/afterglow-operator",
				"Webhook %.253s has no CA, so the API server cannot trust it.",
				name);
	}
}

static void look_at_webhooks(struct report *report, const struct doctor_facts *facts)
{
	if (!facts->webhooks) {
		not_known(report, "MutatingWebhookConfigurations");
		return;
	}
	if (!cJSON_GetArraySize(json_get(facts->webhooks, "items")))
		report_add(
			report, GAP,
			"Pods that KubeRay makes come without the sidecar; their failures are classified from the pod's status alone.",
			"Set webhook.enabled=true, unless Afterglow makes the pods of RayClusters itself (manageRayClusters=true).",
			"There is no webhook.");
	json_each(configuration, json_get(facts->webhooks, "items"))
		look_at_webhook(report, configuration);
}

/*
 * --- Pods
 * --------------------------------------------------------------------------------------------------
 */

static void look_at_pods(struct report *report, const struct doctor_facts *facts)
{
	size_t with = 0, without = 0;
	const cJSON *example = NULL;

	if (!facts->pods) {
		not_known(report, "Pods");
		return;
	}
	json_each(pod, json_get(facts->pods, "items")) {
		if (pod_sidecar(pod)) {
			with++;
		} else {
			without++;
			example = pod;
		}
	}
	report_add(report, GOOD, NULL, NULL, "Ray pods with the sidecar: %zu.", with);
	if (without)
		report_add(
			report, GAP,
			"Their failures are classified from the pod's status: no processes, no backtrace, no bundle.",
			"Delete such a pod, and the one that is made in its place gets the sidecar, unless a reason above says otherwise.",
			"Ray pods without the sidecar: %zu, such as %.63s/%.253s (%.150s).",
			without, json_str(example, "metadata.namespace"),
			json_str(example, "metadata.name"),
			annotation_of(example, "afterglow.dev/sidecar") ?:
				"no reason is noted: it is older than the installation, or the webhook was not asked");
}

/*
 * Ray's dashboard shows Kubernetes' Events, and with them verdicts, only where somebody asks for
 * it.
 */
static void look_at_dashboards(struct report *report, const struct doctor_facts *facts)
{
	size_t heads = 0, without = 0;

	json_each(pod, json_get(facts->pods, "items")) {
		const cJSON *env = json_get(json_first(json_get(pod, "spec.containers")), "env");

		if (!TEXT_IS_ONE_OF(label_of(pod, "ray.io/node-type"), "head"))
			continue;
		heads++;
		without += !json_find(env, "name", "RAY_DASHBOARD_INGEST_PLATFORM_EVENTS");
	}
	if (without)
		report_add(
			report, GAP,
			"The dashboard does not show what Afterglow says; `kubectl describe` and RayFailures do.",
			"With Ray 2.56 and newer, " DOCS_PAGE(
				"monitoring.md#in-rays-own-dashboard") " says what the head needs.",
			"Ray's dashboards without Kubernetes' Events: of %zu of %zu heads.",
			without, heads);
}

/* Returns whether the pod's sidecar ships to a store that is not a claim. */
static bool ships_elsewhere(const cJSON *pod)
{
	const char *store = pod_sidecar_value(pod_sidecar(pod), "--store");

	return store && (text_begins_with(store, "s3://") || text_begins_with(store, "azure://") ||
			 text_begins_with(store, "webhdfs"));
}

/* One finding for all namespaces, because it costs the same in each. */
static void find_without_claim(struct report *report, size_t n, const char *names)
{
	static const char cost[] =
		"Bundles stay in the pods and go with them. RayFailures and logs are kept.";
	static const char fix[] = "Make the claim (" DOCS_PAGE(
		"storage.md") "), or set store.type to s3, azure or webhdfs. "
			      "If a policy names another claim, all is well.";

	if (n > 1)
		report_add(report, GAP, cost, fix,
			   "%zu namespaces have Ray pods, and no claim " CLAIM ": %.300s.", n,
			   names);
	else
		report_add(report, GAP, cost, fix,
			   "Namespace %.300s has Ray pods, and no claim " CLAIM ".", names);
}

static void look_at_stores(struct report *report, const struct doctor_facts *facts)
{
	_cleanup_strbuf_ struct strbuf without = STRBUF_INIT(TEXT_MAX);
	size_t n = 0;
	const cJSON *pods = facts->claims ? json_get(facts->pods, "items") : NULL;
	struct strmap seen = STRMAP_INIT;

	if (!facts->claims)
		not_known(report, "PersistentVolumeClaims");
	json_each(pod, pods) {
		const char *namespace = json_str(pod, "metadata.namespace");

		if (!namespace || !pod_sidecar(pod) || ships_elsewhere(pod) ||
		    strmap_get(&seen, namespace))
			continue;
		if (strmap_put(&seen, namespace, report, NULL) < 0)
			continue;
		if (has_object(facts->claims, namespace, CLAIM)) {
			report_add(report, GOOD, NULL, NULL,
				   "Namespace %.63s has the claim " CLAIM ".", namespace);
			continue;
		}
		strbuf_addf(&without, "%s%.63s", n++ ? ", " : "", namespace);
	}
	if (n)
		find_without_claim(report, n, strbuf_str(&without));
	strmap_release(&seen, NULL);
}

/*
 * --- Nodes
 * -------------------------------------------------------------------------------------------------
 */

/* Returns 6001 for "6.1.0-18-amd64", or 0 if it cannot be parsed. */
static int kernel_of(const cJSON *node)
{
	const char *text = json_str(node, "status.nodeInfo.kernelVersion");
	int major, minor;

	return text && sscanf(text, "%4d.%4d", &major, &minor) == 2 ? major * 1000 + minor : 0;
}

#define OPENAT2_SINCE 5006

static void look_at_node(struct report *report, const cJSON *node)
{
	const char *name = json_str(node, "metadata.name");
	int kernel = kernel_of(node);

	if (json_is(node, "status.nodeInfo.operatingSystem", "windows")) {
		report_add(report, GAP, "Ray pods there get no sidecar.", NULL,
			   "Node %.253s runs Windows.", name);
	} else if (kernel && kernel < OPENAT2_SINCE) {
		report_add(
			report, GAP,
			"Linux before 5.6 has no openat2. The sidecar looks into the Ray container more slowly there.",
			"Use nodes with Linux 5.6 or newer.", "Node %.253s has Linux %.60s.", name,
			json_str(node, "status.nodeInfo.kernelVersion"));
	} else {
		report->result.good++;
	}
}

static void look_at_nodes(struct report *report, const struct doctor_facts *facts)
{
	if (!facts->nodes)
		not_known(report, "Nodes");
	json_each(node, json_get(facts->nodes, "items"))
		look_at_node(report, node);
}

/* --- What the node agents found on their nodes ----------------------------------------------- */

/*
 * With a relative file name the core is written where the process may write. Every other pattern
 * leads the core away from the pod.
 */
static void look_at_cores(struct report *report, const char *node, const cJSON *facts, bool asked)
{
	const char *pattern = json_str(facts, "corePattern");
	bool alone = cJSON_IsTrue(json_get(facts, "coresLeftAlone")), taken = asked && !alone;

	if (!pattern || !*pattern)
		return;
	if (taken || !strchr("|/@", pattern[0]))
		report_add(
			report, GOOD, NULL, NULL, "Node %.253s has the core_pattern \"%.130s\"%s.",
			node, pattern,
			taken ? "; the node agent brings cores of Ray containers to their sidecars" :
				"");
	else
		report_add(
			report, GAP,
			"Crashes there have no backtrace: their cores do not reach the pod.",
			alone ? "The node agent cannot pass such cores on, and leaves them alone: " DOCS_PAGE(
					"node-agent.md") " says what to change." :
				"Set nodeAgent.cores=true (" DOCS_PAGE(
					"node-agent.md") "), or sysctl kernel.core_pattern=core on the node.",
			"Node %.253s has the core_pattern \"%.130s\".", node, pattern);
}

static void look_at_memory(struct report *report, const char *node, const cJSON *facts)
{
	int64_t swap = json_int(facts, "swapBytes", 0);

	if (json_int(facts, "cgroupVersion", 0) == 1)
		report_add(
			report, GAP,
			"Reports have no figures of memory pressure, and an OOM kill ends one process and not the whole container.",
			"Use nodes with cgroup v2.", "Node %.253s has memory on cgroup v1.", node);
	if (swap > 0)
		report_add(report, GAP,
			   "A process that leaks is slow for long before the kernel kills it.",
			   NULL, "Node %.253s has %" PRId64 " MiB of swap.", node, swap >> 20);
}

static void look_at_agent(struct report *report, const cJSON *agent)
{
	const char *node = json_str(agent, "spec.nodeName");
	const cJSON *status =
		json_find(json_get(agent, "status.initContainerStatuses"), "name", "facts");
	const char *message = json_str(status, "state.terminated.message");
	/* As the chart writes it: "--cores on". */
	const char *cores = pod_sidecar_value(
		json_find(json_get(agent, "spec.containers"), "name", "node-agent"), "--cores");
	_cleanup_json_ cJSON *facts = message ? cJSON_Parse(message) : NULL;

	if (!node)
		return;
	if (!cJSON_IsObject(facts)) {
		report_add(report, UNKNOWN, NULL, NULL,
			   "The node agent of node %.253s has not reported what the node is like.",
			   node);
		return;
	}
	look_at_cores(report, node, facts, TEXT_IS_ONE_OF(cores, "on"));
	look_at_memory(report, node, facts);
}

static void look_at_agents(struct report *report, const struct doctor_facts *facts)
{
	json_each(agent, json_get(facts->node_agents, "items"))
		if (is_afterglows(agent, facts))
			look_at_agent(report, agent);
}

struct doctor_result doctor(const struct doctor_facts *facts, cJSON *findings, struct strbuf *out)
{
	struct report report = { .findings = findings,
				 .parts = { STRBUF_INIT(1 << 20), STRBUF_INIT(1 << 20),
					    STRBUF_INIT(1 << 20), STRBUF_INIT(1 << 20) } };
	static const enum level order[] = { GOOD, UNKNOWN, GAP, BROKEN };

	look_at_crds(&report, facts);
	look_at_operators(&report, facts);
	look_at_webhooks(&report, facts);
	look_at_pods(&report, facts);
	look_at_dashboards(&report, facts);
	look_at_stores(&report, facts);
	look_at_nodes(&report, facts);
	look_at_agents(&report, facts);
	for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
		struct strbuf *part = &report.parts[order[i]];

		strbuf_add(out, strbuf_str(part), part->len);
		out->failed = out->failed || strbuf_failed(part);
		strbuf_release(part);
	}
	strbuf_addf(out, "\n%u good, %u gap%s, %u broken, %u not known\n", report.result.good,
		    report.result.gaps, report.result.gaps == 1 ? "" : "s", report.result.broken,
		    report.result.unknown);
	return report.result;
}
