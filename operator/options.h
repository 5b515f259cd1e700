/* SPDX-License-Identifier: Apache-2.0 */
/* The operator's command line. */
#ifndef AFTERGLOW_OPERATOR_OPTIONS_H
#define AFTERGLOW_OPERATOR_OPTIONS_H

#include <stdbool.h>

#include "lib/err.h"
#include "lib/log.h"
#include "operator/export/otlp_settings.h"
#include "operator/failures/retention.h"

#define OPTIONS_LAUNCHER "/usr/libexec/afterglow/launchers"
/*
 * No limit of our own. The API server guards itself by priority and fairness (since Kubernetes 1.20), which knows who
 * else wants something; a limit here only makes us slow while it is idle. What we have under way at once is bounded.
 */
#define OPTIONS_QPS 0
#define OPTIONS_BURST 200
#define OPTIONS_METRICS_ADDRESS ":8080"

struct options {
	const char *kubeconfig; /* NULL: $KUBECONFIG, else the service account of the pod */
	const char *context; /* NULL: the current one */
	const char *namespace; /* NULL: all */
	const char *config; /* the policy file, NULL: its defaults */
	const char *sidecar_image, *store_claim; /* win over the file; NULL: not given */
	const char *launcher; /* never NULL */
	bool launcher_given; /* then it must be readable */
	const char *metrics_address; /* "address:port"; "": no server */
	/* Where the webhook is served, "address:port"; "": there is none. With it the three names are given. */
	const char *webhook_address;
	const char *webhook_service, *webhook_secret, *webhook_configuration; /* NULL: not given */
	bool webhook_certificates_external; /* else they are made here */
	bool oom_group;
	bool leader_elect;
	const char *lease_namespace; /* NULL: our own */
	unsigned qps, burst; /* requests to the API server; qps 0: no limit */
	bool manage_clusters; /* else another operator, such as KubeRay, makes the pods of RayClusters */
	bool record_deletions; /* RayFailures of class PodDeleted; with manage_clusters they are written in any case */
	struct retention retention; /* of RayFailures */
	struct otlp_settings otlp; /* where RayFailures are exported to */
	enum log_level log_level;
	const char *check_ready; /* URL that is asked whether another operator is ready, in place of being one; NULL: none */
	bool help, version;
};

/* The strings point into argv. -EINVAL: err names the option. */
int options_parse(int argc, char *argv[], struct options *ret_options, struct err *err);

/* The text of --help. */
const char *options_help(void);

#endif
