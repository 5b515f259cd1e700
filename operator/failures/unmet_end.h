/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation. A container that the kernel kills as a whole before its sidecar listens
 * leaves no report: the sidecar never met it. The node agent saw the end, and brings what it saw to
 * the sidecar as soon as the sidecar listens. So the RayFailure of such an end waits some seconds
 * for the sidecar's answer, which has these ends by container ID.
 *
 * The answer is as hostile as a termination message: the Ray container can pose as the sidecar. So
 * an end counts only for a container of this pod which, by the kubelet, ended with exit code 137
 * about then, and only with the classes of an OOM kill. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#define UNMET_ENDS_MAX 4
#define UNMET_ID_LEN 64

struct unmet_ends {
	struct {
		char container_id[UNMET_ID_LEN + 1];
		cJSON *entry; /* as the sidecar sent it */
	} list[UNMET_ENDS_MAX];
	size_t n;
	/* the sidecar will not report further ends of containers that have ended by now */
	bool settled;
};

/* Takes the member "unmetEnds" of an answer; NULL: the sidecar is older and does not have it. */
void unmet_ends_take(const cJSON *json, struct unmet_ends *ret_ends);
void unmet_ends_release(struct unmet_ends *ends);

/*
 * Makes a report, as termination_take does, of the end that terminated (a ContainerStateTerminated)
 * describes; the caller owns it. Returns NULL if the sidecar reports no such end. ends may be NULL.
 */
cJSON *unmet_ends_report(const struct unmet_ends *ends, const char *container,
			 const cJSON *terminated);

/*
 * Returns whether the sidecar did not listen when the container ended, and can be asked soon. Then
 * the node agent may have kept what it saw of the end.
 */
bool unmet_sidecar_was_away(const cJSON *pod, const cJSON *terminated);
