/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers the state that planning a cluster needs from the copies that the watches keep. */
#pragma once

#include "operator/cache/watches.h"
#include "operator/failure_controller/failure_writer.h"
#include "operator/failure_controller/sidecar_poller.h"
#include "operator/raycluster/plan.h"

/* The most crashes for each group; a cluster that is refused (validate.h) has none. */
#define OBSERVE_CRASHES_MAX 256
#define OBSERVE_TOKEN_MAX 64
#define OBSERVE_SEED_MAX 34

/*
 * Pods, services, crashes, a fresh token and seed. The objects that it points to last as long as
 * the stores' views.
 */
struct cluster_state {
	cJSON *notes; /* of validate_cluster */
	const cJSON **pods;
	bool *pending;
	struct crash *crashes;
	size_t n_crashes;
	char *growing;
	char token[OBSERVE_TOKEN_MAX];
	char seed[OBSERVE_SEED_MAX];
};
void cluster_state_release(struct cluster_state *o);

/*
 * Fills in those parts of *ret_in that the watches, the failure writer and the sidecars know. A
 * Service that was looked up stays. key is "namespace/name".
 */
int gather_state(const struct watches *watches, const struct failure_writer *writer,
		 const struct sidecar_poller *poller, const char *key, const cJSON *cluster,
		 struct cluster_state *o, struct plan_input *ret_in, struct err *err);
