/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the annotation object by object, up to the first part that it cannot parse. */
#include "plugin/policy_origin.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const block_names[ORIGIN_BLOCKS] = { "memory", "recording", "store" };

/* Moves *at past the word if the text there begins with it. */
static bool skip(const char **at, const char *word)
{
	size_t len = strlen(word);

	if (strncmp(*at, word, len) != 0)
		return false;
	*at += len;
	return true;
}

static bool read_kind(const char **at, struct policy_origin *o)
{
	o->is_cluster_wide = skip(at, "ClusterRayPolicy/");
	return o->is_cluster_wide || skip(at, "RayPolicy/");
}

static bool read_name(const char **at, struct policy_origin *o)
{
	size_t len = strspn(*at, "abcdefghijklmnopqrstuvwxyz0123456789.-");

	if (len == 0 || len >= sizeof(o->name))
		return false;
	snprintf(o->name, sizeof(o->name), "%.*s", (int)len, *at);
	*at += len;
	return true;
}

static bool read_generation(const char **at, struct policy_origin *o)
{
	char *end;

	if (!skip(at, " generation ") || **at < '0' || **at > '9')
		return false;
	o->generation = strtoll(*at, &end, 10);
	*at = end;
	return true;
}

static bool read_block(const char **at, struct policy_origin *o)
{
	for (size_t i = 0; i < ORIGIN_BLOCKS; i++)
		if (skip(at, block_names[i])) {
			o->gives[i] = true;
			return true;
		}
	o->locks = skip(at, "locked");
	return o->locks;
}

static bool read_blocks(const char **at, struct policy_origin *o)
{
	if (!skip(at, " ("))
		return false;
	do {
		if (!read_block(at, o))
			return false;
	} while (skip(at, ", "));
	return skip(at, ")");
}

static bool read_object(const char **at, struct policy_origin *o)
{
	return read_kind(at, o) && read_name(at, o) && read_generation(at, o) && read_blocks(at, o);
}

void policy_origins_parse(const char *text, struct policy_origins *ret_origins)
{
	struct policy_origins origins = { .is_whole = true };
	const char *at = text ? text : "";

	while (*at && origins.is_whole) {
		struct policy_origin o = { 0 };

		origins.is_whole = origins.n < POLICY_ORIGINS_MAX && read_object(&at, &o) && (!*at || skip(&at, "; "));
		if (origins.is_whole)
			origins.of[origins.n++] = o;
	}
	*ret_origins = origins;
}

const struct policy_origin *policy_origin_of(const struct policy_origins *origins, enum origin_block block)
{
	for (size_t i = 0; i < origins->n; i++)
		if (origins->of[i].gives[block])
			return &origins->of[i];
	return NULL;
}

const char *policy_origin_kind(const struct policy_origin *origin)
{
	return origin->is_cluster_wide ? "ClusterRayPolicy" : "RayPolicy";
}
