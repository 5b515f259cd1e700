/* SPDX-License-Identifier: Apache-2.0 */
/* Carries out a plan. */
#include "operator/cluster_controller/execution.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "lib/units.h"
#include "lib/utf8.h"
#include "operator/cache/pod_fields.h"
#include "operator/cluster_controller/op_result.h"
#include "operator/injection/inject_undo.h"
#include "operator/injection/report_key.h"
#include "operator/kube/event.h"
#include "operator/raycluster/news.h"

/* One operation of a plan, and what is needed to handle its answer. */
struct step {
	struct execution *execution;
	const struct plan_op *op;
	bool without_sidecar; /* the API server refused the pod with it */
};

int execution_prepare(struct execution *x, struct err *err)
{
	x->steps = calloc(x->plan.n_ops + 1, sizeof(*x->steps));
	return x->steps ? 0 : err_set(err, ENOMEM, "planning");
}

void execution_release(struct execution *x)
{
	plan_release(&x->plan);
	cJSON_Delete(x->news);
	strmap_release(&x->refused, NULL);
	free(x->steps);
}

/* Notes the refusal, which becomes the condition ReplicaFailure. */
static void execution_note_refusal(struct execution *x, const struct plan_op *op,
				   const struct client_response *response)
{
	struct known_cluster *known = known_state_of_cluster(x->executor->known, x->key);
	const char *node = op_label(op, "ray.io/node-type");
	bool head = node && strcmp(node, "head") == 0;

	if (!known || x->trouble.code)
		return;
	if (op->kind == PLAN_CREATE)
		known->failure_reason = head ? "FailedCreateHeadPod" : "FailedCreateWorkerPod";
	else
		known->failure_reason = head ? "FailedDeleteHeadPod" : "FailedDeleteWorkerPod";
	snprintf(known->failure_message, sizeof(known->failure_message), "%s",
		 err_text(&response->err));
	utf8_mend(known->failure_message); /* the server's text is cut */
}

static void learn_gone(struct executor *e, const cJSON *body)
{
	e->learns_gone = true;
	watches_learn_gone(e->watches, body);
	e->learns_gone = false;
}

/* Tells people, every ten minutes at most, that a token's Secret, which may not be read, stays. */
static void execution_tell_going(struct execution *x, const char *name)
{
	struct executor *e = x->executor;
	const cJSON *cluster = store_get(watches_store(e->watches, WATCH_CLUSTERS), x->key);
	char note[512], once[600];

	snprintf(once, sizeof(once), "%s FailedToCreateSecret", x->key);
	snprintf(note, sizeof(note), "Secret %s/%s is being deleted and is kept by its finalizers",
		 x->namespace, name);
	if (cluster && event_recorder_is_time(e->recorder, once, e->applied_ns))
		event_recorder_emit(e->recorder,
				    event_warning(cluster, "FailedToCreateSecret", "Create", note,
						  now_realtime_ns()),
				    EVENT_COUNTED);
	watches_drop_views(e->watches);
}

/*
 * Notes that the object is there. answer is that to a creation which found the name taken, or NULL;
 * it says if the other object is being deleted. A plan without doubt, which is one for a cluster
 * that is being deleted, has its own time to look again.
 */
static void note_applied(struct execution *x, const struct plan_op *op, const cJSON *answer)
{
	struct known_cluster *cluster = known_state_of_cluster(x->executor->known, x->key);
	bool taken = answer, going = strstr(json_str_or(answer, "message", ""), "being deleted");
	int64_t doubt_ns = going ? MIN(x->plan.doubt_ns, PLAN_GOING_NS) : x->plan.doubt_ns;
	int64_t ns = MIN(taken ? doubt_ns : INT64_MAX, x->executor->applied_ns);
	int64_t now_ns = now_boottime_ns(), until_ns = now_ns + ns;

	if (going && doubt_ns == PLAN_GOING_NS && op_is_kind(op, "Secret"))
		execution_tell_going(x, json_str(op->body, "metadata.name"));
	if (taken && ns)
		x->plan.requeue_ns = MIN(x->plan.requeue_ns ?: ns, ns);
	/* Several names may be taken: the cluster is looked at again when the first of them is due. */
	if (cluster && taken)
		cluster->taken_until_ns = cluster->taken_until_ns > now_ns ?
						  MIN(cluster->taken_until_ns, until_ns) :
						  until_ns;
	if (cluster)
		known_state_note_applied(cluster, op->body, until_ns);
}

static void execution_take_answer(struct execution *x, const struct plan_op *op,
				  struct client_response *response)
{
	struct executor *e = x->executor;
	struct known_namespace *known;

