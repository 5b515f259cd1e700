/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The signature of a failure: one line of text by which equal causes can be grouped, "v1:CLASS:PROCESS-OR-TASK:DETAIL".
 * The sidecar makes it of the frames and tasks that it saw; where no sidecar told, the operator makes one of what the pod's
 * status says. Pure. What a sidecar tells is a tenant's: a text that does not hold to the form is not believed.
 */
#ifndef AFTERGLOW_OPERATOR_FAILURES_SIGNATURE_H
#define AFTERGLOW_OPERATOR_FAILURES_SIGNATURE_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#define SIGNATURE_MAX 192 /* bytes, without the NUL */

/*
 * Whether text is a signature of version 1 for a failure of that class: the version, this class, a process or task that is
 * not empty, a detail; only characters that docs/signatures.md allows, SIGNATURE_MAX bytes at most. text may be NULL.
 */
bool signature_is_good(const char *text, const char *class);

/* Writes spec.signature of a RayFailure: the one told if it is good (told may be NULL), else one made of spec. */
void signature_set(const char *told, cJSON *spec);

#endif
