/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether the holder of a Lease is KubeRay. */
#include "operator/manager/kuberay_proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A name with others would be a malformed request, which the API server answers in its own way. */
#define NAME_LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-."

enum todo { ASK_POD, ASK_EVERYWHERE, ASK_NAMESPACES, ASK_NOTHING };

struct holder {
	char identity[KUBERAY_HOLDER_MAX];
	char pod[KUBERAY_HOLDER_MAX];
	char account[KUBERAY_NAME_MAX];
	enum todo todo;
	bool unrenewed; /* the Lease was there when we started, and nobody has renewed it since */
	enum kuberay_standing standing, told;
	struct strmap rights; /* namespace -> struct right */
};

struct right {
	bool allowed;
	bool fresh; /* the answer is of this round */
};

static void holder_free(void *holder)
{
	struct holder *h = holder;

	strmap_release(&h->rights, free);
	free(h);
}

void kuberay_proofs_release(struct kuberay_proofs *p)
{
	strmap_release(&p->holders, holder_free);
}

/* A name with a dot in front could lead the request elsewhere: "..". */
static bool is_pod_name(const char *name)
{
	return *name && *name != '.' && !name[strspn(name, NAME_LETTERS)];
}

/* All of the holder's questions are to be asked again. Rights that nobody asked for any more go. */
static void holder_reset(struct holder *h)
{
	const char *namespace;
	void *value;

	h->todo = is_pod_name(h->pod) ? ASK_POD : ASK_NOTHING;
	strmap_each(&h->rights, &namespace, &value) {
		struct right *right = value;

		if (!right->fresh)
			free(strmap_remove(&h->rights, namespace));
		else
			right->fresh = false;
	}
}

/*
 * A KubeRay that was proven may be restarting: it counts until the Lease's time is over
 * (KUBERAY_GONE_DURATIONS). So may one that was never proven, because we started together with it.
 */
static void pod_missing(struct holder *h)
{
	if (!h->unrenewed && (h->standing == KUBERAY_OPEN || h->standing == KUBERAY_UNASKABLE))
		h->standing = KUBERAY_STRANGER;
	h->todo = ASK_NOTHING;
}

/* Another pod took the Lease. What is known of the one before holds until the answers come. */
static void holder_set(struct holder *h, const char *identity)
{
	const char *end = strrchr(identity, '_');

	snprintf(h->identity, sizeof(h->identity), "%s", identity);
	snprintf(h->pod, sizeof(h->pod), "%.*s",
		 end ? (int)(end - identity) : (int)strlen(identity), identity);
	holder_reset(h);
	if (h->todo == ASK_NOTHING)
		pod_missing(h);
}

static struct holder *holder_of(struct kuberay_proofs *p, const struct kuberay_sighting *lease)
{
	struct holder *h = strmap_get_or_add(&p->holders, lease->namespace, sizeof(*h));
	bool unrenewed = lease->at_start && !lease->runs, is_other;

	if (!h)
		return NULL;
	is_other = strcmp(h->identity, lease->holder) != 0 || h->unrenewed != unrenewed;
	h->unrenewed = unrenewed;
	if (*lease->holder && is_other)
		holder_set(h, lease->holder);
	return h;
}

/* Forgets holders whose Lease is gone. */
static void round_begin(struct kuberay_proofs *p, const struct kuberay_sightings *s, int64_t now_ns)
{
	const char *namespace;
	void *value;

	p->round_ns = now_ns;
	strmap_each(&p->holders, &namespace, &value) {
		if (kuberay_sighting_of(s, namespace))
			holder_reset(value);
		else
			holder_free(strmap_remove(&p->holders, namespace));
	}
}

/* Finds what is to be asked about the holder before the namespaces. */
static bool holder_question(const struct holder *h, const char *lease, struct kuberay_question *ret)
{
	if (!*h->identity) /* nobody held the Lease so far */
		return false;
	if (h->todo == ASK_POD)
		*ret = (struct kuberay_question){ .lease = lease, .pod = h->pod };
	else if (h->todo == ASK_EVERYWHERE)
		*ret = (struct kuberay_question){ .lease = lease,
						  .account = h->account,
						  .namespace = "" };
	return h->todo == ASK_POD || h->todo == ASK_EVERYWHERE;
}

