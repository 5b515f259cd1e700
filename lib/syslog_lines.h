/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides which lines of a node's syslog the owner of a pod may see: those of the kernel, the
 * kubelet and the container runtime that name the pod or its container. The file also has lines
 * about all other pods and about people who log in. Pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "lib/strbuf.h"

struct syslog_subject {
	const char *pod_uid; /* with dashes; systemd's cgroups have it with underscores */
	const char *pod; /* its name, NULL unknown */
	const char
		*cgroup; /* the container's cgroup, which contains the container's ID; "" unknown */
};

/* Returns whether the kernel, the kubelet or a container runtime wrote the line. */
bool syslog_line_is_of_node(const char *line, size_t len);
/* Returns whether they wrote it and it is about the pod. line has no newline. */
bool syslog_line_is_of(const char *line, size_t len, const struct syslog_subject *subject);

/*
 * Appends the lines of text for which syslog_line_is_of is true. If they exceed max bytes, the
 * oldest are left out.
 */
void syslog_lines_of(const char *text, size_t len, const struct syslog_subject *subject, size_t max,
		     struct strbuf *out);
