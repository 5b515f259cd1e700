/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the rules by which one end can explain another. The first rule that applies wins. For
 * incident.c only; pure.
 */
#pragma once

#include "lib/incident_death.h"

typedef bool incident_test(const struct incident_death *death);
typedef bool incident_pair(const struct incident_death *cause, const struct incident_death *death);
/*
 * Returns the key that an end and its cause share, as the same node; "" if the rule does not apply
 * to the end.
 */
typedef const char *incident_key(const struct incident_death *death);

struct incident_rule {
	incident_key *key;
	incident_test *causes;
	/* NULL: the rule makes a group, and its first end, or the head's, explains the others */
	incident_test *follows;
	incident_pair *fits; /* NULL: every pair fits */
	/* how long after its cause an end may come; in a group, how long after the first end */
	int after_s;
	/* how long before its cause an end may come: clocks differ, and ends are noticed late */
	int before_s;
	bool by_id; /* IDs say that the cause is one, whatever the ranks */
	bool is_late; /* the cause is often recorded after its consequences */
	/* the first cause in the window explains the end, rather than the last one before it */
	bool first;
};

extern const struct incident_rule incident_rules[];
extern const size_t n_incident_rules;

/* A cause has a lower rank than the ends that it explains, except within a group. */
int incident_rank(const struct incident_death *death);
/*
 * The loss of a node is noticed minutes later: returns the most seconds that this takes, and 0 for
 * other ends.
 */
int incident_noticed_after_s(const struct incident_death *death);
