/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Implements `afterglow-sidecar prune`: removes what exceeds the limits of a directory of bundles.
 */
#pragma once

#include "lib/err.h"

/*
 * Runs the command. argv: the arguments after "prune", ending with NULL. Prints on stdout what it
 * removed. -EINVAL: wrong arguments.
 */
int prune_run(char **argv, struct err *err);
