/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the operator's command line. */
#pragma once

#include <stdbool.h>

#include "lib/command_line.h"
#include "lib/log.h"
#include "operator/policy/retention.h"

#define OPTIONS_LAUNCHER "/usr/libexec/afterglow/launchers"
#define OPTIONS_METRICS_ADDRESS ":8080"

struct options {
	const char *kubeconfig; /* NULL: $KUBECONFIG, otherwise the service account of the pod */
	const char *context; /* NULL: the current context */
	const char *namespace; /* NULL: all */
	const char *config; /* the policy file, NULL: its defaults */
	const char *sidecar_image, *store_claim; /* override the file; NULL: not given */
	const char *launcher; /* never NULL */
	bool launcher_given; /* then it must be readable */
	const char *metrics_address; /* "address:port"; "": no server */
	bool quote_verdicts; /* in the metrics */
	/*
	 * Where the webhook is served, "address:port"; "": there is no webhook. With an address the
	 * three names are set.
	 */
	const char *webhook_address;
	const char *webhook_service, *webhook_secret, *webhook_configuration; /* NULL: not given */
	bool webhook_certificates_external; /* false: the operator makes them */
	bool oom_group;
	bool leader_elect;
	const char *lease_namespace; /* NULL: our own */
	const char *kuberay_namespaces; /* where KubeRay may run, "a,b"; NULL: anywhere */
	bool manage_clusters; /* false: another operator, such as KubeRay, makes the pods of RayClusters */
	bool record_deletions; /* RayFailures of class PodDeleted; with manage_clusters they are written in any case */
	struct retention retention; /* of RayFailures */
	enum log_level log_level;
	enum log_format log_format;
	const char *check_ready; /* if set, only asks this URL whether another operator is ready; NULL: run as the operator */
	const char *check_ca; /* with check_ready, see ready_check.h; NULL: not given */
	const char *upgrade_crds; /* if set, only upgrades the CRDs in this directory; NULL: run as the operator */
	bool help, version;
};

/* For --help. */
extern const struct option_table operator_options;

/*
 * Parses argv, which ends with NULL; the strings point into it. Returns -EINVAL with an error that names
 * the option.
 */
int options_parse(char **argv, struct options *ret_options, struct err *err);
