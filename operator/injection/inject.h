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
/* On a pod or a RayCluster: "false" leaves the sidecar out. */
#define INJECT_ANNOTATION "afterglow.dev/inject"

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

/* Whether the annotations of the cluster and the template leave the sidecar on. The template's word wins. */
bool inject_wanted(const cJSON *cluster_annotations, const cJSON *template_annotations);

/* The same for afterglow.dev/oom-group, over the policy's default. */
bool inject_oom_group(const cJSON *cluster_annotations, const cJSON *template_annotations,
		      const struct policy *policy);

/* afterglow.dev/start-prefix: words to start the command with ("memray run -o /tmp/memray-ray.bin"); NULL: none. */
const char *inject_prefix(const cJSON *cluster_annotations, const cJSON *template_annotations);

/* afterglow.dev/hold-on-failure in seconds, over the policy's; what is no such number counts as absent. */
int64_t inject_hold(const cJSON *cluster_annotations, const cJSON *template_annotations,
		    const struct policy *policy);

/* Whether the pod has the launcher and the sidecar already. */
bool inject_is_done(const cJSON *pod_spec);

/* Whether the names and paths that they need are free, or taken by them. */
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

/* Why a pod goes without the sidecar, although it should have it: the API server's words. */
#define INJECT_REFUSED_ANNOTATION "afterglow.dev/sidecar-refused"

/*
 * Takes the sidecar out of a pod that was refused with it for that reason, and notes so; the launcher stays. False,
 * and nothing done: there is none of ours.
 */
bool inject_undo(cJSON *pod, const char *reason);

#endif
