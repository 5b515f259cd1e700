/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a sidecar's answer at /failures. */
#include "operator/failures/pod_report.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/oom.h"
#include "lib/sidecar_names.h"
#include "lib/units.h"
#include "operator/failures/failures.h"
#include "operator/failures/termination.h"
#include "operator/injection/report_key.h"
#include "operator/kube/event.h"
#include "operator/kube/json_shape.h"
#include "operator/podspec/pod_spec.h"
#include "operator/policy/policy.h"

/* The path where inject.c mounts it. */
#define RELEASE "/afterglow/bin/afterglow-launch --release"

/* --- The address ----------------------------------------------------------------------------- */

static bool is_running(const cJSON *pod, const char *container)
{
	const cJSON *status =
		json_find(json_get(pod, "status.containerStatuses"), "name", container);

	return cJSON_IsObject(json_get(status, "state.running"));
}

bool pod_report_url(const cJSON *pod, char url[static POD_REPORT_URL_MAX])
{
	const char *address = json_str(pod, "status.podIP");
	int port = pod_sidecar_port(pod);
	unsigned char binary[16];

	if (!port || !address || !is_running(pod, SIDECAR_CONTAINER))
		return false;
	if (inet_pton(AF_INET, address, binary) == 1)
		snprintf(url, POD_REPORT_URL_MAX, "http://%s:%d/failures", address, port);
	else if (inet_pton(AF_INET6, address, binary) == 1)
		snprintf(url, POD_REPORT_URL_MAX, "http://[%s]:%d/failures", address, port);
	else
		return false;
	return true;
}

uint64_t pod_report_occasion(const cJSON *pod)
{
	uint64_t n = json_str(pod, "metadata.deletionTimestamp") ? 1 : 0;

	json_each(status, json_get(pod, "status.containerStatuses"))
		n += 2 * (uint64_t)MAX(json_int(status, "restartCount", 0), (int64_t)0) +
		     (json_get(status, "state.terminated") ? (uint64_t)1 << 32 : 0);
	return n;
}

/* --- The content ----------------------------------------------------------------------------- */

static void take_hold(const cJSON *entry, const cJSON *pod, int64_t now_ns,
		      struct pod_report *report)
{
	const char *container = json_str(entry, "container");
	struct pod_hold *hold = &report->holds[report->n_holds];
	int64_t ns;

	if (!container || report->n_holds == POD_REPORT_HOLDS_MAX ||
	    !json_time(entry, "heldUntil", &ns) || ns <= now_ns ||
	    ns > now_ns + POLICY_HOLD_MAX_S * NS_PER_SEC + NS_PER_SEC * 60 ||
	    !json_find(json_get(pod, "spec.containers"), "name", container) ||
	    strlen(container) >= sizeof(hold->container))
		return;
	snprintf(hold->container, sizeof(hold->container), "%s", container);
	hold->until_ns = ns;
	report->n_holds++;
}

static int take_failure(const cJSON *entry, const cJSON *pod, int64_t now_ns,
			struct ray_failure **ret_failure)
{
	const char *id = json_str(entry, "id"), *container = json_str(entry, "container");
	_cleanup_json_ cJSON *report = NULL;
	struct err err = { 0 };

	if (!container || !pod_end_is_word(id, POD_END_ID_MAX))
		return -EPROTO;
	int r = termination_take(json_get(entry, "summary"), &report, &err);
	return r < 0 ? r :
		       failure_of_process(pod, container, id, report, now_ns, ret_failure, &err);
}

static int take_entries(const cJSON *entries, const cJSON *pod, int64_t now_ns,
			struct pod_report *report)
{
	json_each(entry, entries) {
		struct ray_failure *failure = NULL;

		take_hold(entry, pod, now_ns, report);
		/* A container's own end is in the pod's status, unless that has forgotten it. */
		if (cJSON_IsObject(entry) && !json_bool(entry, "containerLives", false)) {
			pod_ends_add(&report->ends, pod, entry, now_ns);
			continue;
		}
		int r = report->failures.n < POD_REPORT_FAILURES_MAX ?
				take_failure(entry, pod, now_ns, &failure) :
				-EPROTO;
		if (r == -ENOMEM)
			return r;
		if (r == 0)
			ray_failures_add(&report->failures, failure);
		else
			report->refused++;
	}
	return 0;
}

