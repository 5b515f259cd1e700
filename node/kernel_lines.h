/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends each sidecar the lines of the kernel log that concern its pod: reports of the OOM killer,
 * crashes, GPU faults, errors of disks and servers that the pod has mounted. A report of the OOM
 * killer is sent whole, except for the rows of other pods' processes.
 */
#pragma once

#include "lib/err.h"
#include "node/node.h"

int kernel_lines_start(struct node *n, struct err *err);
void kernel_lines_stop(void);
