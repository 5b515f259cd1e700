/* SPDX-License-Identifier: Apache-2.0 */
/* Plans the statuses and Events for the incidents of one cluster. */
#include "operator/failures/incident_plan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/json.h"
#include "lib/macros.h"
#include "lib/units.h"
#include "operator/failures/story.h"
#include "operator/kube/object.h"

/* Ends that come within this time get one Event. */
#define TELL_NS (2 * NS_PER_SEC)
/*
 * What looks like a consequence waits for its cause: a death may be held back for 20 s until the
 * pod's status explains it.
 */
#define TELL_LATER_NS (25 * NS_PER_SEC)
/*
 * A new count gets an Event when no more consequences have come for this long. The time doubles
 * with each Event.
 */
#define QUIET_NS (30 * NS_PER_SEC)
#define QUIET_DOUBLINGS_MAX 6
/* A failure older than this had its Event from an earlier operator, or is too old for one. */
#define NEWS_NS (600 * NS_PER_SEC)

/* The limit of Kubernetes' names. A longer one was written by a tenant. */
#define NAME_MAX_LEN 253

struct incident_member {
	struct story *story;
	char *uid;
	char *incident, *caused_by; /* as the label and annotations say; "" for none */
	int64_t marked; /* the number of consequences that the annotation has */
	int64_t created_ns; /* by the API server's clock; 0: unknown */
	/* Boottime when it was first seen, and when its consequences last changed. */
	int64_t seen_ns, grown_ns;
	size_t consequences; /* at grown_ns */
	bool is_emitted, is_silent; /* its Event was emitted; the member gets no Event */
	size_t emitted; /* the number of consequences in its last Event */
	unsigned times;
	/* Boottime until which the server is not asked again; 0: it did not refuse. */
	int64_t refused_ns;
};

static void member_free(void *value)
{
	struct incident_member *m = value;

	if (!m)
		return;
	story_free(m->story);
	free(m->uid);
	free(m->incident);
	free(m->caused_by);
	free(m);
}

void incident_cluster_release(struct incident_cluster *cluster)
{
	strmap_release(&cluster->members, member_free);
}

static struct incident_member *member_new(const cJSON *failure, struct story *story)
{
	struct incident_member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->uid = strdup(json_str_or(failure, "metadata.uid", ""));
	m->incident = strdup(object_label(failure, INCIDENT_LABEL) ?: "");
	m->caused_by =
		strndup(object_annotation(failure, CAUSED_BY_ANNOTATION) ?: "", NAME_MAX_LEN);
	if (!m->uid || !m->incident || !m->caused_by) {
		member_free(m);
		return NULL;
	}
	m->story = story;
	m->marked = (int64_t)strtoull(object_annotation(failure, CONSEQUENCES_ANNOTATION) ?: "",
				      NULL, 10);
	json_time(failure, "metadata.creationTimestamp", &m->created_ns);
	return m;
}

/* Keeps what only this process knows about the member. */
static void keep_emitted(struct incident_member *m, const struct incident_member *old)
{
	m->seen_ns = old->seen_ns;
	m->grown_ns = old->grown_ns;
	m->consequences = old->consequences;
	m->is_emitted = old->is_emitted;
	m->is_silent = old->is_silent;
	m->emitted = old->emitted;
	m->times = old->times;
}

int incident_cluster_put(struct incident_cluster *cluster, const cJSON *failure, int64_t now_ns)
{
	struct story *story = story_read(failure);
	struct incident_member *m = story ? member_new(failure, story) : NULL;
	void *old = NULL;

	if (!story) {
		const char *name = json_str(failure, "metadata.name");

		/* The member may have had one. */
		if (name)
			incident_cluster_remove(cluster, name);
		return 0;
	}
	if (!m) {
		story_free(story);
		return -ENOMEM;
	}
	m->seen_ns = m->grown_ns = now_ns;
	if (strmap_get(&cluster->members, story->death.name))
		keep_emitted(m, strmap_get(&cluster->members, story->death.name));
	if (strmap_put(&cluster->members, story->death.name, m, &old) < 0) {
		member_free(m);
		return -ENOMEM;
	}
	member_free(old);
	return 0;
}

void incident_cluster_remove(struct incident_cluster *cluster, const char *name)
{
	member_free(strmap_remove(&cluster->members, name));
}

struct incident_death *incident_cluster_heads(const struct incident_cluster *cluster, size_t *ret_n)
{
	struct incident_death *heads = calloc(cluster->members.n + 1, sizeof(*heads));
	struct strmap_pos pos = { 0 };
	void *value;

	*ret_n = 0;
	while (heads && strmap_next(&cluster->members, &pos, NULL, &value)) {
		const struct incident_member *m = value;

		if (m->story->death.head)
			heads[(*ret_n)++] = m->story->death;
	}
	return heads;
}

