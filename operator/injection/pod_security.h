/* SPDX-License-Identifier: Apache-2.0 */
/* What the Pod Security level of a namespace means for the sidecar. Pure. */
#ifndef AFTERGLOW_OPERATOR_INJECTION_POD_SECURITY_H
#define AFTERGLOW_OPERATOR_INJECTION_POD_SECURITY_H

#include <cjson/cJSON.h>
#include <stddef.h>

#define POD_SECURITY_REASON_MAX 256

/*
 * Why the namespace would refuse a pod with CAP_SYSLOG or a hostPath volume, into reason; "" where it would not. labels are the namespace's, NULL
 * when they cannot be read: then it may refuse. Both levels baseline and restricted do.
 */
void pod_security_judge(const char *namespace, const cJSON *labels, char reason[static POD_SECURITY_REASON_MAX]);

#endif
