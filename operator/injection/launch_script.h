/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The line of shell in front of a Ray container's command: runs it by the
 * launcher, or without one where that is missing, is made for another machine,
 * or is older than the line (after a rollback) and does not know an option of it.
 * Any POSIX shell will do.
 */
#ifndef AFTERGLOW_OPERATOR_RAYCLUSTER_LAUNCH_SCRIPT_H
#define AFTERGLOW_OPERATOR_RAYCLUSTER_LAUNCH_SCRIPT_H

#include <stdbool.h>

struct launch_script {
	const char *launcher, *socket; /* paths, of plain letters */
	const char *container;         /* its name, a DNS label */
	const char *termination_log;   /* the container's own terminationMessagePath; NULL: Kubernetes' default */
	const char *wait_port;         /* wait for $FQ_RAY_IP:port before the command; NULL: do not */
	const char *prefix;            /* words before the command; NULL: none */
	bool cores;
	/*
	 * The shell is one that may take a program of another machine for a script of its own and run what it
	 * finds there (dash does, bash does not): the line looks at the machine first.
	 */
	bool simple_shell;
};

/* The words of the command are its arguments. Each $ that Kubernetes could read is doubled. The caller frees it; NULL: no memory. */
char *launch_script(const struct launch_script *in);

#endif
