/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Kubernetes LabelSelector. It is parsed once and used often; matching allocates
 * nothing. Pure.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/err.h"

#define SELECTOR_REQUIREMENTS_MAX 64
#define SELECTOR_VALUES_MAX 64
/*
 * The most labels of an object that are considered. The API server has no bound, and every policy
 * looks up every key among them: tenants choose both.
 */
#define SELECTOR_LABELS_MAX 256
#define SELECTOR_KEY_MAX 317 /* a DNS subdomain of 253 bytes, '/', a name of 63 */
#define SELECTOR_VALUE_MAX 63

enum selector_operator { SELECTOR_IN, SELECTOR_NOT_IN, SELECTOR_EXISTS, SELECTOR_DOES_NOT_EXIST };

/* A key or a value. Hashes are compared first. */
struct selector_text {
	char *text;
	uint64_t hash;
};

struct selector_requirement {
	enum selector_operator operator;
	struct selector_text key, *values; /* values: for In and NotIn, at least one */
	size_t n_values;
};

/* All requirements must hold. A zeroed selector selects everything. */
struct selector {
	struct selector_requirement *requirements;
	size_t n;
	uint64_t digest; /* of all of them in their order, by a secret of this process */
};

/* The labels of an object, which must outlive it. */
struct selector_labels {
	size_t n;
	uint64_t hashes[SELECTOR_LABELS_MAX], value_hashes[SELECTOR_LABELS_MAX];
	const cJSON *items[SELECTOR_LABELS_MAX];
};

/*
 * Parses {matchLabels, matchExpressions}; NULL and null select everything. path is the field's
 * path, with which errors begin. Returns -EINVAL or -ENOMEM. An unknown field is an error, because
 * an overlooked requirement would select too much.
 */
int selector_parse(const cJSON *json, const char *path, struct selector *ret_selector,
		   struct err *err);
void selector_release(struct selector *s);

/* labels is an object of strings, as in metadata.labels; NULL: none. */
void selector_labels_read(const cJSON *labels, struct selector_labels *ret_labels);
bool selector_matches(const struct selector *s, const struct selector_labels *labels);

static inline bool selector_is_empty(const struct selector *s)
{
	return s->n == 0;
}

/* Returns whether both have the same requirements in the same order, by their digests. */
static inline bool selector_equals(const struct selector *a, const struct selector *b)
{
	return a->digest == b->digest;
}
