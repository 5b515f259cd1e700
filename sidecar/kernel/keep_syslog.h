/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Giving up root but for reading the kernel log.
 *
 * Kubernetes has no ambient capabilities: a container that runs as another user
 * than root has "capabilities: add: [SYSLOG]" in its bounding set only, which
 * grants nothing, and no_new_privs forbids file capabilities. So the sidecar is
 * started as root with SYSLOG and SETUID alone, and becomes its usual user here
 * before it opens anything.
 */
#ifndef AFTERGLOW_SIDECAR_KERNEL_KEEP_SYSLOG_H
#define AFTERGLOW_SIDECAR_KERNEL_KEEP_SYSLOG_H

#include <sys/types.h>

#include "lib/err.h"

/*
 * Becomes uid, keeps CAP_SYSLOG if there is one and no other capability. The
 * groups stay. Not root: nothing to do. After a failure the process is to end:
 * it may be the other user already, and keep more capabilities than it should.
 */
int keep_syslog_only(uid_t uid, struct err *err);

#endif
