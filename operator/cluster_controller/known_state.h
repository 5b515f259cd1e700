/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers what is known of namespaces and clusters without a watch, and until when
 * it counts as true: claims that exist, objects that were applied, the last failure.
 * It is lost with the process, which does no harm, because all of it can be found out
 * again.
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_KNOWN_STATE_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_KNOWN_STATE_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"
#include "operator/cluster_controller/expectations.h"
#include "operator/injection/pod_security.h"

/* A claim for the store; policies may name several in one namespace. */
struct known_claim {
	const char *trouble; /* static: why pods must not mount it; NULL: they may */
	int64_t until_ns; /* 0: not known */
};

struct known_namespace {
	struct strmap claims; /* name -> struct known_claim */
	struct strmap launcher_waiters; /* the keys of the clusters that wait for the launchers */
	/* Why pods that read the kernel log are refused; "": they are not. */
	char kernel_log_refused[POD_SECURITY_REASON_MAX];
	int64_t security_until_ns;
	bool ends; /* it is being deleted, so nothing can be created in it */
	size_t clusters; /* that are known */
	size_t users; /* known_state_use */
};

struct known_cluster {
	struct strmap applied;
	const char *failure_reason; /* of the last write of a pod, static; NULL: it went well */
	char failure_message[ERR_TEXT_MAX];
	struct expectations expected; /* pods that must be asked for before the next plan */
	uint64_t listed_term; /* the term of leadership in which its pods were listed */
	char cleanup_refused[ERR_TEXT_MAX]; /* why the server does not take the Job; "": it did, or was not asked */
};

struct known_state {
	struct strmap namespaces, clusters;
	uint64_t term; /* how often we became the leader */
};

void known_state_release(struct known_state *known);

/* The entry of a namespace, which is created if absent. NULL: no memory. */
struct known_namespace *known_state_of_namespace(struct known_state *known, const char *namespace);
/* What is known of a namespace stays at least until known_state_unuse. NULL: no memory. */
struct known_namespace *known_state_use(struct known_state *known, const char *namespace);
/* Forgets the namespace when nobody uses it, no cluster of it is known, and none waits for launchers. */
void known_state_unuse(struct known_state *known, const char *namespace);
struct known_claim *known_state_of_claim(struct known_namespace *namespace, const char *claim);
/* key: "namespace/name" */
struct known_cluster *known_state_of_cluster(struct known_state *known, const char *key);
void known_state_forget_cluster(struct known_state *known, const char *key);

/*
 * Notes that the server refuses the cleanup Job. A namespace that is being deleted refuses it too,
 * and must not wait for it.
 */
void known_state_note_no_cleanup(struct known_state *known, const char *key, const struct err *err);
/* Notes that the object was applied or exists; that counts as true until until_ns. */
void known_state_note_applied(struct known_cluster *cluster, const cJSON *body, int64_t until_ns);
/* As plan_input.is_applied; cluster is a struct known_cluster. */
bool known_state_is_applied(void *cluster, const char *kind, const char *name, const char *hash);

#endif
