/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the operator's command line. */
#pragma once

#include <stdbool.h>

#include "lib/command_line.h"
#include "lib/log.h"
#include "operator/manager/manager_options.h"

#define OPTIONS_LAUNCHER "/usr/libexec/afterglow/launchers"
#define OPTIONS_METRICS_ADDRESS ":8080"

struct options {
	const char *kubeconfig; /* NULL: $KUBECONFIG, otherwise the service account of the pod */
	const char *context; /* NULL: the current context */
	const char *config; /* the policy file, NULL: its defaults */
	const char *sidecar_image, *store_claim; /* override the file; NULL: not given */
	const char *launcher; /* never NULL */
	bool launcher_given; /* then it must be readable */
	const char *metrics_address; /* "address:port"; "": no server */
	struct manager_config manager; /* the namespace of the certificates is not set */
	bool oom_group;
	bool leader_elect;
	const char *lease_namespace; /* NULL: our own */
	enum log_level log_level;
	enum log_format log_format;
	/*
	 * if set, only asks this URL whether another operator is ready; NULL: run as the operator
	 */
	const char *check_ready;
	const char *check_ca; /* with check_ready, see ready_check.h; NULL: not given */
	/* if set, only upgrades the CRDs in this directory; NULL: run as the operator */
	const char *upgrade_crds;
	bool help, version;
};

/* For --help. */
extern const struct option_table operator_options;

/*
 * Parses argv, which ends with NULL; the strings point into it. Returns -EINVAL with an error that
 * names the option.
 */
int options_parse(char **argv, struct options *ret_options, struct err *err);
