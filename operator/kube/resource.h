/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Knows the kinds that the operator uses and their places in the API. The table is in resource.c.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "lib/strbuf.h"

struct resource {
	const char *api_version; /* "v1", "ray.io/v1" */
	const char *kind;
	const char *plural;
};

/* Returns NULL if the table has no such kind. */
const struct resource *resource_find(const char *api_version, const char *kind);
/* Returns whether its objects have no namespace. */
bool resource_is_cluster_wide(const struct resource *resource);
/* Finds the resource by the apiVersion and kind of an object. */
const struct resource *resource_of(const cJSON *object);

/*
 * Appends "/apis/ray.io/v1/namespaces/ns/rayclusters/name/status". A NULL namespace means all, a
 * NULL name the collection, a NULL subresource none. Names are percent-encoded.
 */
void resource_path(const struct resource *resource, const char *namespace, const char *name,
		   const char *subresource, struct strbuf *out);

/* Appends text percent-encoded, for one segment or query value. */
void url_encode(const char *text, struct strbuf *out);
