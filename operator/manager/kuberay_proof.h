/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides whether the holder of a Lease ray-operator-leader is KubeRay: whoever may write Leases in
 * some namespace can renew one there. It is KubeRay for a namespace if the holder is a pod beside
 * the Lease (client-go writes POD_UUID), and if its service account may write the status of
 * RayClusters in that namespace. So a tenant can claim only namespaces whose RayClusters he may
 * write in any case, and a KubeRay with a watchNamespace claims those that it serves. No I/O:
 * questions go out, answers come in, and all are asked again every KUBERAY_PROOF_AGE_NS. An answer
 * holds until the next one to the same question.
 */
#pragma once

#include "lib/strmap.h"
#include "operator/manager/kuberay_lease.h"

#define KUBERAY_PROOF_AGE_NS ((int64_t)60 * 1000000000)
#define KUBERAY_NAME_MAX 254 /* of a pod or a service account */

enum kuberay_standing {
	KUBERAY_OPEN, /* nothing is known yet */
	KUBERAY_STRANGER, /* there is no such pod */
	KUBERAY_NAMESPACED, /* it may not write RayClusters in all namespaces; perhaps in some */
	KUBERAY_EVERYWHERE, /* it may write RayClusters in all namespaces */
	KUBERAY_UNASKABLE, /* the API server does not let us ask */
};

/* A question to the API server. The texts belong to the proofs and the arguments. */
struct kuberay_question {
	const char *lease; /* the namespace of the Lease, and of the pod and its service account */
	const char *
		/* whether there is this pod, and with which service account; NULL: about a right */
		pod;
	const char *account; /* whether it may write RayClusters in the namespace below */
	const char *namespace; /* "": in all */
};

enum kuberay_answer { KUBERAY_NO, KUBERAY_YES, KUBERAY_FORBIDDEN };

/* All zero at first. */
struct kuberay_proofs {
	struct strmap holders; /* namespace of the Lease -> the holder */
	int64_t round_ns; /* when all questions were asked again */
};

void kuberay_proofs_release(struct kuberay_proofs *proofs);

/*
 * Returns false if there is no question left. namespaces has those with RayClusters as its keys.
 * Without memory there is no question, and the standing stays open.
 */
bool kuberay_proofs_next(struct kuberay_proofs *proofs, const struct kuberay_sightings *sightings,
			 const struct strmap *namespaces, int64_t now_ns,
			 struct kuberay_question *ret_question);
/*
 * Notes the answer to the question that kuberay_proofs_next returned last. account: of the pod,
 * borrowed.
 */
void kuberay_proofs_answer(struct kuberay_proofs *proofs, const struct kuberay_question *question,
			   enum kuberay_answer answer, const char *account);

enum kuberay_standing kuberay_proofs_standing(const struct kuberay_proofs *proofs,
					      const char *lease);
/*
 * Returns whether the holder of the Lease is taken for a KubeRay that serves the namespace. One for
 * which that was not answered yet is. NULL: the namespace is every one.
 */
bool kuberay_proofs_serves(const struct kuberay_proofs *proofs, const char *lease,
			   const char *namespace);
/* Returns true once for each standing of the Lease's holder, so that it is reported once. */
bool kuberay_proofs_is_news(struct kuberay_proofs *proofs, const char *lease);
