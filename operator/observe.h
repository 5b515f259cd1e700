/* SPDX-License-Identifier: Apache-2.0 */
/* What planning is given of one cluster, gathered from the copies that the watches keep. */
#ifndef AFTERGLOW_OPERATOR_OBSERVE_H
#define AFTERGLOW_OPERATOR_OBSERVE_H

#include "operator/raycluster/plan.h"
#include "operator/recorder.h"
#include "operator/watches.h"

/* Of each group. */
#define OBSERVE_CRASHES_MAX 256
#define OBSERVE_TOKEN_MAX 64

/* Pods, services, deaths, a fresh token. What it points to lasts as long as the stores' views do. */
struct observation {
	const cJSON **pods;
	bool *pending;
	cJSON *deaths;
	struct crash *crashes;
	size_t n_crashes;
	char token[OBSERVE_TOKEN_MAX];
};
void observation_release(struct observation *o);

/* Fills in of ret_in what the watches and the recorder know; the rest stays. key: "namespace/name". */
int observe_cluster(const struct watches *watches, const struct recorder *recorder, const char *key,
		    const cJSON *cluster, struct observation *o, struct plan_input *ret_in, struct err *err);

#endif