static void take_store(const cJSON *json, struct pod_report *report)
{
	const char *error = json_str_or(json, "store.error", "no reason was given"),
		   *kind = json_str_or(json, "store.kind", "unknown");
	char text[POD_REPORT_TROUBLE_MAX];

	if (!json_bool(json_get(json, "store"), "failing", false))
		return;
	snprintf(text, sizeof(text), "%.40s: %.450s", kind, error);
	text_tame(text, report->store_trouble, sizeof(report->store_trouble));
}

static int take_answer(const cJSON *pod, const cJSON *json, int64_t now_ns,
		       struct pod_report *report, struct err *err)
{
	const char *uid = json_str(json, "podUID"), *ours = json_str(pod, "metadata.uid"),
		   *tag = json_str(json, "tag");
	const cJSON *entries = json_get(json, "failures"), *warnings = json_get(json, "warnings");
	const cJSON *driver = json_find(warnings, "kind", "DriverWaits");
	size_t lost = oom_count();

	if (!cJSON_IsArray(entries))
		return err_set(err, EPROTO, "an answer without failures");
	if (!uid || !ours || strcmp(uid, ours) != 0)
		return err_set(err, ESTALE, "an answer of another pod");
	if (pod_end_is_word(tag, POD_REPORT_TAG_MAX - 1))
		snprintf(report->tag, sizeof(report->tag), "%s", tag);
	take_store(json, report);
	unmet_ends_take(json_get(json, "unmetEnds"), &report->unmet);
	text_tame(json_str_or(driver, "sentence", ""), report->driver_waits,
		  sizeof(report->driver_waits));
	infeasible_take(warnings, report->infeasible);
	report->n_growths = growth_take(warnings, pod, report->growths);
	if (take_entries(entries, pod, now_ns, report) < 0 || oom_count() != lost)
		return err_set(err, ENOMEM, "an answer of a sidecar");
	return 0;
}

int pod_report_parse(const cJSON *pod, const char *text, size_t len, int64_t now_ns,
		     struct pod_report *ret_report, struct err *err)
{
	_cleanup_json_ cJSON *json = NULL;
	struct pod_report report = { 0 };
	struct json_shape shape;

	if (len > POD_REPORT_MAX)
		return err_set(err, EPROTO, "an answer of %zu bytes", len);
	json_shape(text, len, &shape);
	if (shape.values > POD_REPORT_VALUES_MAX)
		return err_set(err, EPROTO, "an answer of %zu JSON values", shape.values);
	if (report_key_of(pod) &&
	    !report_mac_holds(report_key_of(pod), REPORT_MAC_FAILURES, text, len))
		return err_set(
			err, EPROTO,
			"an answer that the pod's sidecar did not sign: another program of the pod has its port, or "
			"the sidecar is older than the operator");
	int r = json_parse(text, len, &json, err);
	if (r < 0)
		return r == -ENOMEM ? r : err_set(err, EPROTO, "an answer that is no JSON");
	r = take_answer(pod, json, now_ns, &report, err);
	if (r < 0) {
		pod_report_release(&report);
		return r;
	}
	*ret_report = report;
	return 0;
}

void pod_report_release(struct pod_report *report)
{
	ray_failures_release(&report->failures);
	pod_ends_release(&report->ends);
	unmet_ends_release(&report->unmet);
}

cJSON *pod_hold_event(const cJSON *pod, const struct pod_hold *hold, int64_t now_ns)
{
	const char *name = json_str_or(pod, "metadata.name", "?"),
		   *namespace = json_str_or(pod, "metadata.namespace", "?");
	char note[1000];

	snprintf(
		note, sizeof(note),
		"Container %s has failed. It is held until %s so that somebody can look at it. Release it with: "
		"kubectl exec -n %.63s %.253s -c %s -- " RELEASE,
		hold->container, TIME_TEXT(hold->until_ns), namespace, name, hold->container);
	return event_of_pod(pod, "Warning", "Held", "Hold", note, now_ns);
}

cJSON *pod_store_event(const cJSON *pod, const char *trouble, int64_t now_ns)
{
	char note[512 + POD_REPORT_TROUBLE_MAX];

	snprintf(
		note, sizeof(note),
		"The bundles of failures do not reach the store. They wait in this pod, and are lost when it goes: %s",
		trouble);
	return event_of_pod(pod, "Warning", "StoreFailing", "Ship", note, now_ns);
}
