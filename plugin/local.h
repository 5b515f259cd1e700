/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the bundles of a directory as RayFailures, so that what lists and shows those of a cluster
 * does so for the bundles of `afterglow-sidecar exec` and of a mounted store.
 */
#pragma once

#include <cjson/cJSON.h>

#include "lib/err.h"
#include "lib/strbuf.h"

/* Bytes of all reports together; one has some thousands. */
#define LOCAL_REPORTS_MAX ((size_t)64 << 20)

/*
 * Makes a list of a RayFailure for each bundle below the directory. Their name is that of the
 * bundle, their pod that of the pod or of the command, and spec.bundle is the path. What cannot be
 * read below the directory is named on stderr and left out, and so is what goes beyond
 * LOCAL_REPORTS_MAX.
 */
int local_failures(const char *directory, cJSON **ret_list, struct err *err);

/*
 * Appends a file of the bundle of a failure that local_failures made, as file_read_foreign does:
 * others may have written the bundle.
 */
int local_bundle_file(const cJSON *failure, const char *name, struct strbuf *out, struct err *err);

/* Returns the failure that ended last, owned by the list; NULL if it has none. */
const cJSON *local_newest(const cJSON *list);
