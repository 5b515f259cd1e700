/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers names for some time after they were last noted: "NAMESPACE", "NAMESPACE/..." or
 * "NAMESPACE ...". No namespace gets more of the room than was left for all others, so a tenant
 * fills it for nobody else. Pure: time is an argument.
 */
#pragma once

#include <stdint.h>

#include "operator/kube/namespace_share.h"

#define REMEMBERED_MAX 4096 /* names; further ones are not noted */

struct remembered_name {
	unsigned times; /* how often it was noted in a row */
	int64_t first_ns, last_ns;
};

/* Starts zeroed. */
struct remembered {
	struct namespace_map names; /* name -> struct remembered_name */
};

void remembered_release(struct remembered *r);
/*
 * Notes a name; after more than hold_ns without a note it is a new one. If there are too many,
 * drops those that were noted longer than hold_ns ago.
 */
void remembered_note(struct remembered *r, const char *name, int64_t hold_ns, int64_t now_ns);
void remembered_forget(struct remembered *r, const char *name);
/* Returns the name if it was noted within hold_ns, else NULL. */
const struct remembered_name *remembered_get(const struct remembered *r, const char *name,
					     int64_t hold_ns, int64_t now_ns);
