/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the sidecar in a pod says at /failures: of processes that died while their
 * container lives, and of containers that are held. The answer comes over the
 * pod's network, where the Ray container can pose as the sidecar: it is taken
 * field by field, and speaks of its own pod only. Pure.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_POD_REPORT_H
#define AFTERGLOW_OPERATOR_FAILURES_POD_REPORT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/failures/earlier_end.h"
#include "operator/failures/growth.h"

#define POD_REPORT_MAX ((size_t)300 << 10) /* bytes of an answer; the sidecar keeps below 297 KiB */
#define POD_REPORT_FAILURES_MAX 64
#define POD_REPORT_HOLDS_MAX 8
#define POD_REPORT_TAG_MAX 64
#define POD_REPORT_URL_MAX 96
#define POD_REPORT_TROUBLE_MAX 300

struct pod_hold {
	char container[64];
	int64_t until_ns;
};

struct pod_report {
	char tag[POD_REPORT_TAG_MAX]; /* for If-None-Match; "" when there is none */
	struct ray_failures failures;
	struct pod_hold holds[POD_REPORT_HOLDS_MAX]; /* that have not ended */
	size_t n_holds;
	struct pod_ends ends; /* of containers, of which the pod's status may know no more */
	unsigned refused; /* entries that are no failures, or one too many */
	struct growth growths[GROWTHS_MAX]; /* warnings of memory that grows for hours */
	size_t n_growths;
	char store_trouble[POD_REPORT_TROUBLE_MAX]; /* why bundles do not reach the store, as the sidecar says; "": they do */
};

/* Where to ask; false: this pod has no sidecar that runs and serves HTTP. */
bool pod_report_url(const cJSON *pod, char url[static POD_REPORT_URL_MAX]);

/* A number that changes when something ended in the pod, or its deletion began: then it is worth asking at once. */
uint64_t pod_report_occasion(const cJSON *pod);

/* -EPROTO: no answer of a sidecar; -ESTALE: it is of another pod, which had or has the address. */
int pod_report_parse(const cJSON *pod, const char *text, size_t len, int64_t now_ns, struct pod_report *ret_report,
		     struct err *err);
void pod_report_release(struct pod_report *report);

/* The Event for people that says until when, and how to end it. The caller owns it. */
cJSON *pod_hold_event(const cJSON *pod, const struct pod_hold *hold, int64_t now_ns);
/* The same for what waits in the pod, because its store does not take it. */
cJSON *pod_store_event(const cJSON *pod, const char *trouble, int64_t now_ns);

#endif