/*
 * --- Statuses -----------------------------------------------------------------------------------
 */

/* All members, their places, and the plan that is being made. */
struct view {
	struct incident_cluster *cluster;
	struct incident_member **members;
	struct incident_death *deaths;
	struct incident_place *places;
	size_t n;
	int64_t now_ns, real_ns;
	struct incident_plan plan;
};

/*
 * Returns whether its first cause has since been removed because of its age. Then its status stays
 * as it is.
 */
static bool is_settled(const struct view *v, const struct incident_member *m)
{
	return *m->caused_by && !strmap_get(&v->cluster->members, m->caused_by);
}

static void wake_at(struct view *v, int64_t at_ns)
{
	v->plan.next_ns = v->plan.next_ns ? MIN(v->plan.next_ns, at_ns) : at_ns;
}

const char *incident_id(const char *first, char buf[static INCIDENT_ID_MAX])
{
	char hash[11];

	if (strlen(first) < INCIDENT_ID_MAX) {
		snprintf(buf, INCIDENT_ID_MAX, "%s", first);
		return buf;
	}
	sha256_hex(first, strlen(first), 10, hash);
	snprintf(buf, INCIDENT_ID_MAX, "%.52s-%s", first, hash);
	return buf;
}

/* Sets what the status should be. The texts are borrowed from the first cause. */
static void wish(const struct view *v, size_t i, struct incident_change *ret_change)
{
	const struct incident_place *place = &v->places[i];
	const struct incident_death *first = &v->deaths[place->first];
	const struct incident_member *leader = v->members[place->first];
	bool is_first = place->first == i;

	*ret_change = (struct incident_change){ .consequences = place->consequences,
						.class = first->class };
	if (is_first && !place->consequences)
		return;
	if (is_settled(v, leader))
		snprintf(ret_change->id, sizeof(ret_change->id), "%s", leader->incident);
	else
		incident_id(first->name, ret_change->id);
	if (is_first)
		return;
	ret_change->first = (char *)first->name;
	ret_change->pod = (char *)first->pod;
	ret_change->container = (char *)first->container;
	incident_text(first, &v->deaths[i], "pod", ret_change->text);
}

static bool is_written(const struct incident_member *m, const struct incident_change *wish)
{
	return strcmp(m->incident, wish->id) == 0 &&
	       strcmp(m->caused_by, wish->first ? wish->first : "") == 0 &&
	       m->marked == (int64_t)wish->consequences;
}

static int add_change(struct view *v, size_t i, const struct incident_change *wish)
{
	struct incident_change *change = &v->plan.changes[v->plan.n_changes];

	*change = *wish;
	change->name = strdup(v->deaths[i].name);
	change->uid = strdup(v->members[i]->uid);
	change->first = wish->first ? strdup(wish->first) : NULL;
	change->pod = wish->pod ? strdup(wish->pod) : NULL;
	change->container = wish->container ? strdup(wish->container) : NULL;
	v->plan.n_changes++;
	return change->name && change->uid &&
			       (!wish->first ||
				(change->first && change->pod && change->container)) ?
		       0 :
		       -ENOMEM;
}

static int plan_changes(struct view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		struct incident_change change;

		if (is_settled(v, v->members[i]))
			continue;
		wish(v, i, &change);
		if (is_written(v->members[i], &change))
			continue;
		if (v->now_ns < v->members[i]->refused_ns) {
			wake_at(v, v->members[i]->refused_ns);
			continue;
		}
		v->plan.more = v->plan.n_changes == INCIDENT_CHANGES_MAX;
		if (v->plan.more)
			return 0;
		if (add_change(v, i, &change) < 0)
			return -ENOMEM;
	}
	return 0;
}

/*
 * --- Events
 * ---------------------------------------------------------------------------------------
 */

/* Returns when its next Event is due (boottime); 0: never, unless something changes. */
static int64_t due_ns(const struct view *v, size_t i)
{
	const struct incident_member *m = v->members[i];
	const struct incident_place *place = &v->places[i];

	if (m->is_silent || place->first != i || is_settled(v, m))
		return 0;
	if (!m->is_emitted)
		return m->seen_ns +
		       (place->may_follow && !place->consequences ? TELL_LATER_NS : TELL_NS);
	if (place->consequences <= m->emitted)
		return 0;
	return m->grown_ns + (QUIET_NS << MIN(m->times - 1, QUIET_DOUBLINGS_MAX));
}

static void note_growth(struct view *v, size_t i)
{
	struct incident_member *m = v->members[i];

	if (m->consequences != v->places[i].consequences)
		m->grown_ns = v->now_ns;
	m->consequences = v->places[i].consequences;
	/* Whoever deleted a pod knows it, so no Event reports that. */
	if (v->deaths[i].class == FAILURE_POD_DELETED ||
	    (!m->is_emitted && v->real_ns - m->created_ns > NEWS_NS))
		m->is_silent = true;
}

