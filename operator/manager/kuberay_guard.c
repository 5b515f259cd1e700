/* SPDX-License-Identifier: Apache-2.0 */
/* Reads KubeRay's Leases, and decides from them. */
#include "operator/manager/kuberay_guard.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/log.h"
#include "lib/loop/timer.h"
#include "lib/units.h"
#include "operator/kube/event.h"
#include "operator/manager/kuberay_proof.h"
#include "operator/manager/own_lease.h"

#define DEADLINE_NS (5 * NS_PER_SEC)
/*
 * For one object it suffices: etcd takes 1.5 MiB, of which JSON makes six times as many bytes at
 * most.
 */
#define ANSWER_MAX CLIENT_OBJECT_MAX
#define PATH_MAX_LEN 1024
/*
 * After a 403 for all namespaces, only the two scopes that we are certainly allowed to read are
 * read for this long.
 */
#define WIDE_AGAIN_NS (60 * NS_PER_SEC)
#define TEXT_MAX 512

/*
 * The scopes to read: each namespace that was named as KubeRay's. If none was: all namespaces or,
 * if that is refused, the watched namespace and our own.
 */
enum scope { SCOPE_NAMED, SCOPE_ALL, SCOPE_WATCHED, SCOPE_OWN, SCOPES };

struct kuberay_guard {
	struct kuberay_guard_options o;
	struct event *timer;
	struct client_call *call;
	enum scope scope; /* the scope that `call` reads */
	const char *named; /* o.kuberay_namespaces from the one on that `call` reads */
	bool is_read[SCOPES];
	bool one_by_one; /* all Leases together are longer than ANSWER_MAX */
	struct kuberay_lease leases[KUBERAY_LEASES_MAX + 1]; /* those read so far */
	size_t n;
	int64_t narrow_until_ns;
	bool logged_narrow, logged_blind, in_trouble;
	struct kuberay_sightings sightings;
	struct kuberay_proofs proofs;
	struct strmap namespaces; /* those with RayClusters, while questions are asked */
	struct kuberay_question question; /* the one that `call` asks */
	enum kuberay_verdict told;
};

static void look_at(struct kuberay_guard *g, enum scope scope, const char *token);
static void ask_next(struct kuberay_guard *g);

/* --- The verdict ----------------------------------------------------------------------------- */

struct believer {
	const struct kuberay_guard *guard;
	const char *namespace;
};

static bool lease_is_believed(const void *arg, const struct kuberay_sighting *lease)
{
	const struct believer *b = arg;

	return b->guard->o.kuberay_namespaces ||
	       kuberay_proofs_serves(&b->guard->proofs, lease->namespace, b->namespace);
}

/* Returns the Lease for which the namespace (NULL: each) counts as KubeRay's. */
static const struct kuberay_sighting *witness_lease(const struct kuberay_guard *g,
						    const char *namespace)
{
	return kuberay_witness(&g->sightings, g->sightings.seen_ns, lease_is_believed,
			       &(struct believer){ g, namespace });
}

static enum kuberay_verdict verdict_for(const struct kuberay_guard *g, const char *namespace)
{
	const struct kuberay_sighting *lease = witness_lease(g, namespace);

	if (g->sightings.verdict == KUBERAY_UNKNOWN || g->sightings.too_many)
		return g->sightings.verdict;
	return !lease ? KUBERAY_ABSENT : lease->runs ? KUBERAY_RUNS : KUBERAY_SUSPECTED;
}

bool kuberay_guard_allows(const struct kuberay_guard *g, const char *namespace)
{
	return verdict_for(g, namespace ? namespace : g->o.namespace) == KUBERAY_ABSENT;
}

