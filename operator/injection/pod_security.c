/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out what the Pod Security level of a namespace means for the sidecar. */
#include "operator/injection/pod_security.h"

#include <stdio.h>
#include <string.h>

#define ENFORCE_LABEL "pod-security.kubernetes.io/enforce"

void pod_security_judge(const char *namespace, const cJSON *labels,
			char reason[static POD_SECURITY_REASON_MAX])
{
	const char *level =
		cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(labels, ENFORCE_LABEL));

	*reason = '\0';
	if (!labels)
		snprintf(reason, POD_SECURITY_REASON_MAX,
			 "the Pod Security level of namespace %.63s cannot be read", namespace);
	else if (level && strcmp(level, "privileged") != 0)
		snprintf(
			reason, POD_SECURITY_REASON_MAX,
			"namespace %.63s enforces the Pod Security level %.63s, which refuses CAP_SYSLOG and hostPath",
			namespace, level);
}
