/* SPDX-License-Identifier: Apache-2.0 */
/* `afterglow-sidecar prune`: removes what is too much of a directory of bundles. */
#ifndef AFTERGLOW_SIDECAR_PRUNE_H
#define AFTERGLOW_SIDECAR_PRUNE_H

#include "lib/err.h"

/* argv: what follows "prune", ending with NULL. Tells on stdout what it removed. -EINVAL: wrong arguments. */
int prune_run(char **argv, struct err *err);

#endif
