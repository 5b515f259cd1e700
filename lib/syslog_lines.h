/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of a node's syslog its operator shows to the owner of a pod: those of the kernel, the kubelet and the container runtime
 * that name the pod or its container. The file has those of all other pods, and of everybody who logs in, too. Pure.
 */
#ifndef AFTERGLOW_LIB_SYSLOG_LINES_H
#define AFTERGLOW_LIB_SYSLOG_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"

struct syslog_subject {
	const char *pod_uid; /* with dashes; systemd's cgroups have it with underscores */
	const char *pod; /* its name, NULL unknown */
	const char *cgroup; /* of the container: the ID in it is the container's, "" unknown */
};

/* Whether the kernel, the kubelet or a runtime wrote it. */
bool syslog_line_is_of_node(const char *line, size_t len);
/* That, and it is about the pod. A line without its newline. */
bool syslog_line_is_of(const char *line, size_t len, const struct syslog_subject *subject);

/* Appends the lines of text that are. The oldest are left out when they are more than max bytes. */
void syslog_lines_of(const char *text, size_t len, const struct syslog_subject *subject, size_t max, struct strbuf *out);

#endif
