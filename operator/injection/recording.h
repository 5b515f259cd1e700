/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether and how a Ray pod gets the sidecar, from its annotations and its cluster's, the
 * policy, and what its namespace permits. The same is done for pods that the operator makes and for
 * those that KubeRay makes. Pure.
 */
#pragma once

#include <cjson/cJSON.h>

#include "operator/injection/qos.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"

struct recording_request {
	const char *namespace;
	const char *cluster; /* the RayCluster's name */
	const char *group; /* the group's name, for notes */
	const cJSON *cluster_annotations; /* NULL: it has none, or is not known */
	const cJSON *pod_annotations; /* they override the cluster's */
	const char *wait_port; /* as in struct injection */
	const struct policy *policy;
	/* why the pod must not mount policy->store.claim; NULL: it may */
	const char *store_claim_trouble;
	/* why the namespace would refuse a pod that reads the node's logs; NULL: it admits it */
	const char *kernel_log_refused;
	struct limit_rules rules; /* what LimitRanges permit, as far as it is known */
	const struct launchers *launchers; /* the launchers to use; NULL: there are none */
};

/*
 * The decision. The names of all but RECORDING_ON are the reasons in annotations, notes and
 * metrics.
 */
enum recording {
#define RECORDING(id, name, refusal) RECORDING_##id,
#include "operator/injection/recording.def"
#undef RECORDING
	RECORDING_COUNT
};

/* Returns a static name such as "NoCommand"; "" for RECORDING_ON. */
const char *recording_name(enum recording recording);

/*
 * Puts launcher and sidecar into pod_spec, or returns why not. In that case nothing is changed,
 * except that with wait_port the Ray container's shell still waits for the head. A pod that has
 * both already stays as it is. Messages for people are added to notes (podspec/notes.h), topic
 * NOTE_RECORDING.
 */
enum recording recording_apply(cJSON *pod_spec, const struct recording_request *request,
			       cJSON *notes);