/* Makes "KubeRay runs in namespace ray (its Lease ... is being renewed by ...)". */
static void describe(const struct kuberay_guard *g, char buf[static TEXT_MAX])
{
	const struct kuberay_sighting *lease = witness_lease(g, g->o.namespace);
	enum kuberay_verdict verdict = verdict_for(g, g->o.namespace);
	bool runs = verdict == KUBERAY_RUNS;

	if (verdict == KUBERAY_UNKNOWN)
		snprintf(buf, TEXT_MAX, "the Lease " KUBERAY_LEASE " of KubeRay was not read yet");
	else if (lease && runs)
		snprintf(buf, TEXT_MAX,
			 "KubeRay runs in namespace %s: %s renews its Lease " KUBERAY_LEASE,
			 lease->namespace, lease->holder);
	else if (lease)
		snprintf(buf, TEXT_MAX,
			 "namespace %s has KubeRay's Lease " KUBERAY_LEASE
			 ", held by %s, and it is not known yet "
			 "whether it is renewed",
			 lease->namespace, lease->holder);
	else if (runs)
		snprintf(buf, TEXT_MAX,
			 "KubeRay seems to run: there are more than %d Leases " KUBERAY_LEASE,
			 KUBERAY_LEASES_MAX);
	else
		snprintf(buf, TEXT_MAX,
			 "no Lease " KUBERAY_LEASE
			 " of KubeRay is being renewed, so KubeRay does not run");
}

/* Says why a Lease does not stop all that we manage; "" if it does, or it is not known yet. */
static void describe_doubt(const struct kuberay_guard *g, const struct kuberay_sighting *lease,
			   char buf[static TEXT_MAX])
{
	static const char *const doubts[] = {
		[KUBERAY_STRANGER] = "which is no pod there: it is not taken for KubeRay",
		[KUBERAY_NAMESPACED] =
			"whose service account may not write RayClusters everywhere: only "
			"the namespaces where it may count as KubeRay's",
		[KUBERAY_EVERYWHERE] = NULL,
		[KUBERAY_UNASKABLE] =
			"and the operator may not ask who that is, so it is taken for "
			"KubeRay (rbac.findKubeRay)",
	};
	const char *doubt = doubts[kuberay_proofs_standing(&g->proofs, lease->namespace)];

	*buf = '\0';
	if (doubt)
		snprintf(buf, TEXT_MAX, "namespace %s has a Lease " KUBERAY_LEASE " of %s, %s",
			 lease->namespace, lease->holder, doubt);
}

void kuberay_guard_explain(const struct kuberay_guard *g, struct strbuf *out)
{
	char text[TEXT_MAX];

	describe(g, text);
	strbuf_addf(out, "managing RayClusters: %s, %s\n",
		    kuberay_guard_allows(g, NULL) ? "yes" : "no", text);
	for (size_t i = 0; i < g->sightings.n && !g->o.kuberay_namespaces; i++) {
		describe_doubt(g, &g->sightings.leases[i], text);
		if (*text)
			strbuf_addf(out, "%s\n", text);
	}
}

static void tell_event(const struct kuberay_guard *g, const char *type, const char *reason,
		       const char *note)
{
	_cleanup_json_ cJSON *lease = own_lease(g->o.own_namespace, g->o.namespace);

	event_recorder_emit(g->o.recorder,
			    event_of_object(lease, type, reason, "Manage", note, now_realtime_ns()),
			    EVENT_COUNTED);
}

static void tell_doubts(struct kuberay_guard *g)
{
	char text[TEXT_MAX], note[2 * TEXT_MAX];

	for (size_t i = 0; i < g->sightings.n; i++) {
		if (!kuberay_proofs_is_news(&g->proofs, g->sightings.leases[i].namespace))
			continue;
		describe_doubt(g, &g->sightings.leases[i], text);
		if (!*text)
			continue;
		snprintf(
			note, sizeof(note),
			"%s. If another namespace is KubeRay's, name it: --kuberay-namespaces (kubeRayNamespaces)",
			text);
		log_warning_limited("%s", note);
		tell_event(g, "Warning", "KubeRayUnproven", note);
	}
}

/* Reports each change of the verdict once. */
static void verdict_report(struct kuberay_guard *g)
{
	char why[TEXT_MAX], note[2 * TEXT_MAX];
	enum kuberay_verdict before = g->told;

	g->told = verdict_for(g, g->o.namespace);
	if (g->told == before)
		return;
	describe(g, why);
	switch (g->told) {
	case KUBERAY_RUNS:
		snprintf(
			note, sizeof(note),
			"%s. While KubeRay runs, Afterglow makes no pods of RayClusters and changes none; it goes on "
			"recording failures. Let one of the two manage them: remove KubeRay, or start Afterglow without "
			"--manage-clusters (manageRayClusters=false)",
			why);
		log_warning("%s", note);
		tell_event(g, "Warning", "KubeRayRuns", note);
		break;
	case KUBERAY_SUSPECTED:
		log_info("%s: RayClusters are not managed until this is known", why);
		break;
	case KUBERAY_ABSENT:
		log_info("%s: RayClusters are managed from now on", why);
		if (before == KUBERAY_RUNS)
			tell_event(
				g, "Normal", "ManagesRayClusters",
				"KubeRay no longer renews a Lease: Afterglow manages RayClusters");
		break;
	case KUBERAY_UNKNOWN:
		break;
	}
}

