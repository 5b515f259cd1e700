/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be sent of a bundle and in which order: its manifest, read with suspicion. Pure. */
#ifndef AFTERGLOW_SIDECAR_SHIP_PLAN_H
#define AFTERGLOW_SIDECAR_SHIP_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "lib/digest/sha256.h"

#define PLAN_MANIFEST "MANIFEST.json"
#define PLAN_MANIFEST_MAX ((size_t)1 << 20)
#define PLAN_FILES_MAX 4096

struct plan_item {
	char *name; /* below the bundle: "report.txt", "logs/raylet.out" */
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

/* What a browser should take the file for. Never NULL. */
const char *plan_content_type(const char *name);

#endif
