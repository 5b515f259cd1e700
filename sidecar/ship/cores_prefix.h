/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a store has cores, if they are to be apart from the other files of their bundles: at PREFIX/AS/NAME below the store, where AS is
 * the path of the bundle. Lifecycle rules of a bucket choose objects by the beginning of their names, so this lets a rule remove
 * cores sooner than reports. Tags of objects would do the same for S3 alone, and would need a permission more.
 */
#ifndef AFTERGLOW_SIDECAR_SHIP_CORES_PREFIX_H
#define AFTERGLOW_SIDECAR_SHIP_CORES_PREFIX_H

#include "lib/err.h"

#define CORES_PREFIX_MAX 100

/*
 * -EINVAL with what is right, unless prefix is a path below a store: components of letters, digits and "._~-" joined by '/', none of
 * them empty or hidden, at most CORES_PREFIX_MAX bytes. It begins with '_', as no namespace does: a rule for cores would else
 * also remove the reports of the namespace that is called so. Pure.
 */
int cores_prefix_check(const char *prefix, struct err *err);

#endif
