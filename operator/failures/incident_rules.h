/* SPDX-License-Identifier: Apache-2.0 */
/* The table of what can explain what, in the order in which it is asked. For incident.c only; pure. */
#ifndef AFTERGLOW_OPERATOR_FAILURES_INCIDENT_RULES_H
#define AFTERGLOW_OPERATOR_FAILURES_INCIDENT_RULES_H

#include "operator/failures/incident.h"

typedef bool incident_test(const struct incident_death *death);
typedef bool incident_pair(const struct incident_death *cause, const struct incident_death *death);
/* Causes are looked for among the ends of the same key; "": the end has none, and the rule does not apply to it. */
typedef const char *incident_key(const struct incident_death *death);

struct incident_rule {
	incident_key *key;
	incident_test *causes;
	incident_test *follows; /* NULL: a group; its first end, or the head's, explains the others */
	incident_pair *fits;	/* NULL: each pair does */
	int after_s;  /* how long after its cause an end is explained; of a group: how long after its first end */
	int before_s; /* how long before: clocks differ, and ends are noticed late */
	bool is_late; /* the cause is often recorded after what follows from it */
	bool first;   /* of several in the window the first explains it, rather than the last before it */
};

extern const struct incident_rule incident_rules[];
extern const size_t n_incident_rules;

/* Less than that of whatever it can cause, groups apart. */
int incident_rank(const struct incident_death *death);
/* A lost node is noticed minutes after it went: how long, at most. Of other ends 0. */
int incident_noticed_after_s(const struct incident_death *death);

#endif
