/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a bundle's manifest and decides which files are sent, and in which order. The manifest is
 * not trusted: the spool may be damaged, or others may write to it. Pure.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "lib/digest/sha256.h"
#include "lib/strbuf.h"
#include "sidecar/ship/cores_prefix.h"
#include "sidecar/ship/store_url.h"

#define PLAN_MANIFEST "MANIFEST.json"
#define PLAN_MANIFEST_MAX ((size_t)1 << 20) /* bytes */
#define PLAN_FILES_MAX 4096

struct plan_item {
	char *name; /* a path below the bundle: "report.txt", "logs/raylet.out" */
	char *path; /* its path below the store; NULL: it is with the bundle's other files */
	int64_t size; /* bytes */
	char sha256[SHA256_TEXT_MAX];
};

struct plan {
	struct plan_item *items;
	size_t n;
};

/*
 * Lists the files of a manifest in the order in which they are sent: report.txt, report.json and
 * report.html, then the others in the manifest's order, cores last. The manifest itself is not
 * listed; the caller sends it after all others. Returns a negative error (-EINVAL, -EFBIG, -ENOMEM)
 * if the manifest is malformed, lists a file twice, or has a name that leads out of the bundle. The
 * caller releases the plan.
 */
int plan_parse(const char *manifest, size_t len, struct plan *ret_plan, struct err *err);
void plan_release(struct plan *plan);

#define PLAN_PATH_MAX (2 * STORE_PATH_MAX + CORES_PREFIX_MAX + 8)

/*
 * Makes the path below the store of a file of the bundle at the path `as`. -EINVAL if the manifest
 * names a place that belongs to another bundle: only PREFIX/AS/NAME belongs to this bundle.
 */
int plan_locate(const struct plan_item *item, const char *as, char ret_path[static PLAN_PATH_MAX],
		struct err *err);

/*
 * Rewrites a manifest for the store: "path" of each core becomes PREFIX/AS/NAME, and other files
 * lose theirs. With prefix NULL cores lose it too, so a bundle that was read from another store
 * becomes like any other. If nothing changes, the text stays as it is.
 */
int plan_place_cores(struct strbuf *manifest, const char *prefix, const char *as, struct err *err);

/* The Content-Type of a file, by the end of its name. Never NULL. */
const char *plan_content_type(const char *name);
