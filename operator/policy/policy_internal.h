/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of all settings of a policy (policy_keys.def), and the values that their types accept.
 * For policy*.c only.
 */
#pragma once

#include "operator/policy/policy.h"

struct policy_key;

/* Sets and copies a member of struct policy of one type. */
struct policy_type {
	/*
	 * Sets member to a value that is neither null nor ""; if member is NULL, only checks it.
	 * Returns false if the key does not accept the value, or there is no memory.
	 */
	bool (*set)(const struct policy_key *key, const cJSON *value, void *member);
	/* Replaces *to by a copy of *from. false: no memory, and *to is empty. */
	bool (*copy)(void *to, const void *from);
	const char *letters; /* of a text; NULL: any */
	bool (*fits)(const char *text); /* what else a text must be; NULL: nothing */
	const char *const *names; /* to choose from, ended by NULL */
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
 * Sets one key. null and "" count as absent, except for headNumCPUs, where both mean all CPUs.
 * Returns false if the key does not accept the value, or without memory (oom_count shows which).
 */
bool policy_set_key(struct policy *p, const struct policy_key *key, const cJSON *value);

/*
 * Finds a key by its name in the file, or by its field below spec; returns NULL if there is none.
 */
const struct policy_key *policy_key_find(const char *key);
const struct policy_key *policy_field_find(const char *field);

/* Checks conditions that involve several keys. An error begins with name. */
int policy_check(const struct policy *p, const char *name, struct err *err);
