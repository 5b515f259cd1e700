/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the address of the API server and our credentials: from a kubeconfig
 * (kubeconfig_parse.c), or from the service account that every pod has. Everything
 * stays in memory: no credential is written to a file or appears in an error.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"

/* Where the kubelet mounts the service account. */
#define SERVICE_ACCOUNT_DIR "/var/run/secrets/kubernetes.io/serviceaccount"

/* One PEM document or token, and the file to read it from again (NULL: it came inline). */
struct credential {
	char *text; /* NUL-terminated, NULL: none */
	/* absolute, or relative to the working directory as it stood in the environment */
	char *file;
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
#define _cleanup_kubeconfig_ _cleanup_(kubeconfig_release)

/*
 * Reads text as a kubeconfig; name and the directory of name are for errors and relative files. If
 * context is NULL, the current context is taken. Returns -ENOTSUP for an identity other than a
 * certificate or a token, for a proxy, and for a server's other name.
 */
int kubeconfig_parse(const char *text, size_t len, const char *name, const char *context,
		     struct kubeconfig *ret_config, struct err *err);
/* Reads the file (at most 1 MiB) and parses it. */
int kubeconfig_load(const char *path, const char *context, struct kubeconfig *ret_config,
		    struct err *err);

/*
 * Reads the pod's own credentials. host and port are KUBERNETES_SERVICE_HOST and _PORT (if NULL or
 * empty, it returns -ENOENT); dir is SERVICE_ACCOUNT_DIR.
 */
int kubeconfig_in_cluster(const char *host, const char *port, const char *dir,
			  struct kubeconfig *ret_config, struct err *err);

/*
 * Reads the files again that are due: the token after a minute, certificates after
 * five; with force (after a 401), all. If a file cannot be read, its old text stays,
 * and that is an error. *ret_changed: whether any text has changed.
 */
int kubeconfig_refresh(struct kubeconfig *k, int64_t now_ns, bool force, bool *ret_changed,
		       struct err *err);

/* Only for modules that read configurations: */

void credential_release(struct credential *c);
/* Reads c->file into c->text. The old text stays when the file is not readable or empty. */
int credential_read(struct credential *c, bool *ret_changed, struct err *err);
/*
 * Returns whether a name may be used in a URL or header: with a line break, the file could add
 * headers of its own.
 */
bool is_plain(const char *s);
