/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the address of the API server of a kubeconfig, and the name in its certificate. Pure. */
#pragma once

#include "operator/kube/kubeconfig.h"

struct endpoint {
	char *url; /* with the name in the certificate, without a slash at the end; NULL: use the kubeconfig's server */
	char *connect_to; /* the real address if url is set, as in http_request; otherwise NULL */
	char *host; /* "10.0.0.1:443" */
};

/*
 * Fills a zeroed endpoint; release it after a failure, too. Returns -EINVAL if the server or
 * tls-server-name is malformed.
 */
int endpoint_find(struct endpoint *endpoint, const struct kubeconfig *config, struct err *err);
void endpoint_release(struct endpoint *endpoint);
