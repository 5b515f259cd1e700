/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sidecar in a Ray pod: the launcher around the Ray container's command,
 * the sidecar as the last container, their volumes. Only appends, never moves
 * containers[0], does nothing when the sidecar is already there.
 *
 * Every part may be missing at run time and Ray still starts: the ConfigMap
 * with the launcher is optional, the shell in front of it falls back to the bare
 * command, and the sidecar is a plain container that nothing waits for.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_INJECT_H
#define AFTERGLOW_OPERATOR_INJECTION_INJECT_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "operator/launcher/launcher.h"
#include "operator/policy/policy.h"

#define SIDECAR_CONTAINER "afterglow"

struct injection {
	const char *cluster;         /* RayCluster's name */
	const char *wait_port;       /* wait for $FQ_RAY_IP:port before the command; NULL: do not */
	bool oom_group;
	bool store;                  /* the claim exists */
	const char *prefix;          /* words before the command (--prefix); NULL: none */
	int64_t hold_s;              /* --hold-on-failure, 0: not at all */
	const struct policy *policy;
	const struct launchers *launchers;
};

/* Whether the pod has the launcher and the sidecar already. */
bool inject_is_done(const cJSON *pod_spec);

/* Whether the names and paths that they need are free, and no container mounts their volumes; or taken by them. */
bool inject_is_clear(const cJSON *pod_spec);

/*
 * True without any change where inject_is_done. False, and nothing done: the Ray container has no command of its own, so
 * there is nothing to put the launcher in front of (the image's entrypoint is unknown).
 */
bool inject(cJSON *pod_spec, const struct injection *in);

/*
 * For a pod that gets neither launcher nor sidecar: its Ray container waits for $FQ_RAY_IP:port before its command runs. False,
 * and nothing done: the command is not one for a shell, so the image may not have any.
 */
bool inject_wait(cJSON *pod_spec, const char *port);

#endif