static bool namespace_question(const struct holder *h, const char *lease,
			       const struct strmap *namespaces, struct kuberay_question *ret)
{
	struct strmap_pos pos = { 0 };
	const char *namespace;
	void *value;

	while (h->todo == ASK_NAMESPACES && strmap_next(namespaces, &pos, &namespace, &value)) {
		const struct right *right = strmap_get(&h->rights, namespace);

		if (right && right->fresh)
			continue;
		*ret = (struct kuberay_question){ .lease = lease,
						  .account = h->account,
						  .namespace = namespace };
		return true;
	}
	return false;
}

static bool question_find(struct kuberay_proofs *p, const struct kuberay_sightings *s,
			  const struct strmap *namespaces, struct kuberay_question *ret)
{
	/*
	 * Who is proven at once comes first: one without rights costs a question for each
	 * namespace.
	 */
	for (size_t i = 0; i < s->n; i++) {
		const struct holder *h = holder_of(p, &s->leases[i]);

		if (h && holder_question(h, s->leases[i].namespace, ret))
			return true;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct holder *h = strmap_get(&p->holders, s->leases[i].namespace);

		if (h && namespace_question(h, s->leases[i].namespace, namespaces, ret))
			return true;
	}
	return false;
}

bool kuberay_proofs_next(struct kuberay_proofs *p, const struct kuberay_sightings *s,
			 const struct strmap *namespaces, int64_t now_ns,
			 struct kuberay_question *ret)
{
	if (!p->round_ns)
		p->round_ns = now_ns;
	if (question_find(p, s, namespaces, ret))
		return true;
	/* A round that takes longer is not broken off, or its last questions would never come. */
	if (now_ns - p->round_ns < KUBERAY_PROOF_AGE_NS)
		return false;
	round_begin(p, s, now_ns);
	return question_find(p, s, namespaces, ret);
}

static void right_note(struct holder *h, const char *namespace, bool allowed)
{
	struct right *right = strmap_get_or_add(&h->rights, namespace, sizeof(*right));

	if (right)
		*right = (struct right){ .allowed = allowed, .fresh = true };
	else /* until the next round; a namespace without an answer counts as served */
		h->todo = ASK_NOTHING;
}

static void standing_set(struct holder *h, enum kuberay_standing standing, enum todo todo)
{
	h->standing = standing;
	h->todo = todo;
}

void kuberay_proofs_answer(struct kuberay_proofs *p, const struct kuberay_question *q,
			   enum kuberay_answer answer, const char *account)
{
	struct holder *h = strmap_get(&p->holders, q->lease);

	if (!h)
		return;
	if (answer == KUBERAY_FORBIDDEN)
		standing_set(h, KUBERAY_UNASKABLE, ASK_NOTHING);
	else if (q->pod && answer == KUBERAY_NO)
		pod_missing(h);
	else if (q->pod) {
		snprintf(h->account, sizeof(h->account), "%s", account ? account : "default");
		h->todo = ASK_EVERYWHERE;
	} else if (*q->namespace)
		right_note(h, q->namespace, answer == KUBERAY_YES);
	else if (answer == KUBERAY_YES)
		standing_set(h, KUBERAY_EVERYWHERE, ASK_NOTHING);
	else
		standing_set(h, KUBERAY_NAMESPACED, ASK_NAMESPACES);
}

enum kuberay_standing kuberay_proofs_standing(const struct kuberay_proofs *p, const char *lease)
{
	const struct holder *h = strmap_get(&p->holders, lease);

	return h ? h->standing : KUBERAY_OPEN;
}

bool kuberay_proofs_serves(const struct kuberay_proofs *p, const char *lease, const char *namespace)
{
	const struct holder *h = strmap_get(&p->holders, lease);

	if (h && h->standing == KUBERAY_STRANGER)
		return false;
	if (!h || h->standing != KUBERAY_NAMESPACED)
		return true;
	const struct right *right = namespace ? strmap_get(&h->rights, namespace) : NULL;
	return namespace && (!right || right->allowed);
}

bool kuberay_proofs_is_news(struct kuberay_proofs *p, const char *lease)
{
	struct holder *h = strmap_get(&p->holders, lease);

	if (!h || h->told == h->standing)
		return false;
	h->told = h->standing;
	return true;
}
