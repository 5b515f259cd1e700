/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Puts the sidecar into a Ray pod: the launcher around the Ray container's command,
 * the sidecar as the last container, and their volumes. Only appends, never moves
 * a container, and does nothing if the sidecar is already there.
 *
 * Ray starts even if each of these parts is missing at run time: the ConfigMap with
 * the launcher is optional, the shell in front of it falls back to the bare command,
 * and nothing waits for the sidecar, which is an ordinary container.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/injection/qos.h"
#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"

struct injection {
	cJSON *ray; /* Ray's container in the pod's spec; NULL: the first */
	const char *cluster; /* RayCluster's name */
	const char *wait_port; /* wait for $FQ_RAY_IP:port before the command; NULL: no */
	bool oom_group;
	bool store; /* the claim exists */
	const char *prefix; /* words before the command (--prefix); NULL: none */
	int64_t hold_s; /* --hold-on-failure, 0: not at all */
	struct limit_rules rules; /* of the namespace */
	const struct policy *policy;
	const struct launchers *launchers;
};

/* Returns whether the pod has the launcher and the sidecar already. */
bool inject_is_done(const cJSON *pod_spec);

/*
 * Returns whether the names and paths that launcher and sidecar need are free in the pod and in its
 * container ray, or are used by these two, and no other container mounts their volumes.
 */
bool inject_is_clear(const cJSON *pod_spec, const cJSON *ray);

/*
 * Puts both in. Returns true without a change if inject_is_done. Returns false and changes nothing
 * if the Ray container has no command of its own, so that there is nothing to put the launcher in
 * front of (the image's entrypoint is unknown).
 */
bool inject(cJSON *pod_spec, const struct injection *in);