/*
 * --- Looks
 * -------------------------------------------------------------------------------------------------
 */

static const char *const lease_fields[] = { "items.metadata.name",
					    "items.metadata.namespace",
					    "items.spec.holderIdentity",
					    "items.spec.renewTime",
					    "items.spec.leaseDurationSeconds",
					    "metadata.continue",
					    NULL };

static void end_look(struct kuberay_guard *g, int64_t next_ns)
{
	g->n = 0;
	memset(g->is_read, 0, sizeof(g->is_read));
	strmap_release(&g->namespaces, NULL);
	timer_after(g->timer, next_ns - now_boottime_ns());
}

static void fail_look(struct kuberay_guard *g, const struct err *err)
{
	if (!g->in_trouble)
		log_warning("KubeRay's Lease " KUBERAY_LEASE
			    " cannot be read: %s; until it can, RayClusters %s managed",
			    err_text(err), kuberay_guard_allows(g, NULL) ? "stay" : "are not");
	g->in_trouble = true;
	end_look(g, now_boottime_ns() + KUBERAY_LOOK_NS);
}

static void text_copy(const cJSON *object, const char *path, char *buf, size_t size)
{
	snprintf(buf, size, "%s", json_str_or(object, path, ""));
}

/* A page may hold megabytes, so of each Lease only what counts is kept. */
static void page_keep(struct kuberay_guard *g, const cJSON *page)
{
	json_each(item, json_get(page, "items")) {
		const char *name = json_str(item, "metadata.name");
		struct kuberay_lease *lease = &g->leases[g->n];

		if (g->n == ARRAY_SIZE(g->leases) || !name || strcmp(name, KUBERAY_LEASE) != 0)
			continue;
		text_copy(item, "metadata.namespace", lease->namespace, sizeof(lease->namespace));
		text_copy(item, "spec.holderIdentity", lease->holder, sizeof(lease->holder));
		text_copy(item, "spec.renewTime", lease->renewed, sizeof(lease->renewed));
		lease->duration_s = json_int(item, "spec.leaseDurationSeconds", 0);
		g->n++;
	}
}

/* All is read: looks for the proofs, then ends the look. */
static void leases_see(struct kuberay_guard *g)
{
	if (g->in_trouble)
		log_info("KubeRay's Lease " KUBERAY_LEASE " can be read again");
	g->in_trouble = false;
	kuberay_saw(&g->sightings, g->leases, g->n, now_boottime_ns());
	ask_next(g);
}

static void look_conclude(struct kuberay_guard *g)
{
	end_look(g, g->sightings.next_ns);
	tell_doubts(g);
	verdict_report(g);
	g->o.on_change(g->o.arg);
}

/*
 * Handles a refusal. After one for SCOPE_ALL the two others are read. After one for these the other
 * is read; if both are refused there is no sign of KubeRay, nor in a named namespace.
 */
static void take_refusal(struct kuberay_guard *g, const struct err *err)
{
	if (g->scope == SCOPE_ALL) {
		g->narrow_until_ns = now_boottime_ns() + WIDE_AGAIN_NS;
		if (!g->logged_narrow)
			log_warning(
				"only the operator's own namespace%s is searched for KubeRay's Lease: %s",
				g->o.namespace ? " and the watched one" : "", err_text(err));
		g->logged_narrow = true;
	} else if (g->scope == SCOPE_NAMED ||
		   (g->scope == SCOPE_OWN && !g->is_read[SCOPE_WATCHED])) {
		if (!g->logged_blind)
			log_warning(
				"it is not known whether KubeRay runs; RayClusters are managed as if it did not: %s",
				err_text(err));
		g->logged_blind = true;
	}
}

/*
 * Everybody who may write a Lease may write one of megabytes, so what is too long for one answer is
 * read one by one. Returns false if nothing more is to be read of this scope.
 */
