/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store can keep cores apart from the other files of their bundles: at PREFIX/AS/NAME below the
 * store, where AS is the path of the bundle. Lifecycle rules of a bucket choose objects by the
 * beginning of their names, so a rule can then remove cores sooner than reports. Tags of objects
 * would do the same for S3 only, and would need one more permission.
 */
#pragma once

#include "lib/err.h"

#define CORES_PREFIX_MAX 100

/*
 * Checks that prefix is a path below a store: components of letters, digits and "._~-" joined by
 * '/', none of them empty or hidden, at most CORES_PREFIX_MAX bytes. It must begin with '_', as no
 * namespace does; otherwise a rule for cores could also remove the reports of a namespace with that
 * name. -EINVAL if it is not such a path; err says what is allowed. Pure.
 */
int cores_prefix_check(const char *prefix, struct err *err);