	if ((response->status / 100 == 2 || op_result_is_taken(op, response)) &&
	    !op_is_kind(op, "Pod") && (op->kind == PLAN_APPLY || op->kind == PLAN_CREATE))
		note_applied(x, op, response->status == 409 ? response->object : NULL);
	if (response->status / 100 == 2 && op->kind == PLAN_CREATE &&
	    (known = known_state_of_namespace(e->known, x->namespace)))
		known->ends = false;
	if (response->status / 100 == 2) {
		if (op->kind == PLAN_DELETE && !json_str(response->object, "metadata.uid"))
			learn_gone(e, op->body); /* a Status: the object is already gone */
		/*
		 * The watch delivers a merged pod soon, with fewer fields. What is being deleted
		 * will be gone with its last finalizer.
		 */
		else if (op->kind != PLAN_MERGE ||
			 (!op_is_kind(op, "Pod") &&
			  !json_str(response->object, "metadata.deletionTimestamp")))
			watches_learn(e->watches, TAKE_PTR(response->object));
	} else if (response->status == 404 && op->kind == PLAN_DELETE) {
		learn_gone(e, op->body);
	}
}

static void log_op(const struct execution *x, const struct plan_op *op,
		   const struct client_response *response)
{
	const char *name = json_str(op->body, "metadata.name");
	enum log_level level = op->kind == PLAN_STATUS ? LOG_LEVEL_DEBUG : LOG_LEVEL_INFO;

	log_line(level, "cluster %s: %s %s %s%s", x->key, op_name(op), json_str(op->body, "kind"),
		 name ? name : "", response->status == 409 ? " (exists already)" : "");
}

static void note_trouble(struct execution *x, int64_t retry_after_ns, const struct err *err)
{
	if (!x->trouble.code)
		x->trouble = *err;
	x->retry_after_ns = MAX(x->retry_after_ns, retry_after_ns);
}

/*
	 * Emits the Event, once. The operator cannot repair this, and existing objects are removed
	 * without its help.
	 */
static void note_end_of_namespace(struct execution *x)
{
	struct known_namespace *known = known_state_of_namespace(x->executor->known, x->namespace);

	if (known && !known->ends)
		log_info(
			"cluster %s: its namespace is being deleted, so nothing can be created in it",
			x->key);
	if (known)
		known->ends = true;
	x->namespace_ends = true;
}

/*
	 * If one group is refused (its quota is used up, its spec is wrong), the other groups go
	 * on.
	 */
static void execution_take_trouble(struct execution *x, const struct plan_op *op,
				   const struct client_response *response)
{
	const char *group = op_label(op, "ray.io/group");
	bool refused = op_result_is_refusal(op, response);

	if (client_namespace_ends(response))
		note_end_of_namespace(x);
	else if (refused)
		execution_note_refusal(x, op, response);
	if (op_is_kind(op, "Job") && response->status / 100 == 4 && response->status != 409 &&
	    response->status != 429)
		known_state_note_no_cleanup(x->executor->known, x->key, &response->err);
	if (!refused || op->kind != PLAN_CREATE || !group ||
	    strmap_put(&x->refused, group, x, NULL) < 0)
		x->stop = true;
	note_trouble(x, response->retry_after_ns, &response->err);
}

static void on_op_done(void *arg, struct client_response *response);

/*
 * Sends a pod with a key, which the plan does not have, because it has to be the same each time; or
 * without the sidecar, if the API server refused it.
 */
static int execution_send_pod(struct step *step, const char *refusal, struct err *err)
{
	_cleanup_json_ cJSON *pod = plan_op_pod(step->op);
	char key[REPORT_KEY_LEN + 1];

	if (!pod || (refusal && !inject_undo(pod, refusal)))
		return err_set(err, pod ? EINVAL : ENOMEM, "pod");
	report_key_new(key);
	report_key_annotate(pod, key);
	return client_create(step->execution->executor->client, pod, pod_fields, on_op_done, step,
			     err);
}

/*
 * Tries the pod without the sidecar. The sidecar may exceed a quota or limit range of the
 * namespace, or break a policy, and Ray is more important.
 */
static bool try_without_sidecar(struct step *step, const struct client_response *response)
{
	const struct plan_op *op = step->op;
	const char *message = json_str(response->object, "message"),
		   *why = message ? message : err_text(&response->err);
	struct err err = { 0 };

	if (step->without_sidecar || op->kind != PLAN_CREATE ||
	    !op_result_is_refusal(op, response) || response->status >= 500 ||
	    client_namespace_ends(response))
		return false;
	step->without_sidecar = true;
	if (execution_send_pod(step, why, &err) < 0)
		return false;
	log_warning("cluster %s: %s is refused; trying again without the sidecar: %s",
		    step->execution->key, json_str(op->body, "metadata.name"), why);
	return true;
}

/*
 * Notes whether the pod may exist now: its creation got no answer, or the name was taken, perhaps
 * by a creation whose answer was lost (libcurl repeats a request by itself). The next plan first
 * asks for such a pod by its name.
 */
