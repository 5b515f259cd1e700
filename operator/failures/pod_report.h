/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a sidecar's answer at /failures: the processes that died while
 * their container lives, and the containers that are held. The answer comes over the
 * pod's network, where the Ray container can pose as the sidecar. So each field is
 * checked, and only what concerns the pod itself is used. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"
#include "operator/failures/earlier_end.h"
#include "operator/failures/growth.h"
#include "operator/failures/infeasible.h"
#include "operator/failures/unmet_end.h"

#define POD_REPORT_MAX ((size_t)320 << 10) /* bytes of an answer; the sidecar keeps below 309 KiB */
/* JSON values of an answer. One with 64 failures of many pieces of evidence has some thousand. */
#define POD_REPORT_VALUES_MAX ((size_t)20000)
#define POD_REPORT_FAILURES_MAX 64
#define POD_REPORT_HOLDS_MAX 8
#define POD_REPORT_TAG_MAX 64
#define POD_REPORT_URL_MAX 96
#define POD_REPORT_TROUBLE_MAX 500

struct pod_hold {
	char container[64];
	int64_t until_ns;
};

struct pod_report {
	char tag[POD_REPORT_TAG_MAX]; /* for If-None-Match; "": the answer has none */
	struct ray_failures failures;
	struct pod_hold holds[POD_REPORT_HOLDS_MAX]; /* the holds that have not ended */
	size_t n_holds;
	struct unmet_ends unmet; /* ends of which only the node agent knew */
	struct pod_ends ends; /* ends of containers that the pod's status may no longer show */
	unsigned refused; /* entries that are not failures, or exceed the limit */
	struct growth growths[GROWTHS_MAX]; /* warnings of memory that grows for hours */
	size_t n_growths;
	char infeasible
		[INFEASIBLE_REQUEST_MAX]; /* a request that no Ray node can have; "": there is none */
	/* Why bundles do not reach the store, according to the sidecar; "": they reach it. */
	char store_trouble[POD_REPORT_TROUBLE_MAX];
	/* The sidecar's sentence about a driver that waits for long; "": there is none. */
	char driver_waits[POD_REPORT_TROUBLE_MAX];
};

/*
 * Writes the URL of the sidecar's answer. Returns false if the pod has no running sidecar that
 * serves HTTP.
 */
bool pod_report_url(const cJSON *pod, char url[static POD_REPORT_URL_MAX]);

/*
 * Returns a number that changes when something ended in the pod or its deletion began; then the
 * sidecar should be asked at once.
 */
uint64_t pod_report_occasion(const cJSON *pod);

/*
 * Parses an answer. Returns -EPROTO if it is not the answer of a sidecar, and -ESTALE if it comes
 * from another pod, which had or has the address.
 */
int pod_report_parse(const cJSON *pod, const char *text, size_t len, int64_t now_ns,
		     struct pod_report *ret_report, struct err *err);
void pod_report_release(struct pod_report *report);

/*
 * Makes the Event that says how long the container is held and how to release it. The caller owns
 * it.
 */
cJSON *pod_hold_event(const cJSON *pod, const struct pod_hold *hold, int64_t now_ns);
/*
 * Makes the Event that says that bundles wait in the pod because they do not reach the store. The
 * caller owns it.
 */
cJSON *pod_store_event(const cJSON *pod, const char *trouble, int64_t now_ns);
