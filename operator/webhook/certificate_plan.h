/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what the leader does next with the webhook's certificates. Pure: the input is
 * the Secret, the content that this replica remembers, the CAs that the webhook
 * configuration publishes and the time; the output is one step.
 *
 * The invariant: the published bundle verifies the leaf that any replica serves. A
 * replica serves the leaf of the Secret as it last read it. It serves a former leaf
 * until it reads the Secret again or, if it cannot read it, until that leaf expires.
 * Therefore
 *
 * - a CA is published before a leaf of it is written, and ten minutes before
 *   if the present leaf is still good;
 * - a former CA stays published until its last leaf has ended;
 * - a CA that is published and not in the Secret (another leader's, or of a
 *   Secret that is lost) may have signed the leaf that another replica serves: it is
 *   taken over, and removed like a former CA.
 *
 * The CA is replaced when two thirds of its life are over:
 *
 *   NEXT (into the Secret) -> PUBLISH (old and next) -> NOTE (when) -> ten minutes -> SWITCH (the
 *   next one signs a leaf) -> the leaf's life -> PUBLISH (without the old one) -> BUNDLE (the
 *   Secret without it)
 */
#pragma once

#include "operator/webhook/certificate_content.h"
#include "operator/webhook/x509.h"

/*
 * The time between publishing a CA and its first leaf, after which every API server knows the CA.
 */
#define CERTIFICATE_PUBLISH_NS (600 * NS_PER_SEC)
/* A CA that expires sooner no longer signs. */
#define CERTIFICATE_CA_MARGIN_NS (3600 * NS_PER_SEC)

enum certificate_step {
	CERTIFICATE_WAIT, /* there is nothing to do */
	CERTIFICATE_PUBLISH, /* set the configuration's bundle */
	CERTIFICATE_RESTORE, /* write the Secret as this replica remembers it */
	/* make a CA and a leaf, and remember them: they are published, then RESTORE writes them */
	CERTIFICATE_NEW,
	CERTIFICATE_LEAF, /* write the Secret with a new leaf */
	CERTIFICATE_NEXT, /* write the Secret with a new next CA */
	CERTIFICATE_NOTE, /* write into the Secret that the next CA is published */
	/* write the Secret with the next CA as the signing CA, and a leaf of it */
	CERTIFICATE_SWITCH,
	CERTIFICATE_BUNDLE, /* write the Secret with another bundle */
};

struct certificate_world {
	const struct certificate_content *secret; /* NULL: there is none */
	/* the last good content that this replica read or made; NULL: none */
	const struct certificate_content *memory;
	/*
	 * All different certificates of the webhooks in the configuration, in its order. NULL: it
	 * cannot be read, and steps that depend on it are not taken.
	 */
	const struct x509_bundle *published;
	bool uneven; /* the webhooks of the configuration have different bundles */
	/* when this replica last had to add something to the configuration; 0: never */
	int64_t repaired_ns;
	const struct x509_names *names;
	int64_t now_ns; /* CLOCK_REALTIME */
};

struct certificate_decision {
	enum certificate_step step;
	/* the content that the step starts from: secret, memory or NULL */
	const struct certificate_content *from;
	/* the bundle to be published, and to be written into the Secret */
	struct x509_bundle bundle;
	bool taken_over; /* the bundle has certificates that from does not have */
};
void certificate_decision_release(struct certificate_decision *decision);
#define _cleanup_decision_ _cleanup_(certificate_decision_release)

void certificate_decide(const struct certificate_world *world,
			struct certificate_decision *ret_decision);

/*
 * Makes the content that a step other than WAIT and PUBLISH writes, or remembers (NEW). Keys are
 * made with OpenSSL's random numbers; apart from that it is pure.
 */
int certificate_make(const struct certificate_world *world,
		     const struct certificate_decision *decision,
		     struct certificate_content *ret_content, struct err *err);

/*
 * Returns whether a replica may serve the leaf: it is valid now, has the names and its own key, and
 * verifies by the content's bundle.
 */
bool certificate_leaf_is_good(const struct certificate_content *content,
			      const struct x509_names *names, int64_t now_ns);

/* Returns a description of the step for a log line: "makes a new CA", ... */
const char *certificate_step_text(enum certificate_step step);