static void note_expectation(struct execution *x, const struct plan_op *op,
			     const struct client_response *response)
{
	struct known_cluster *cluster = known_state_of_cluster(x->executor->known, x->key);
	const char *name = json_str(op->body, "metadata.name"),
		   *group = op_label(op, "ray.io/group");

	if (!cluster || !name || op->kind != PLAN_CREATE || !op_is_kind(op, "Pod"))
		return;
	if (response->maybe_done || response->status >= 500 || op_result_is_taken(op, response))
		expectations_ask(&cluster->expected, name, group);
	else if (response->status / 100 == 2)
		expectations_settle(&cluster->expected, name);
}

static void on_op_done(void *arg, struct client_response *response)
{
	struct step *step = arg;
	struct execution *x = step->execution;
	struct executor *e = x->executor;
	const struct plan_op *op = step->op;
	enum verdict verdict = op_result_verdict(op, response);

	if (try_without_sidecar(step, response))
		return;
	metrics_add(e->metrics, METRIC_OPERATIONS, 1, "operation=\"%s\",kind=\"%s\",result=\"%s\"",
		    op_name(op), json_str(op->body, "kind"), verdict == WENT_WELL ? "ok" : "error");
	execution_take_answer(x, op, response);
	if (verdict == WENT_WELL) {
		log_op(x, op, response);
		news_add(x->news, op, response->status);
	} else {
		execution_take_trouble(x, op, response);
	}
	note_expectation(x, op, response);
	assert(x->in_flight > 0 && e->n_writes >= x->in_flight);
	x->in_flight--;
	e->n_writes--;
	x->answered(x->arg);
}

static int start_op(struct step *step, struct err *err)
{
	struct client *client = step->execution->executor->client;
	const struct plan_op *op = step->op;

	switch (op->kind) {
	case PLAN_APPLY:
		return client_apply(client, op->body, NULL, on_op_done, step, err);
	case PLAN_STATUS:
		return client_apply(client, op->body, "status", on_op_done, step, err);
	case PLAN_MERGE:
		return client_merge(client, op->body, on_op_done, step, err);
	case PLAN_CREATE:
		return op_is_kind(op, "Pod") ?
			       execution_send_pod(step, NULL, err) :
			       client_create(client, op->body, NULL, on_op_done, step, err);
	case PLAN_EVENT:
	case PLAN_BELIEVE:
		break; /* done without a request */
	case PLAN_DELETE:
		return client_delete(client, op->body,
				     (int)json_int(op->body, "gracePeriodSeconds", -1), on_op_done,
				     step, err);
	}
	return err_set(err, EINVAL, "operation %d", (int)op->kind);
}

static void execution_emit(struct execution *x, const struct plan_op *op)
{
	const char *reason = json_str(op->body, "reason"), *note = json_str(op->body, "note");

	log_info("cluster %s: event %s: %s", x->key, reason ? reason : "", note ? note : "");
	event_recorder_emit(x->executor->recorder, cJSON_Duplicate(op->body, true), EVENT_COUNTED);
}

/* Returns whether the operation needed no request and is done. */
static bool done_at_once(struct execution *x, const struct plan_op *op)
{
	if (op->kind == PLAN_BELIEVE)
		note_applied(x, op, NULL);
	else if (op->kind == PLAN_EVENT)
		execution_emit(x, op);
	else
		return false;
	return true;
}

static void skip_refused(struct execution *x)
{
	for (; x->at < x->plan.n_ops; x->at++) {
		const struct plan_op *op = &x->plan.ops[x->at];
		const char *group = op->kind == PLAN_CREATE ? op_label(op, "ray.io/group") : NULL;

		if (!group || !strmap_get(&x->refused, group))
			return;
	}
}

bool execution_may_start(struct execution *x)
{
	const struct executor *e = x->executor;

	skip_refused(x);
	const struct plan_op *next = &x->plan.ops[x->at];
	if (x->stop || x->at >= x->plan.n_ops || !e->may_write(e->arg, x->namespace))
		return false;
	if (x->in_flight == 0)
		return true;
	return !x->cautious && next[-1].kind == PLAN_CREATE &&
	       (next->kind == PLAN_CREATE || next->kind == PLAN_STATUS);
}

void execution_start(struct execution *x)
{
	struct step *step = &x->steps[x->at];
	struct err err = { 0 };

	assert(!x->stop && x->at < x->plan.n_ops);
	*step = (struct step){ .execution = x, .op = &x->plan.ops[x->at++] };
	if (done_at_once(x, step->op))
		return;
	if (start_op(step, &err) < 0) {
		err_wrap(&err, "%s", op_name(step->op));
		x->stop = true;
		note_trouble(x, 0, &err);
		return;
	}
	x->in_flight++;
	x->executor->n_writes++;
}
