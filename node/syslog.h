/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends each sidecar the lines of the node's syslog that concern its pod: lines of /var/log/syslog
 * or /var/log/messages, or, if the node has neither file, of the journal.
 */
#pragma once

#include "lib/err.h"
#include "node/node.h"

int syslog_start(struct node *n, struct err *err);
void syslog_stop(void);
