/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the address of the API server of a kubeconfig, and the name in its certificate. Pure. */
#ifndef AFTERGLOW_OPERATOR_KUBE_ENDPOINT_H
#define AFTERGLOW_OPERATOR_KUBE_ENDPOINT_H

#include "operator/kube/kubeconfig.h"

struct endpoint {
	char *url; /* with the name in the certificate, without a slash at the end; NULL: the kubeconfig's server as it is */
	char *connect_to; /* in that case the real address, as in http_request; else NULL */
	char *host; /* "10.0.0.1:443" */
};

/* Into an endpoint that is all zero; release it after a failure, too. -EINVAL: its server, or its tls-server-name, is no good. */
int endpoint_find(struct endpoint *endpoint, const struct kubeconfig *config, struct err *err);
void endpoint_release(struct endpoint *endpoint);

#endif
