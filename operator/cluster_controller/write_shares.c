/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which execution may have the next write. */
#include "operator/cluster_controller/write_shares.h"

#include <assert.h>

void write_shares_join(struct write_shares *shares, struct write_share *share,
		       struct execution *execution)
{
	assert(!share->execution);
	share->execution = execution;
	LIST_INSERT_HEAD(&shares->all, share, link);
	shares->n++;
}

void write_shares_leave(struct write_shares *shares, struct write_share *share)
{
	assert(share->execution && shares->n > 0);
	LIST_REMOVE(share, link);
	shares->n--;
	*share = (struct write_share){ 0 };
}

/*
 * Returns, among the executions that could go on, the one with the fewest writes under way. An
 * execution without any goes on by itself.
 */
static struct execution *write_shares_neediest(const struct write_shares *shares)
{
	struct execution *found = NULL;
	const struct write_share *share;

	LIST_FOREACH(share, &shares->all, link) {
		struct execution *x = share->execution;

		if (x->in_flight > 0 && (!found || x->in_flight < found->in_flight) &&
		    execution_may_start(x))
			found = x;
	}
	return found;
}

void write_shares_give(struct write_shares *shares)
{
	struct execution *x;

	while (shares->executor->n_writes < WRITE_SHARES_MAX && (x = write_shares_neediest(shares)))
		execution_start(x);
}
