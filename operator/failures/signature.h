/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes and checks the signature of a failure: one line of text, "v1:CLASS:PROCESS-OR-TASK:DETAIL",
 * that is the same for the same cause. The sidecar makes it from stack frames and tasks. Where no
 * sidecar reported, the operator makes one from the pod's status. A sidecar runs in a tenant's pod,
 * so a text that does not have this form is replaced. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#define SIGNATURE_MAX 192 /* bytes, without the NUL */

/*
 * Returns whether text is a signature of version 1 for a failure of that class. It has the version,
 * the class, a process or task that is not empty and a detail, only characters that
 * docs/signatures.md allows, and at most SIGNATURE_MAX bytes. text may be NULL.
 */
bool signature_is_good(const char *text, const char *class);

/*
 * The facts of which the operator makes a signature where no sidecar reported. NULL and "" mean not
 * known.
 */
struct signature_parts {
	const char *class, *process, *container; /* process: the one that ended first */
	const char *ended_by; /* the name of its kind */
	const char *process_signal, *signal; /* signal: the container's */
	bool has_exit_code;
	int64_t exit_code;
	const char *reason; /* Kubernetes' */
};
void signature_make(const struct signature_parts *parts, char buf[static SIGNATURE_MAX + 1]);

/*
 * Writes spec.signature: the sidecar's (reported, which may be NULL) if it is good; otherwise one
 * made from spec.
 */
void signature_set(const char *reported, cJSON *spec);
