/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the ends of containers that this sidecar never met. */
#include "sidecar/node/unmet_ends.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "lib/json.h"
#include "lib/kernel_text.h"
#include "lib/macros.h"
#include "lib/strbuf.h"
#include "lib/units.h"
#include "sidecar/kernel/oom_kills.h"

#define FIRST_PROCESS 1 /* its PID in the container */

/* --- What came from the node ------------------------------------------------------------------ */

/*
 * Finds the container's ID in the path of its own cgroup: ".../cri-containerd-ID.scope" or
 * ".../ID". Returns NULL for a cgroup below, which a container that may make cgroups can name as it
 * likes.
 */
static const char *id_at_end(const char *cgroup, char ret_id[static NODE_SIGNALS_ID_LEN + 1])
{
	static const char scope[] = ".scope";
	const char *name = strrchr(cgroup, '/');
	size_t len = name ? strlen(++name) : 0;

	if (len > strlen(scope) && strcmp(name + len - strlen(scope), scope) == 0)
		len -= strlen(scope);
	if (len < NODE_SIGNALS_ID_LEN ||
	    (len > NODE_SIGNALS_ID_LEN && name[len - NODE_SIGNALS_ID_LEN - 1] != '-'))
		return NULL;
	memcpy(ret_id, name + len - NODE_SIGNALS_ID_LEN, NODE_SIGNALS_ID_LEN);
	ret_id[NODE_SIGNALS_ID_LEN] = '\0';
	return strspn(ret_id, "0123456789abcdef") == NODE_SIGNALS_ID_LEN ? ret_id : NULL;
}

static bool is_met(const struct unmet_ends *u, const char *container_id)
{
	for (size_t i = 0; i < MIN(u->n_met, (size_t)UNMET_MET_MAX); i++)
		if (strcmp(u->met[i], container_id) == 0)
			return true;
	return false;
}

static const struct unmet_marks *marks_of(const struct unmet_ends *u, const char *container_id)
{
	for (size_t i = 0; i < MIN(u->n_marks, (size_t)UNMET_ENDS_MAX); i++)
		if (strcmp(u->marks[i].container_id, container_id) == 0)
			return &u->marks[i];
	return NULL;
}

void unmet_ends_note(struct unmet_ends *u, const char *container_id, const struct node_signal *s)
{
	struct unmet_marks *m = (struct unmet_marks *)marks_of(u, container_id);
	bool first = s->target == FIRST_PROCESS;

	if (is_met(u, container_id) || !(s->oom || (first && s->signal == SIGKILL)))
		return;
	if (!m) {
		m = &u->marks[u->n_marks++ % UNMET_ENDS_MAX];
		*m = (struct unmet_marks){ 0 };
		snprintf(m->container_id, sizeof(m->container_id), "%s", container_id);
	}
	if (!s->oom)
		m->killed = true;
	else if (!first)
		m->others++;
	else if (!m->first_ns)
		m->first_ns = s->at_ns;
}

void unmet_ends_meet(struct unmet_ends *u, const char *cgroup)
{
	char id[NODE_SIGNALS_ID_LEN + 1];

	if (!id_at_end(cgroup, id) || is_met(u, id))
		return;
	memcpy(u->met[u->n_met++ % UNMET_MET_MAX], id, sizeof(id));
}

/* --- What follows from it --------------------------------------------------------------------- */

struct judging {
	const struct unmet_ends *unmet;
	const struct kmsg_log *log;
	const char *pod_uid;
	const struct unmet_clocks *now;
	struct unmet_end *ends;
	size_t n;
};

/* Returns the entry of that container; a new one has no class yet. NULL: there are too many. */
static struct unmet_end *unmet_ends_end_of(struct judging *j, const char *container_id)
{
	const struct unmet_marks *m = marks_of(j->unmet, container_id);
	struct unmet_end *e = j->ends;

