/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Asks the sidecars of pods for the stacks of their processes, and puts equal ones of all pods
 * together.
 */
#pragma once

#include "lib/strbuf.h"
#include "plugin/options.h"

/* Carries out `stack WHAT [NAME]`. Returns the exit code or a negative error. */
int stack_command(const struct options *o, struct strbuf *out, struct err *err);
