/* SPDX-License-Identifier: Apache-2.0 */
/* Joins ends into incidents, by the rules of incident_rules.c. */
#include "lib/incident.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/incident_rules.h"
#include "lib/macros.h"
#include "lib/units.h"

/*
 * At most this many causes with one key are tried for one end. If there are more within the window,
 * it is a crash loop.
 */
#define SCAN_MAX 16
/*
 * The kubelet cuts times to whole seconds, so an end may seem to be up to a second before its
 * cause.
 */
#define WHOLE_SECOND_NS NS_PER_SEC
#define NOBODY SIZE_MAX

struct clue {
	const char *key;
	int64_t at_ns;
	size_t index;
	const char *name;
};

struct join {
	const struct incident_death *deaths;
	size_t n;
	size_t *causes; /* the cause of each end, or NOBODY */
	bool *by_id; /* a driver whose cause the IDs in its log name */
	bool *behind; /* it is behind such a driver */
	struct clue *clues; /* the clues of the rule that is being applied, sorted */
	size_t n_clues;
};

static int compare(const void *left, const void *right)
{
	const struct clue *a = left, *b = right;
	int r = strcmp(a->key, b->key);

	if (r == 0)
		r = (a->at_ns > b->at_ns) - (a->at_ns < b->at_ns);
	return r ? r : strcmp(a->name, b->name);
}

static void collect(struct join *j, const struct incident_rule *rule)
{
	j->n_clues = 0;
	for (size_t i = 0; i < j->n; i++) {
		const struct incident_death *d = &j->deaths[i];
		const char *key = rule->key(d);

		if (*key && rule->causes(d))
			j->clues[j->n_clues++] = (struct clue){
				.key = key, .at_ns = d->ended_ns, .index = i, .name = d->name
			};
	}
	qsort(j->clues, j->n_clues, sizeof(*j->clues), compare);
}

/*
 * --- No circles
 * ----------------------------------------------------------------------------------------
 */

/* Marks all ends that are behind a driver which IDs explain. */
static void look_behind(struct join *j)
{
	memset(j->behind, 0, j->n * sizeof(*j->behind));
	for (size_t i = 0; i < j->n; i++)
		for (size_t end = j->by_id[i] ? j->causes[i] : NOBODY;
		     end != NOBODY && !j->behind[end]; end = j->causes[end])
			j->behind[end] = true;
}

/*
 * Makes an end the consequence of another, unless both hang together with drivers that IDs explain:
 * ranks say nothing of those, and what brought a driver about does not follow from a driver.
 */
static void set_cause(struct join *j, size_t index, size_t cause, bool by_id)
{
	bool after_driver = false;

	for (size_t end = cause; j->behind[index] && end != NOBODY; end = j->causes[end])
		after_driver = after_driver || j->by_id[end];
	if (cause == NOBODY || after_driver)
		return;
	j->causes[index] = cause;
	j->by_id[index] = by_id;
}

/*
 * --- A group around one end
 * --------------------------------------------------------------------------------
 */

/*
 * Returns whether the clue leads the group. The end with the lowest rank does, so that there are no
 * cycles. Among several it is that of the head's Ray, or otherwise the first.
 */
static bool leads(const struct join *j, const struct clue *clue, const struct clue *leader)
{
	const struct incident_death *d = &j->deaths[clue->index], *l = &j->deaths[leader->index];

	if (incident_rank(d) != incident_rank(l))
		return incident_rank(d) < incident_rank(l);
	return (d->head && d->ray) && !(l->head && l->ray);
}

/*
 * Joins the clues within the rule's window after the first. Further members do not extend the
 * window.
 */
static size_t join_group(struct join *j, const struct incident_rule *rule, size_t first)
{
	size_t leader = first, end = first;

	while (end < j->n_clues && strcmp(j->clues[end].key, j->clues[first].key) == 0 &&
	       j->clues[end].at_ns - j->clues[first].at_ns <= rule->after_s * NS_PER_SEC) {
		if (leads(j, &j->clues[end], &j->clues[leader]))
			leader = end;
		end++;
	}
	for (size_t i = first; i < end; i++)
		if (i != leader && j->causes[j->clues[i].index] == NOBODY &&
		    (!rule->fits ||
		     rule->fits(&j->deaths[j->clues[leader].index], &j->deaths[j->clues[i].index])))
			set_cause(j, j->clues[i].index, j->clues[leader].index, false);
	return end;
}

/*
 * --- An end that another explains
 * ----------------------------------------------------------------------------
 */

