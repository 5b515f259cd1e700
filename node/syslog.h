/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends each sidecar the lines of the node's syslog file that concern its pod. It reads files only:
 * on a node that keeps a journal and no file, it sends nothing. To read the journal it would need
 * libsystemd, which has no static library, or the node's journalctl, run as root.
 */
#ifndef AFTERGLOW_NODE_SYSLOG_H
#define AFTERGLOW_NODE_SYSLOG_H

#include "lib/err.h"
#include "node/node.h"

int syslog_start(struct node *n, struct err *err);
void syslog_stop(void);

#endif