	for (; e < j->ends + j->n; e++)
		if (strcmp(e->container_id, container_id) == 0)
			return e;
	if (j->n == UNMET_ENDS_MAX)
		return NULL;
	*e = (struct unmet_end){ .class = FAILURE_KERNEL_OOM_CONTAINER,
				 .confidence = CONFIDENCE_LIKELY,
				 .limit = -1 };
	snprintf(e->container_id, sizeof(e->container_id), "%s", container_id);
	if (m) {
		e->first = m->first_ns != 0;
		e->others = m->others;
		e->killed = m->killed;
		e->killed_ns =
			j->now->realtime_ns - MAX(j->now->boottime_ns - m->first_ns, (int64_t)0);
	}
	j->n++;
	return e;
}

/*
 * Sets the class by the limit that was met. Returns false if the report does not prove the limit:
 * when there are many reports, the kernel leaves most lines out, and then the line about the group
 * may follow the line about the limit of another report.
 */
static bool set_class(const struct judging *j, const struct oom_kill *k, struct unmet_end *e)
{
	const struct oom_self self = { .cgroup = k->group_memcg, .pod_uid = j->pod_uid };

	if (!path_is_below(k->task_memcg, k->group_memcg))
		return false;
	switch (oom_kill_where(k, &self)) {
	case OOM_WHERE_CONTAINER:
		e->class = FAILURE_KERNEL_OOM_CONTAINER;
		return strcmp(k->oom_memcg, k->group_memcg) == 0;
	case OOM_WHERE_POD:
		e->class = FAILURE_KERNEL_OOM_POD;
		return path_is_below(k->group_memcg, k->oom_memcg);
	case OOM_WHERE_NODE:
	case OOM_WHERE_ABOVE: /* the cgroup of all pods */
		e->class = FAILURE_KERNEL_OOM_NODE;
		return j->pod_uid && (k->scope == KMSG_SCOPE_GLOBAL ||
				      path_is_below(k->group_memcg, k->oom_memcg));
	case OOM_WHERE_UNKNOWN:
		break;
	}
	return false;
}

/* Copies the line about the group, and the one that names the first victim. */
static void copy_lines(const struct judging *j, const struct oom_kill *k, struct unmet_end *e)
{
	struct kmsg_line line;

	text_escape(e->lines[0], UNMET_LINE_MAX, kmsg_text(j->log, k->killed_at),
		    j->log->entries[k->killed_at].len);
	for (size_t i = k->first; i <= k->last && i < j->log->n; i++)
		if (kmsg_parse_line(kmsg_text(j->log, i), j->log->entries[i].len, &line) ==
		    KMSG_OOM_GROUP)
			text_escape(e->lines[1], UNMET_LINE_MAX, kmsg_text(j->log, i),
				    j->log->entries[i].len);
}

/*
 * Returns whether the cgroup is right below that of the pod. A container makes cgroups only below
 * its own, but may give them the ID of another container.
 */
static bool is_containers_own(const char *cgroup, const char *pod_uid)
{
	const char *rest = pod_uid ? kernel_path_in_pod(cgroup, strlen(cgroup), pod_uid) : NULL;

	return rest && rest[0] == '/' && !strchr(rest + 1, '/');
}

static void on_kill(const struct oom_kill *k, void *arg)
{
	struct judging *j = arg;
	char id[NODE_SIGNALS_ID_LEN + 1];
	struct unmet_end *e;

	if (!k->group || !is_containers_own(k->group_memcg, j->pod_uid) ||
	    !id_at_end(k->group_memcg, id) || is_met(j->unmet, id) ||
	    !(e = unmet_ends_end_of(j, id)))
		return;
	if (!e->first)
		e->killed_ns =
			j->now->realtime_ns -
			(k->time_us < 0 ? 0 : MAX(j->now->log_us - k->time_us, (int64_t)0) * 1000);
	e->limit = k->limit;
	e->confidence = set_class(j, k, e) && !e->killed ? CONFIDENCE_CERTAIN : CONFIDENCE_LIKELY;
	if (e->confidence != CONFIDENCE_CERTAIN)
		e->class = FAILURE_KERNEL_OOM_CONTAINER;
	copy_lines(j, k, e);
}