static bool go_on_reading(struct kuberay_guard *g, const struct client_response *response)
{
	const char *token = json_str(response->object, "metadata.continue");

	if (response->err.code == EFBIG && !g->one_by_one) {
		g->one_by_one = true;
		look_at(g, g->scope, NULL);
		return true;
	}
	if (!token || !*token || g->n == ARRAY_SIZE(g->leases))
		return false;
	look_at(g, g->scope, token);
	return true;
}

/* Goes on to the next of the named namespaces. Returns false if there is none. */
static bool named_next(struct kuberay_guard *g)
{
	g->named += strcspn(g->named, ",");
	g->named += strspn(g->named, ",");
	return *g->named;
}

static void on_answer(void *arg, struct client_response *response)
{
	struct kuberay_guard *g = arg;

	g->call = NULL;
	page_keep(g, response->object);
	if (go_on_reading(g, response))
		return;
	if (response->status == 200)
		g->is_read[g->scope] = true;
	else if (response->status == 403)
		take_refusal(g, &response->err);
	else {
		fail_look(g, &response->err);
		return;
	}
	if (g->scope == SCOPE_NAMED && named_next(g))
		look_at(g, SCOPE_NAMED, NULL);
	else if (g->scope == SCOPE_NAMED || g->scope == SCOPE_OWN || g->is_read[SCOPE_ALL])
		leases_see(g);
	else
		look_at(g, g->scope == SCOPE_ALL && g->o.namespace ? SCOPE_WATCHED : SCOPE_OWN,
			NULL);
}

/* token: of the page to read; NULL: the first one. */
static void look_at(struct kuberay_guard *g, enum scope scope, const char *token)
{
	char named[KUBERAY_NAMESPACE_MAX];
	const char *const namespaces[SCOPES] = { [SCOPE_NAMED] = named,
						 [SCOPE_WATCHED] = g->o.namespace,
						 [SCOPE_OWN] = client_namespace(g->o.client) };
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	struct err err = { 0 };

	if (scope == SCOPE_NAMED)
		snprintf(named, sizeof(named), "%.*s", (int)strcspn(g->named, ","), g->named);
	resource_path(resource_find("coordination.k8s.io/v1", "Lease"), namespaces[scope], NULL,
		      NULL, &path);
	/* An RBAC rule for this name allows a list by name. */
	strbuf_adds(&path, "?fieldSelector=metadata.name%3D" KUBERAY_LEASE);
	if (g->one_by_one)
		strbuf_adds(&path, "&limit=1");
	if (token) {
		strbuf_adds(&path, "&continue=");
		url_encode(token, &path);
	}
	struct client_request request = {
		.method = "GET",
		.path = strbuf_str(&path),
		.deadline_ns = DEADLINE_NS,
		.answer_max = ANSWER_MAX,
		.fields = lease_fields,
	};
	g->scope = scope;
	int r = strbuf_failed(&path) ?
			err_set(&err, ENAMETOOLONG, "lease") :
			client_start(g->o.client, &request, on_answer, g, &g->call, &err);
	if (r < 0)
		fail_look(g, &err);
}

static void on_timer(evutil_socket_t, short, void *arg)
{
	struct kuberay_guard *g = arg;
	bool narrow = now_boottime_ns() < g->narrow_until_ns;

	g->one_by_one = false;
	g->named = g->o.kuberay_namespaces;
	if (g->named)
		g->named += strspn(g->named, ",");
	look_at(g,
		g->named       ? SCOPE_NAMED :
		!narrow	       ? SCOPE_ALL :
		g->o.namespace ? SCOPE_WATCHED :
				 SCOPE_OWN,
		NULL);
}

/*
 * --- Proofs
 * ------------------------------------------------------------------------------------------------
 */

static void on_proof(void *arg, struct client_response *response)
{
	struct kuberay_guard *g = arg;
	enum kuberay_answer answer;

	g->call = NULL;
	if (response->status == 403)
		answer = KUBERAY_FORBIDDEN;
	else if (g->question.pod && (response->status == 404 || response->status == 400))
		answer = KUBERAY_NO;
	else if (response->status / 100 != 2) {
		fail_look(g, &response->err);
		return;
	} else
		answer = g->question.pod || json_bool(response->object, "status.allowed", false) ?
				 KUBERAY_YES :
				 KUBERAY_NO;
	kuberay_proofs_answer(&g->proofs, &g->question, answer,
			      json_str(response->object, "spec.serviceAccountName"));
	ask_next(g);
}