/* Returns the first clue of that key that is later, or else the first clue of a later key. */
static size_t first_after(const struct join *j, const char *key, int64_t at_ns)
{
	size_t low = 0, high = j->n_clues;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int r = strcmp(j->clues[middle].key, key);

		if (r < 0 || (r == 0 && j->clues[middle].at_ns <= at_ns))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool end_explains(const struct join *j, const struct incident_rule *rule,
			 const struct clue *clue, size_t index)
{
	const struct incident_death *cause = &j->deaths[clue->index], *d = &j->deaths[index];
	int before_s = MAX(rule->before_s, incident_noticed_after_s(cause));

	return (rule->by_id || incident_rank(cause) < incident_rank(d)) &&
	       d->ended_ns - cause->ended_ns <= rule->after_s * NS_PER_SEC &&
	       cause->ended_ns - d->ended_ns <= before_s * NS_PER_SEC &&
	       (!rule->fits || rule->fits(cause, d));
}

/*
 * Returns the last cause before the end (the first if the rule says so), or else the first after
 * it, because clocks differ and reports may be late.
 */
static size_t find_cause(const struct join *j, const struct incident_rule *rule, size_t index)
{
	const char *key = rule->key(&j->deaths[index]);
	size_t at = first_after(j, key, j->deaths[index].ended_ns + WHOLE_SECOND_NS),
	       found = NOBODY;

	for (size_t i = at; i > 0 && at - i < SCAN_MAX && strcmp(j->clues[i - 1].key, key) == 0;
	     i--)
		if ((found == NOBODY || rule->first) &&
		    end_explains(j, rule, &j->clues[i - 1], index))
			found = j->clues[i - 1].index;
	if (found != NOBODY)
		return found;
	for (size_t i = at;
	     i < j->n_clues && i - at < SCAN_MAX && strcmp(j->clues[i].key, key) == 0; i++)
		if (end_explains(j, rule, &j->clues[i], index))
			return j->clues[i].index;
	return NOBODY;
}

static void explain(struct join *j, const struct incident_rule *rule, struct incident_place *places)
{
	for (size_t i = 0; i < j->n; i++) {
		if (j->causes[i] != NOBODY || !*rule->key(&j->deaths[i]) ||
		    !rule->follows(&j->deaths[i]))
			continue;
		set_cause(j, i, find_cause(j, rule, i), rule->by_id);
		places[i].may_follow = places[i].may_follow || rule->is_late;
	}
}

/* --- All ends -------------------------------------------------------------------------------- */

/* Shortens the chain that it walks, so that a long one costs no more than many short ones. */
static size_t first_cause(struct join *j, size_t index)
{
	size_t first = index, steps = 0;

	while (j->causes[first] != NOBODY) {
		first = j->causes[first];
		assert(++steps < j->n);
	}
	(void)steps;
	while (index != first) {
		size_t next = j->causes[index];

		j->causes[index] = first;
		index = next;
	}
	return first;
}

static void places_fill(struct join *j, struct incident_place *places)
{
	for (size_t i = 0; i < j->n; i++) {
		places[i].first = first_cause(j, i);
		places[i].may_follow = places[i].may_follow && places[i].first == i;
		if (places[i].first != i)
			places[places[i].first].consequences++;
	}
}

int incident_join(const struct incident_death *deaths, size_t n, struct incident_place *places)
{
	_cleanup_free_ size_t *causes = calloc(n + 1, sizeof(*causes));
	_cleanup_free_ struct clue *clues = calloc(n + 1, sizeof(*clues));
	_cleanup_free_ bool *by_id = calloc(n + 1, sizeof(*by_id)),
			    *behind = calloc(n + 1, sizeof(*behind));
	struct join j = { .deaths = deaths,
			  .n = n,
			  .causes = causes,
			  .by_id = by_id,
			  .behind = behind,
			  .clues = clues };

	if (!causes || !clues || !by_id || !behind)
		return -ENOMEM;
	memset(places, 0, n * sizeof(*places));
	for (size_t i = 0; i < n; i++)
		causes[i] = NOBODY;
	for (size_t i = 0; i < n_incident_rules; i++) {
		collect(&j, &incident_rules[i]);
		look_behind(&j);
		if (incident_rules[i].follows)
			explain(&j, &incident_rules[i], places);
		else
			for (size_t k = 0; k < j.n_clues;)
				k = join_group(&j, &incident_rules[i], k);
	}
	places_fill(&j, places);
	return 0;
}

/* --- Texts for people ------------------------------------------------------------------------ */

const char *incident_text(const struct incident_death *first, const struct incident_death *d,
			  const char *place, char buf[static INCIDENT_TEXT_MAX])
{
	bool same_node = *first->node && strcmp(first->node, d->node) == 0;
	const char *whose = "another ";

	/* One decision ended both, so the first did not cause the other. */
	if (*first->ended_by && strcmp(first->ended_by, d->ended_by) == 0) {
		snprintf(buf, INCIDENT_TEXT_MAX, "%s by %.*s", failure_class_name(first->class),
			 (int)MIN(strcspn(first->ended_by, "/"), 32), first->ended_by);
		return buf;
	}
	if (*first->uid && strcmp(first->uid, d->uid) == 0)
		whose = "its ";
	else if (incident_rank(first) == 0 && same_node)
		whose = "its node", place = "";
	else if (first->head)
		whose = "the head", place = "";
	snprintf(buf, INCIDENT_TEXT_MAX, "%s of %s%s", failure_class_name(first->class), whose,
		 place);
	return buf;
}