size_t unmet_ends_find(const struct unmet_ends *u, const struct kmsg_log *log, const char *pod_uid,
		       const struct unmet_clocks *now,
		       struct unmet_end ret_ends[static UNMET_ENDS_MAX])
{
	struct judging j = {
		.unmet = u, .log = log, .pod_uid = pod_uid, .now = now, .ends = ret_ends
	};

	oom_kills_find(log, on_kill, &j);
	for (size_t i = 0; i < MIN(u->n_marks, (size_t)UNMET_ENDS_MAX); i++) {
		const struct unmet_marks *m = &u->marks[i];

		if (m->first_ns && !m->killed && !is_met(u, m->container_id))
			unmet_ends_end_of(&j, m->container_id);
	}
	return j.n;
}

/* --- JSON ------------------------------------------------------------------------------------- */

static cJSON *cause_of(const struct unmet_end *e)
{
	char of[SIZE_TEXT_MAX + 4] = "", text[160];

	if (e->limit > 0)
		snprintf(of, sizeof(of), " of %s", SIZE_TEXT(e->limit));
	if (e->confidence != CONFIDENCE_CERTAIN)
		snprintf(text, sizeof(text), "most likely it reached its memory limit");
	else if (e->class == FAILURE_KERNEL_OOM_NODE)
		snprintf(text, sizeof(text), "the node had no memory left");
	else if (e->class == FAILURE_KERNEL_OOM_POD)
		snprintf(text, sizeof(text), "its pod reached the pod's memory limit%s", of);
	else
		snprintf(text, sizeof(text), "it reached its memory limit%s", of);
	return cJSON_CreateString(text);
}

static void unmet_ends_add_evidence(const struct unmet_end *e, cJSON *json)
{
	cJSON *list = json_array_at(json, "evidence");
	char others[32] = "", text[160];

	for (size_t i = 0; i < ARRAY_SIZE(e->lines); i++)
		if (e->lines[i][0])
			json_append_pair(list, "source", "kernel log", "text", e->lines[i]);
	if (e->others)
		snprintf(others, sizeof(others), " and %u other%s", e->others,
			 e->others == 1 ? "" : "s");
	snprintf(text, sizeof(text), "the OOM killer took the container's first process%s", others);
	if (e->first)
		json_append_pair(list, "source", "node agent", "text", text);
	if (e->killed)
		json_append_pair(list, "source", "node agent", "text",
				 "a process had sent the container's first process a SIGKILL");
}

static void unmet_ends_add_missing(const struct unmet_end *e, cJSON *json)
{
	cJSON *list = json_array_at(json, "missing");

	json_append_pair(list, "what",
			 "memory and processes: no sidecar watched the container when it ended",
			 "needs", "a sidecar that listens before the container ends");
	if (e->confidence != CONFIDENCE_CERTAIN)
		json_append_pair(
			list, "what", "which memory ran out", "needs",
			"the node agent with nodeAgent.kernelLog, and the kernel's whole report");
}

cJSON *unmet_end_to_json(const struct unmet_end *e)
{
	cJSON *json = cJSON_CreateObject();

	json_set_str(json, "containerID", e->container_id);
	json_set_str(json, "endedAt", TIME_TEXT(e->killed_ns));
	json_set_str(json, "class", failure_class_name(e->class));
	json_set_str(json, "confidence", confidence_name(e->confidence));
	json_set(json, "cause", cause_of(e));
	if (e->limit > 0 && e->confidence == CONFIDENCE_CERTAIN &&
	    e->class == FAILURE_KERNEL_OOM_CONTAINER)
		json_set_int(json_object_at(json, "memory"), "limitBytes", e->limit);
	unmet_ends_add_evidence(e, json);
	unmet_ends_add_missing(e, json);
	return json;
}