/*
 * Makes the question whether the service account may write the status of RayClusters in the
 * namespace.
 */
static char *access_review(const struct kuberay_question *q)
{
	_cleanup_json_ cJSON *review = cJSON_CreateObject();
	char user[2 * KUBERAY_NAME_MAX + 40];

	json_set_str(review, "apiVersion", "authorization.k8s.io/v1");
	json_set_str(review, "kind", "SubjectAccessReview");
	cJSON *spec = json_object_at(review, "spec");
	snprintf(user, sizeof(user), "system:serviceaccount:%s:%s", q->lease, q->account);
	json_set_str(spec, "user", user);
	cJSON *attributes = json_object_at(spec, "resourceAttributes");
	json_set_str(attributes, "namespace", q->namespace);
	json_set_str(attributes, "verb", "update");
	json_set_str(attributes, "group", "ray.io");
	json_set_str(attributes, "resource", "rayclusters");
	json_set_str(attributes, "subresource", "status");
	return cJSON_PrintUnformatted(review);
}

static int question_ask(struct kuberay_guard *g, struct err *err)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT(PATH_MAX_LEN);
	_cleanup_free_ char *body = g->question.pod ? NULL : access_review(&g->question);
	struct client_request request = { .method = "GET",
					  .deadline_ns = DEADLINE_NS,
					  .asks = true };

	if (g->question.pod) {
		resource_path(resource_find("v1", "Pod"), g->question.lease, g->question.pod, NULL,
			      &path);
	} else {
		strbuf_adds(&path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
		request.method = "POST";
		request.content_type = "application/json";
		request.body = body;
	}
	if (strbuf_failed(&path) || (!g->question.pod && !body))
		return err_set(err, ENOMEM, "who holds the Lease");
	request.path = strbuf_str(&path);
	return client_start(g->o.client, &request, on_proof, g, &g->call, err);
}

/* Notes in which namespaces RayClusters are, at the first question of a look. */
static void note_namespaces(struct kuberay_guard *g)
{
	const struct store *clusters = watches_store(g->o.watches, WATCH_CLUSTERS);
	const char *key;
	void *entry;

	if (g->namespaces.n)
		return;
	if (g->o.namespace)
		(void)strmap_put(&g->namespaces, g->o.namespace, g, NULL);
	strmap_each(&clusters->entries, &key, &entry) {
		char namespace[KUBERAY_NAMESPACE_MAX];

		snprintf(namespace, sizeof(namespace), "%.*s", (int)strcspn(key, "/"), key);
		/* Without memory the namespace is asked about at the next look, and waits. */
		(void)strmap_put(&g->namespaces, namespace, g, NULL);
	}
}

static void ask_next(struct kuberay_guard *g)
{
	struct err err = { 0 };

	note_namespaces(g);
	/*
	 * However many questions there are, the Leases are read again in time. The others go on
	 * then.
	 */
	if (g->o.kuberay_namespaces ||
	    now_boottime_ns() - g->sightings.seen_ns >= KUBERAY_LOOK_NS ||
	    !kuberay_proofs_next(&g->proofs, &g->sightings, &g->namespaces, now_boottime_ns(),
				 &g->question))
		look_conclude(g);
	else if (question_ask(g, &err) < 0)
		fail_look(g, &err);
}

/*
 * --- Life
 * --------------------------------------------------------------------------------------------------
 */

int kuberay_guard_new(const struct kuberay_guard_options *options, struct kuberay_guard **ret_guard,
		      struct err *err)
{
	struct kuberay_guard *g = calloc(1, sizeof(*g));

	if (!g)
		return err_set(err, ENOMEM, "the guard against KubeRay");
	g->o = *options;
	g->timer = evtimer_new(options->base, on_timer, g);
	if (!g->timer) {
		free(g);
		return err_set(err, ENOMEM, "the guard against KubeRay");
	}
	*ret_guard = g;
	return 0;
}

void kuberay_guard_free(struct kuberay_guard *g)
{
	if (!g)
		return;
	client_cancel(g->call);
	strmap_release(&g->namespaces, NULL);
	kuberay_proofs_release(&g->proofs);
	event_free(g->timer);
	free(g);
}

void kuberay_guard_start(struct kuberay_guard *g)
{
	event_active(g->timer, 0, 0);
}
