/* SPDX-License-Identifier: Apache-2.0 */
/* Puts a report of a container into the words of a command that `afterglow run` watches. Pure. */
#pragma once

#include "sidecar/report/report.h"

/*
 * Replaces the words for container and pod in what the verdict and the diagnosis say: the rules are
 * the same without Kubernetes, but there is no container whose name a reader could know. What the
 * program itself wrote is quoted as it is. May be called again after more was added.
 */
void report_use_command_words(struct report *r);
