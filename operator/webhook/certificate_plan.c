/* SPDX-License-Identifier: Apache-2.0 */
/* Decides the next step for the webhook's certificates. */
#include "operator/webhook/certificate_plan.h"

#include <errno.h>
#include <openssl/x509v3.h>

void certificate_decision_release(struct certificate_decision *decision)
{
	x509_bundle_release(&decision->bundle);
}

const char *certificate_step_text(enum certificate_step step)
{
	static const char *const texts[] = {
		[CERTIFICATE_WAIT] = "waits",
		[CERTIFICATE_PUBLISH] = "sets the caBundle of the webhook configuration",
		[CERTIFICATE_RESTORE] = "writes the Secret from memory",
		[CERTIFICATE_NEW] = "makes a new CA and a certificate",
		[CERTIFICATE_LEAF] = "renews the certificate",
		[CERTIFICATE_NEXT] = "makes the CA that is to be next",
		[CERTIFICATE_NOTE] = "notes since when the next CA is published",
		[CERTIFICATE_SWITCH] = "signs with the next CA from now on",
		[CERTIFICATE_BUNDLE] = "writes the bundle into the Secret",
	};

	return texts[step];
}

/* --- What the content can be used for -------------------------------------------------------- */

static bool is_usable_ca(X509 *cert, const char *key, int64_t now_ns)
{
	return cert && key && x509_is_ca(cert) && x509_is_valid(cert, now_ns) &&
	       x509_ends_ns(cert) - now_ns > CERTIFICATE_CA_MARGIN_NS &&
	       x509_key_matches(cert, key);
}

bool certificate_leaf_is_good(const struct certificate_content *content,
			      const struct x509_names *names, int64_t now_ns)
{
	_cleanup_x509_ X509 *leaf = x509_first(content->leaf);
	_cleanup_bundle_ struct x509_bundle bundle = { 0 };

	x509_bundle_read(&bundle, content->bundle);
	return leaf && content->leaf_key && x509_is_valid(leaf, now_ns) &&
	       x509_has_names(leaf, names) && x509_key_matches(leaf, content->leaf_key) &&
	       x509_verifies(leaf, &bundle, now_ns);
}

static bool leaf_is_due(const struct certificate_content *content, int64_t now_ns)
{
	_cleanup_x509_ X509 *leaf = x509_first(content->leaf);

	return !leaf || x509_is_due(leaf, now_ns);
}

/* The parts of a content, each parsed once. */
struct view {
	const struct certificate_content *content;
	struct x509_bundle bundle;
	X509 *signer; /* the first of the bundle; NULL: none can sign */
	X509 *next; /* owned; NULL: none can sign */
	bool leaf_good;
};

static void view_release(struct view *view)
{
	x509_bundle_release(&view->bundle);
	X509_free(view->next);
}
#define _cleanup_view_ _cleanup_(view_release)

static void view_init(struct view *view, const struct certificate_content *content,
		      const struct certificate_world *w)
{
	*view = (struct view){ .content = content };
	if (!content)
		return;
	x509_bundle_read(&view->bundle, content->bundle);
	X509 *first = view->bundle.n ? view->bundle.certs[0] : NULL;
	view->signer = is_usable_ca(first, content->ca_key, w->now_ns) ? first : NULL;
	view->next = x509_first(content->next_ca);
	if (!is_usable_ca(view->next, content->next_key, w->now_ns)) {
		X509_free(view->next);
		view->next = NULL;
	}
	view->leaf_good = certificate_leaf_is_good(content, w->names, w->now_ns);
}

/*
 * Returns how much the content is worth. A CA that can sign is worth more than a leaf, because it
 * makes one quickly.
 */
static int certificate_plan_worth(const struct view *view)
{
	return (view->signer ? 2 : 0) + (view->leaf_good ? 1 : 0);
}

/*
 * --- The bundle
 * -------------------------------------------------------------------------------------------
 */

/*
 * Returns whether the period has passed. A time in the future comes from a clock that was wrong,
 * then or now, so it is not known how much time has passed.
 */
static bool has_passed(int64_t since_ns, int64_t period_ns, int64_t now_ns)
{
	return since_ns > 0 && since_ns <= now_ns && now_ns - since_ns >= period_ns;
}

static bool signed_the_leaf(X509 *ca, const struct certificate_content *content)
{
	_cleanup_x509_ X509 *leaf = x509_first(content->leaf);

	return leaf && X509_check_issued(ca, leaf) == X509_V_OK;
}

static bool certificate_plan_stays(X509 *ca, const struct view *view,
				   const struct certificate_world *w)
{
	if (!x509_is_ca(ca) || w->now_ns >= x509_ends_ns(ca))
		return false;
	return signed_the_leaf(ca, view->content) ||
	       !has_passed(view->content->replaced_ns, X509_LEAF_LIFE_NS + X509_BACKDATE_NS,
			   w->now_ns);
}

