/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives up root, except for the right to read the kernel log.
 *
 * Kubernetes has no ambient capabilities: a container that runs as another user
 * than root has "capabilities: add: [SYSLOG]" in its bounding set only, which
 * grants nothing, and no_new_privs forbids file capabilities. So the sidecar is
 * started as root with SYSLOG and SETUID alone, and becomes its usual user here
 * before it opens anything.
 */
#pragma once

#include <sys/types.h>

#include "lib/err.h"

/*
 * Becomes uid, and keeps CAP_SYSLOG if the process has it, and no other capability. The
 * groups stay. Does nothing if the process is not root. After a failure the process
 * must end: it may be the other user already, with more capabilities than it should have.
 */
int keep_syslog_only(uid_t uid, struct err *err);
