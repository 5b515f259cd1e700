/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of shell in front of a Ray container's command: runs it by the
 * launcher that is there for this machine, if its content is the one that this
 * line was made with, and if it can be executed; else without one. An image needs
 * any POSIX shell, and sha256sum to have the launcher.
 */
#ifndef AFTERGLOW_OPERATOR_INJECTION_LAUNCH_SCRIPT_H
#define AFTERGLOW_OPERATOR_INJECTION_LAUNCH_SCRIPT_H

#include <stdbool.h>
#include <stdint.h>

#include "operator/launcher/launcher.h"

struct launch_script {
	const struct launchers *launchers;
	const char *dir, *socket;      /* where the launchers' files are; paths, of plain letters */
	const char *container;         /* its name, a DNS label */
	const char *termination_log;   /* the container's own terminationMessagePath; NULL: Kubernetes' default */
	const char *wait_port;         /* wait for $FQ_RAY_IP:port before the command; NULL: do not */
	const char *prefix;            /* words before the command; NULL: none */
	bool cores;
	int64_t cores_max;             /* bytes, at most, of each core; 0: the launcher's default */
};

/* The words of the command are its arguments. Each $ that Kubernetes could read is doubled. The caller frees it; NULL: no memory. */
char *launch_script(const struct launch_script *in);

/* The same for a pod without launcher and sidecar: waits for $FQ_RAY_IP:port, for at most five minutes, and runs the command. */
char *wait_script(const char *port);

#endif
