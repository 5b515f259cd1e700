/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers facts about namespaces and clusters that no watch shows, and until when each
 * counts as true: claims that exist, objects that were applied, the last failure.
 * It is lost with the process, which does no harm, because all of it can be found out
 * again.
 */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"
#include "operator/cluster_controller/expectations.h"
#include "operator/injection/pod_security.h"

/* A claim for the store; policies may name several in one namespace. */
struct known_claim {
	const char *trouble; /* static: why pods must not mount it; NULL: they may mount it */
	int64_t until_ns; /* 0: not known */
};

struct known_namespace {
	struct strmap claims; /* name -> struct known_claim */
	struct strmap launcher_waiters; /* the keys of the clusters that wait for the launchers */
	/* Why pods that read the kernel log are refused; "": they are admitted. */
	char kernel_log_refused[POD_SECURITY_REASON_MAX];
	int64_t security_until_ns;
	bool ends; /* it is being deleted, so nothing can be created in it */
	size_t clusters; /* how many of its clusters are known */
	size_t users; /* how often known_state_use was called without known_state_unuse */
};

struct known_cluster {
	struct strmap applied;
	int64_t taken_until_ns; /* until when a name that a creation found taken is believed */
	/* why the last write of a pod failed, static; NULL: it succeeded */
	const char *failure_reason;
	char failure_message[ERR_TEXT_MAX];
	struct expectations expected; /* pods that must be asked for before the next plan */
	uint64_t listed_term; /* the term of leadership in which its pods were listed */
	char cleanup_refused
		[ERR_TEXT_MAX]; /* why the server refuses the Job; "": it took the Job, or was not asked */
};

struct known_state {
	struct strmap namespaces, clusters;
	uint64_t term; /* how often we became the leader */
};

void known_state_release(struct known_state *known);

/* Returns the entry of a namespace, which is created if absent; NULL if there is no memory. */
struct known_namespace *known_state_of_namespace(struct known_state *known, const char *namespace);
/*
 * Returns the entry of a namespace and keeps it at least until known_state_unuse. Returns NULL if
 * there is no memory.
 */
struct known_namespace *known_state_use(struct known_state *known, const char *namespace);
/*
 * Forgets the namespace if nobody uses it, no cluster of it is known, and no cluster waits for
 * launchers.
 */
void known_state_unuse(struct known_state *known, const char *namespace);
struct known_claim *known_state_of_claim(struct known_namespace *namespace, const char *claim);
/* Returns the entry of the cluster key ("namespace/name"), which is created if absent. */
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
