/* SPDX-License-Identifier: Apache-2.0 */
/* Decides what the Pod Security level of a namespace permits the sidecar. Pure. */
#pragma once

#include <cjson/cJSON.h>

#define POD_SECURITY_REASON_MAX 256

/*
 * Writes to reason why the namespace would refuse a pod with CAP_SYSLOG or a hostPath volume; "" if
 * it would not. The levels baseline and restricted both refuse it. labels are the namespace's; NULL
 * if they cannot be read: then it may refuse.
 */
void pod_security_judge(const char *namespace, const cJSON *labels,
			char reason[static POD_SECURITY_REASON_MAX]);
