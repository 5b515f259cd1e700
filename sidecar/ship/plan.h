/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be sent of a bundle and in which order: its manifest, read with suspicion. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_PLAN_H
#define AFTERGLOW_SIDECAR_SHIP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/digest/sha256.h"
#include "lib/strbuf.h"
#include "sidecar/ship/cores_prefix.h"
#include "sidecar/ship/store_url.h"

#define PLAN_MANIFEST "MANIFEST.json"
#define PLAN_MANIFEST_MAX ((size_t)1 << 20)
#define PLAN_FILES_MAX 4096

struct plan_item {
	char *name; /* below the bundle: "report.txt", "logs/raylet.out" */
	char *path; /* where the store has it, below the store; NULL: with the bundle's other files */
	int64_t size;
	char sha256[SHA256_TEXT_MAX];
};

struct plan {
	struct plan_item *items;
	size_t n;
};

/*
 * The files of a manifest, the most wanted first: report.txt, report.json,
 * report.html, then the others in the manifest's order, cores last. The
 * manifest itself is not among them: the caller sends it when all is there.
 */
int plan_parse(const char *manifest, size_t len, struct plan *ret_plan, struct err *err);
void plan_release(struct plan *plan);

#define PLAN_PATH_MAX (2 * STORE_PATH_MAX + CORES_PREFIX_MAX + 8)

/*
 * The path of a file below the store, in the bundle at the path as. -EINVAL when the manifest names a place that belongs to another
 * bundle: only PREFIX/AS/NAME is this one's.
 */
int plan_locate(const struct plan_item *item, const char *as, char ret_path[static PLAN_PATH_MAX], struct err *err);

/*
 * Rewrites a manifest for the store: "path" of each core becomes PREFIX/AS/NAME, and no other file has a path. prefix NULL: cores
 * have none either, so that a bundle which came from another store is like any other. The text stays as it is when nothing changes.
 */
int plan_place_cores(struct strbuf *manifest, const char *prefix, const char *as, struct err *err);

/* What a browser should take the file for. Never NULL. */
const char *plan_content_type(const char *name);

#endif
