/* SPDX-License-Identifier: Apache-2.0 */
/* Names the Lease by which our replicas elect a leader. */
#include "operator/manager/own_lease.h"

#include <stdio.h>

#include "operator/kube/object.h"

cJSON *own_lease(const char *own, const char *watched)
{
	char name[320];

	snprintf(name, sizeof(name), "afterglow-operator%s%s", watched ? "." : "",
		 watched ? watched : "");
	return object_new("coordination.k8s.io/v1", "Lease", own, name);
}