/* Puts our CAs first, so that they fit however many are published. */
static void make_bundle(const struct view *view, const struct certificate_world *w,
			struct certificate_decision *d)
{
	if (view->signer)
		x509_bundle_add(&d->bundle, view->signer);
	if (view->next)
		x509_bundle_add(&d->bundle, view->next);
	for (size_t i = 0; i < view->bundle.n; i++)
		if (certificate_plan_stays(view->bundle.certs[i], view, w))
			x509_bundle_add(&d->bundle, view->bundle.certs[i]);
	for (size_t i = 0; w->published && i < w->published->n; i++) {
		X509 *ca = w->published->certs[i];

		if (!x509_bundle_has(&view->bundle, ca) && !x509_bundle_has(&d->bundle, ca) &&
		    x509_is_ca(ca) && w->now_ns < x509_ends_ns(ca))
			d->taken_over |= x509_bundle_add(&d->bundle, ca);
	}
}

/*
 * --- Deciding
 * ---------------------------------------------------------------------------------------------
 */

static bool must_publish(const struct certificate_world *w, const struct certificate_decision *d)
{
	return w->uneven || !x509_bundle_has_all(w->published, &d->bundle);
}

static bool next_is_ripe(const struct view *view, const struct certificate_world *w)
{
	return has_passed(view->content->published_ns, CERTIFICATE_PUBLISH_NS, w->now_ns) &&
	       (w->repaired_ns == 0 ||
		has_passed(w->repaired_ns, CERTIFICATE_PUBLISH_NS, w->now_ns));
}

/* Decides the step for the CA when all certificates of d->bundle are published. */
static enum certificate_step decide_ca(const struct view *view, const struct certificate_world *w)
{
	if (!view->next)
		return !view->signer || x509_is_due(view->signer, w->now_ns) ? CERTIFICATE_NEXT :
									       CERTIFICATE_WAIT;
	if (view->content->published_ns <= 0 || view->content->published_ns > w->now_ns)
		return CERTIFICATE_NOTE;
	return next_is_ripe(view, w) ? CERTIFICATE_SWITCH : CERTIFICATE_WAIT;
}

/* Returns whether a former CA has no time of replacement. Such CAs count as replaced now. */
static bool lacks_time(const struct view *view, const struct certificate_world *w,
		       const struct certificate_decision *d)
{
	size_t own = (view->signer != NULL) + (view->next != NULL);

	return d->bundle.n > own &&
	       (view->content->replaced_ns <= 0 || view->content->replaced_ns > w->now_ns);
}

static enum certificate_step decide_bundle(const struct view *view,
					   const struct certificate_world *w,
					   const struct certificate_decision *d)
{
	if (!x509_bundle_equal(w->published, &d->bundle))
		return CERTIFICATE_PUBLISH;
	if (!x509_bundle_equal(&view->bundle, &d->bundle) || lacks_time(view, w, d))
		return CERTIFICATE_BUNDLE;
	return CERTIFICATE_WAIT;
}

static bool wants_leaf(const struct view *view, const struct certificate_world *w)
{
	return view->signer && (!view->leaf_good || leaf_is_due(view->content, w->now_ns));
}

/*
 * Decides without the configuration. If it cannot be read, the only possible step is one that needs
 * no change of it: another leaf of the present leaf's CA.
 */
static enum certificate_step decide_blind(const struct view *view,
					  const struct certificate_world *w)
{
	if (view->content == w->secret && wants_leaf(view, w) &&
	    signed_the_leaf(view->signer, view->content))
		return CERTIFICATE_LEAF;
	return CERTIFICATE_WAIT;
}

static enum certificate_step certificate_plan_decide(const struct view *view,
						     const struct certificate_world *w,
						     const struct certificate_decision *d)
{
	if (!w->published)
		return decide_blind(view, w);
	if (must_publish(w, d))
		return CERTIFICATE_PUBLISH;
	if (view->content != w->secret)
		return CERTIFICATE_RESTORE;
	if (wants_leaf(view, w))
		return CERTIFICATE_LEAF;
	enum certificate_step step = decide_ca(view, w);
	return step == CERTIFICATE_WAIT ? decide_bundle(view, w, d) : step;
}

void certificate_decide(const struct certificate_world *w,
			struct certificate_decision *ret_decision)
{
	_cleanup_view_ struct view secret, memory;

	*ret_decision = (struct certificate_decision){ 0 };
	view_init(&secret, w->secret, w);
	view_init(&memory, w->memory, w);
	const struct view *best =
		certificate_plan_worth(&memory) > certificate_plan_worth(&secret) ? &memory :
										    &secret;
	if (certificate_plan_worth(best) == 0) {
		/* Nobody would trust a new CA that we cannot publish. */
		ret_decision->step = w->published ? CERTIFICATE_NEW : CERTIFICATE_WAIT;
		return;
	}
	ret_decision->from = best->content;
	make_bundle(best, w, ret_decision);
	ret_decision->step = certificate_plan_decide(best, w, ret_decision);
}

