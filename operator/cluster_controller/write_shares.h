/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shares the parallel writes among the plans that are being carried out. Each plan may always have
 * one write under way, which it starts by itself. Further writes are shared: a large cluster gets
 * all places while it is alone, and only its share otherwise.
 */
#pragma once

#include <sys/queue.h>

#include "operator/cluster_controller/execution.h"

/*
 * The most writes of all clusters that are under way together. Beyond it, each cluster may still
 * have one. This also keeps the operator from flooding the API server: the slower it answers, the
 * fewer requests it gets. An API server on two processors makes fewer pods a second from 24 at
 * once than from 16, because each waits longer (bench/README.md).
 */
#define WRITE_SHARES_MAX 16

/* An execution that takes part. Owned by the caller; it must not move. */
struct write_share {
	struct execution *execution;
	LIST_ENTRY(write_share) link;
};

struct write_shares {
	const struct executor *executor; /* the executor of all executions */
	LIST_HEAD(, write_share) all;
	size_t n;
};

void write_shares_join(struct write_shares *shares, struct write_share *share,
		       struct execution *execution);
void write_shares_leave(struct write_shares *shares, struct write_share *share);

/*
 * Starts writes while there are places, each for the execution with the fewest writes. It releases
 * no execution.
 */
void write_shares_give(struct write_shares *shares);
