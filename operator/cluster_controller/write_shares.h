/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may have the next write, of the plans that are being carried out. Each may always have one on
 * its way, which it starts by itself; what it could do side by side is shared out: a large cluster
 * has all the places while it is alone, and no more than its share when it is not.
 */
#ifndef AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_WRITE_SHARES_H
#define AFTERGLOW_OPERATOR_CLUSTER_CONTROLLER_WRITE_SHARES_H

#include "operator/cluster_controller/execution.h"

/*
 * Pods are created side by side. So many writes of all clusters together; but each cluster may
 * always have one. It is what keeps us from flooding the API server, too: one that is slow gets
 * fewer requests a second.
 */
#define WRITE_SHARES_MAX 24

/* One execution that takes part. The caller's, and must not move. */
struct write_share {
	struct execution *execution;
	struct write_share *next, *prev;
};

struct write_shares {
	const struct executor *executor; /* of all of them */
	struct write_share *first;
	size_t n;
};

void write_shares_join(struct write_shares *shares, struct write_share *share,
		       struct execution *execution);
void write_shares_leave(struct write_shares *shares, struct write_share *share);

/*
 * Starts writes while there are places, each for the one that has the fewest. No execution is
 * released by it.
 */
void write_shares_give(struct write_shares *shares);

#endif
