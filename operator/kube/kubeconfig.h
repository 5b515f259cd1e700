/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the API server is and how to prove who we are: from a kubeconfig file,
 * or from the service account that every pod carries. Everything stays in
 * memory: no credential is written to a file or named in an error.
 */
#ifndef AFTERGLOW_OPERATOR_KUBE_KUBECONFIG_H
#define AFTERGLOW_OPERATOR_KUBE_KUBECONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Where the kubelet mounts the service account. */
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* One PEM document or token, and the file to read it from again (NULL: it came inline). */
struct credential {
	char *text; /* NUL-terminated, NULL: none */
	char *file; /* absolute, or relative to the working directory as it stood in the environment */
};

struct kubeconfig {
	char *server; /* "https://10.0.0.1:443", no slash at the end */
	char *namespace; /* of the context or the pod, "default" when none is named */
	bool insecure; /* insecure-skip-tls-verify */
	struct credential ca; /* none: the system's roots */
	struct credential certificate;
	struct credential key;
	struct credential token;
	int64_t token_read_ns; /* boot time of the last look at the files */
	int64_t files_read_ns;
};

void kubeconfig_release(struct kubeconfig *k);

/* Reads text as a kubeconfig; name and the directory of name are for errors and relative files. */
int kubeconfig_parse(const char *text, size_t len, const char *name, struct kubeconfig *ret_config, struct err *err);

/* Reads the file (at most 1 MiB) and parses it. */
int kubeconfig_load(const char *path, struct kubeconfig *ret_config, struct err *err);

/*
 * The pod's own: host and port are KUBERNETES_SERVICE_HOST and _PORT (NULL or
 * empty: -ENOENT), dir is SERVICE_ACCOUNT_DIR.
 */
int kubeconfig_in_cluster(const char *host, const char *port, const char *dir, struct kubeconfig *ret_config,
			  struct err *err);

/*
 * Reads files again that are due: the token after a minute, certificates after
 * five; force (after a 401): all. A file that cannot be read keeps its old text
 * and is an error. ret_changed says whether any text is another now.
 */
int kubeconfig_refresh(struct kubeconfig *k, int64_t now_ns, bool force, bool *ret_changed, struct err *err);

#endif
