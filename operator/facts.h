/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is known of namespaces and clusters without a watch, and for how long it
 * is believed: claims that are there, objects that were applied, the last
 * failure. Lost with the process, which is no harm: all of it is found out anew.
 */
#ifndef AFTERGLOW_OPERATOR_FACTS_H
#define AFTERGLOW_OPERATOR_FACTS_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdint.h>

#include "lib/err.h"
#include "lib/strmap.h"
#include "operator/injection/pod_security.h"

/* A claim for the store; policies may name several in one namespace. */
struct claim_facts {
	const char *trouble; /* static: why pods must not mount it; NULL: they may */
	int64_t until_ns; /* 0: not known */
};

struct namespace_facts {
	struct strmap claims; /* name -> struct claim_facts */
	struct strmap launcher_waiters; /* the keys of the clusters that wait for the launchers */
	char kernel_log_refused[POD_SECURITY_REASON_MAX]; /* why; "": it is not */
	int64_t security_until_ns;
	bool ends; /* it is being deleted: nothing can be made in it */
};

struct cluster_facts {
	struct strmap applied;
	const char *failure_reason; /* of the last write of a pod, static; NULL: it went well */
	char failure_message[ERR_TEXT_MAX];
	char cleanup_refused[ERR_TEXT_MAX]; /* why the server does not take the Job; "": it did, or was not asked */
};

struct facts {
	struct strmap namespaces, clusters;
};

void facts_release(struct facts *facts);

/* Made when absent. NULL: no memory. */
struct namespace_facts *facts_of_namespace(struct facts *facts, const char *namespace);
struct claim_facts *facts_of_claim(struct namespace_facts *namespace, const char *claim);
/* key: "namespace/name" */
struct cluster_facts *facts_of_cluster(struct facts *facts, const char *key);
void facts_forget_cluster(struct facts *facts, const char *key);

/* The server does not take the Job. A namespace that is going takes none, and must not wait for one. */
void facts_note_no_cleanup(struct facts *facts, const char *key, const struct err *err);
/* The object was applied, or was there: believed until then. */
void facts_note_applied(struct cluster_facts *cluster, const cJSON *body, int64_t until_ns);
/* As plan_input.is_applied; cluster is a struct cluster_facts. */
bool facts_is_applied(void *cluster, const char *kind, const char *name, const char *hash);

#endif
