/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Gives each sidecar the lines of the node's syslog file that concern its pod: of /var/log/syslog or /var/log/messages; where there is
 * neither, of the journal.
 */
#ifndef AFTERGLOW_NODE_SYSLOG_H
#define AFTERGLOW_NODE_SYSLOG_H

#include "lib/err.h"
#include "node/node.h"

int syslog_start(struct node *n, struct err *err);
void syslog_stop(void);

#endif