/*
 * --- Making
 * -----------------------------------------------------------------------------------------------
 */

static int set_bundle(struct certificate_content *content, const struct x509_bundle *bundle,
		      struct err *err)
{
	char *text = x509_bundle_text(bundle);

	if (!text)
		return err_set(err, ENOMEM, "bundle of CAs");
	free(content->bundle);
	content->bundle = text;
	return 0;
}

/* Makes a leaf signed by the first CA of the content's bundle. */
static int sign_leaf(struct certificate_content *content, const struct certificate_world *w,
		     struct err *err)
{
	const struct pem_pair ca = { content->bundle, content->ca_key };
	struct pem_pair leaf;
	int r = x509_make_leaf(&ca, w->names, w->now_ns, &leaf, err);

	if (r < 0)
		return r;
	free(content->leaf);
	pem_free_key(content->leaf_key);
	content->leaf = leaf.cert;
	content->leaf_key = leaf.key;
	return 0;
}

/*
 * Adds a published CA to the content. It may have signed the leaf of another replica. Noted here,
 * it survives a reset of the configuration.
 */
static int add_published(struct certificate_content *content, const struct certificate_world *w,
			 struct err *err)
{
	_cleanup_bundle_ struct x509_bundle bundle = { 0 };

	x509_bundle_read(&bundle, content->bundle);
	for (size_t i = 0; i < w->published->n; i++)
		if (x509_is_ca(w->published->certs[i]) &&
		    w->now_ns < x509_ends_ns(w->published->certs[i]))
			x509_bundle_add(&bundle, w->published->certs[i]);
	content->replaced_ns = bundle.n > 1 ? w->now_ns : 0;
	return set_bundle(content, &bundle, err);
}

static int make_new(struct certificate_content *content, const struct certificate_world *w,
		    struct err *err)
{
	struct pem_pair ca;
	int r = x509_make_ca(w->now_ns, &ca, err);

	if (r < 0)
		return r;
	content->bundle = ca.cert;
	content->ca_key = ca.key;
	r = sign_leaf(content, w, err);
	return r < 0 ? r : add_published(content, w, err);
}

static int make_next(struct certificate_content *content, const struct certificate_world *w,
		     struct err *err)
{
	struct pem_pair ca;
	int r = x509_make_ca(w->now_ns, &ca, err);

	if (r < 0)
		return r;
	free(content->next_ca);
	pem_free_key(content->next_key);
	content->next_ca = ca.cert;
	content->next_key = ca.key;
	content->published_ns = 0;
	return 0;
}

/*
 * Makes the next CA the one that signs, and puts it first. The former one stays until its last leaf
 * has expired.
 */
static int make_switch(struct certificate_content *content, const struct certificate_world *w,
		       const struct certificate_decision *d, struct err *err)
{
	_cleanup_bundle_ struct x509_bundle bundle = { 0 };

	x509_bundle_read(&bundle, content->next_ca);
	for (size_t i = 0; i < d->bundle.n; i++)
		x509_bundle_add(&bundle, d->bundle.certs[i]);
	int r = set_bundle(content, &bundle, err);
	if (r < 0)
		return r;
	pem_free_key(content->ca_key);
	content->ca_key = TAKE_PTR(content->next_key);
	free(TAKE_PTR(content->next_ca));
	content->published_ns = 0;
	content->replaced_ns = w->now_ns;
	return sign_leaf(content, w, err);
}

static int certificate_plan_change(struct certificate_content *content,
				   const struct certificate_world *w,
				   const struct certificate_decision *d, struct err *err)
{
	switch (d->step) {
	case CERTIFICATE_LEAF:
		return sign_leaf(content, w, err);
	case CERTIFICATE_NEXT:
		return make_next(content, w, err);
	case CERTIFICATE_NOTE:
		content->published_ns = w->now_ns;
		return 0;
	case CERTIFICATE_SWITCH:
		return make_switch(content, w, d, err);
	default:
		return 0;
	}
}

int certificate_make(const struct certificate_world *w, const struct certificate_decision *d,
		     struct certificate_content *ret_content, struct err *err)
{
	_cleanup_content_ struct certificate_content content = { 0 };
	int r;

	if (d->step == CERTIFICATE_NEW) {
		r = make_new(&content, w, err);
	} else if (certificate_content_copy(d->from, &content) < 0) {
		r = err_set(err, ENOMEM, "certificates");
	} else {
		/*
		 * Every published CA gets a place in the Secret, and its time starts when it gets
		 * that.
		 */
		if (d->taken_over || content.replaced_ns > w->now_ns ||
		    (content.replaced_ns <= 0 && d->bundle.n > 1))
			content.replaced_ns = w->now_ns;
		r = w->published ? set_bundle(&content, &d->bundle, err) : 0;
		if (r == 0)
			r = certificate_plan_change(&content, w, d, err);
	}
	if (r < 0)
		return r;
	*ret_content = content;
	content = (struct certificate_content){ 0 };
	return 0;
}
