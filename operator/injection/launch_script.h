/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes the line of shell in front of a Ray container's command. It starts the command
 * by the launcher for this machine, if the launcher's file has the content that the
 * line was made for and can be executed; otherwise without a launcher. The image needs
 * a POSIX shell, and sha256sum for the launcher to be used.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "operator/launcher/launcher.h"

struct launch_script {
	const struct launchers *launchers;
	const char *dir, *socket; /* where the launchers' files are; paths, of plain letters */
	const char *container; /* its name, a DNS label */
	/* the container's own terminationMessagePath; NULL: Kubernetes' default */
	const char *termination_log;
	/* wait for $FQ_RAY_IP:port before the command; NULL: do not wait */
	const char *wait_port;
	const char *prefix; /* words before the command; NULL: none */
	bool ends_pod; /* the sidecar ends after the container's success, so that the pod can end */
	bool never_restarted; /* and after its failure */
	bool cores;
	/* also where the node's core pattern leads to a filesystem in memory */
	bool cores_in_memory;
	int64_t cores_max; /* bytes, at most, of each core; 0: the launcher's default */
};

/*
 * Makes the line; the words of the command become its arguments. Each $ that Kubernetes could
 * expand is doubled. The caller frees it; returns NULL if there is no memory.
 */
char *launch_script(const struct launch_script *in);

/*
 * Makes the line for a pod without launcher and sidecar: it waits for $FQ_RAY_IP:port, for at most
 * five minutes, and runs the command.
 */
char *wait_script(const char *port);
