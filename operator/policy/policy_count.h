/* SPDX-License-Identifier: Apache-2.0 */
/* What each policy governs, and who is in its way: the figures of its status. */
#ifndef AFTERGLOW_OPERATOR_POLICY_POLICY_COUNT_H
#define AFTERGLOW_OPERATOR_POLICY_POLICY_COUNT_H

#include "operator/cache/store.h"
#include "operator/policy/policy_book.h"

/* Makes the tallies of all policies anew. pods: indexed by "namespace/cluster". */
void policy_count_all(struct policy_book *book, const struct store *pods);

#endif