static bool ends_a_job(const struct view *v, size_t first)
{
	for (size_t i = 0; i < v->n; i++)
		if (i != first && v->places[i].first == first &&
		    v->deaths[i].class == FAILURE_RAY_JOB_FAILED)
			return true;
	return false;
}

static int add_telling(struct view *v, size_t i)
{
	struct incident_telling *telling = &v->plan.tellings[v->plan.n_tellings];

	*telling = (struct incident_telling){ .name = strdup(v->deaths[i].name),
					      .consequences = v->places[i].consequences,
					      .ends_job = ends_a_job(v, i),
					      .again = v->members[i]->is_emitted };
	incident_id(v->deaths[i].name, telling->id);
	v->plan.n_tellings++;
	return telling->name ? 0 : -ENOMEM;
}

static int plan_tellings(struct view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		note_growth(v, i);
		int64_t due = due_ns(v, i);

		if (due == 0)
			continue;
		if (due <= v->now_ns && v->plan.n_tellings < INCIDENT_CHANGES_MAX) {
			if (add_telling(v, i) < 0)
				return -ENOMEM;
		} else {
			wake_at(v, due);
		}
	}
	return 0;
}

void incident_cluster_emitted(struct incident_cluster *cluster,
			      const struct incident_telling *telling, bool emitted)
{
	struct incident_member *m = strmap_get(&cluster->members, telling->name);

	if (!m)
		return;
	m->is_emitted = true;
	m->is_silent = m->is_silent || (!emitted && !telling->again);
	m->emitted = telling->consequences;
	m->times++;
}

void incident_cluster_refused(struct incident_cluster *cluster,
			      const struct incident_change *change, int64_t until_ns)
{
	struct incident_member *m = strmap_get(&cluster->members, change->name);

	if (m)
		m->refused_ns = until_ns;
}

/*
 * --- The plan
 * --------------------------------------------------------------------------------------------------
 */

static int by_end(const void *left, const void *right)
{
	const struct incident_death *a = &(*(struct incident_member *const *)left)->story->death;
	const struct incident_death *b = &(*(struct incident_member *const *)right)->story->death;
	int r = (a->ended_ns > b->ended_ns) - (a->ended_ns < b->ended_ns);

	return r ? r : strcmp(a->name, b->name);
}

/*
 * Collects them in the order of their ends, so that the first failure gets an Event if Events are
 * limited.
 */
static void collect(struct view *v)
{
	void *value;

	strmap_each(&v->cluster->members, NULL, &value)
		v->members[v->n++] = value;
	qsort(v->members, v->n, sizeof(*v->members), by_end);
	for (size_t i = 0; i < v->n; i++)
		v->deaths[i] = v->members[i]->story->death;
}

static int make(struct view *v)
{
	size_t n = v->cluster->members.n;

	v->plan.changes = calloc(MIN(n, INCIDENT_CHANGES_MAX) + 1, sizeof(*v->plan.changes));
	v->plan.tellings = calloc(MIN(n, INCIDENT_CHANGES_MAX) + 1, sizeof(*v->plan.tellings));
	if (!v->members || !v->deaths || !v->places || !v->plan.changes || !v->plan.tellings)
		return -ENOMEM;
	collect(v);
	if (incident_join(v->deaths, v->n, v->places) < 0 || plan_changes(v) < 0 ||
	    plan_tellings(v) < 0)
		return -ENOMEM;
	return 0;
}

int incident_plan_make(struct incident_cluster *cluster, int64_t now_ns, int64_t real_ns,
		       struct incident_plan *ret_plan)
{
	size_t n = cluster->members.n + 1;
	_cleanup_free_ struct incident_member **members =
		calloc(n, sizeof(struct incident_member *));
	_cleanup_free_ struct incident_death *deaths = calloc(n, sizeof(*deaths));
	_cleanup_free_ struct incident_place *places = calloc(n, sizeof(*places));
	struct view v = { .cluster = cluster,
			  .members = members,
			  .deaths = deaths,
			  .places = places,
			  .now_ns = now_ns,
			  .real_ns = real_ns };
	int r = make(&v);

	if (r < 0) {
		incident_plan_release(&v.plan);
		return r;
	}
	*ret_plan = v.plan;
	return 0;
}

void incident_plan_release(struct incident_plan *plan)
{
	for (size_t i = 0; i < plan->n_changes; i++) {
		free(plan->changes[i].name);
		free(plan->changes[i].uid);
		free(plan->changes[i].first);
		free(plan->changes[i].pod);
		free(plan->changes[i].container);
	}
	for (size_t i = 0; i < plan->n_tellings; i++)
		free(plan->tellings[i].name);
	free(plan->changes);
	free(plan->tellings);
	*plan = (struct incident_plan){ 0 };
}
