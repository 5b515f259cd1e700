/* SPDX-License-Identifier: Apache-2.0 */
/* The table of all that can be said in a policy (policy_keys.def), and what its types take. For policy*.c only. */
#ifndef AFTERGLOW_OPERATOR_POLICY_POLICY_KEYS_H
#define AFTERGLOW_OPERATOR_POLICY_POLICY_KEYS_H

#include "operator/policy/policy.h"

struct policy_key;

/* What a type does with its member of struct policy. */
struct policy_type {
	/* Takes a value that is neither null nor "". member NULL: only looks at it. false: it is not what the key wants, or no memory. */
	bool (*set)(const struct policy_key *key, const cJSON *value, void *member);
	/* Replaces what is there by a copy. false: no memory, and to holds nothing. */
	bool (*copy)(void *to, const void *from);
};

#define POLICY_NO_MEMBER ((size_t)-1)

struct policy_key {
	enum policy_block block; /* POLICY_BLOCKS: the operator's own */
	const char *key; /* NULL: not in the file */
	const char *field; /* below spec; NULL: not in policy objects */
	const struct policy_type *type;
	size_t offset; /* in struct policy, or POLICY_NO_MEMBER */
	double min, max;
	const char *wants;
};

extern const struct policy_key policy_keys[];
extern const size_t policy_n_keys;

/*
 * Sets one key. null and "" count as absent, except for headNumCPUs, where both mean all of them. false: it is not what the
 * key wants, or no memory (oom_count tells).
 */
bool policy_set_key(struct policy *p, const struct policy_key *key, const cJSON *value);

/* The key of the file, or the field below spec; NULL: there is none. */
const struct policy_key *policy_key_find(const char *key);
const struct policy_key *policy_field_find(const char *field);

/* Checks what no key can check alone. name stands before the words of an error. */
int policy_check(const struct policy *p, const char *name, struct err *err);

#endif
