/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each sidecar the lines of the node's syslog file that concern its pod. Files alone: of a node that keeps a journal and no file there is
 * nothing. Reading the journal takes libsystemd, of which there is no static library, or running the node's journalctl as root.
 */
#ifndef AFTERGLOW_NODE_SYSLOG_H
#define AFTERGLOW_NODE_SYSLOG_H

#include "lib/err.h"
#include "node/node.h"

int syslog_start(struct node *n, struct err *err);
void syslog_stop(void);

#endif
